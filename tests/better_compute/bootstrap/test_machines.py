"""Machines of a world wait for their pool, join it as real ones do, and are never there twice."""

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM, Connection, machines
from better_compute.bootstrap.machines import Machines
from better_compute.bootstrap.plane import opened
from better_compute.client import Client
from better_compute.domain.commands import ArchivePool, CreatePool
from better_compute.domain.ids import derive
from better_compute.service.ports import MachineGroup
from tests.better_compute.bootstrap.conftest import Connect
from tests.statements import counted

Write = Callable[..., Path]

H100 = "{pool: k1, count: 3, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192}"


def create(client: Client, key: str | None = "k1", caller: str = "sa_fleet", **fields: Any) -> str:
    tenant_id = fields.setdefault("tenant_id", "root")
    command: dict[str, Any] = {"site_id": "site_fra1", "class_": "metal-host", "gpu_model": "H100", **fields}
    pool_id = derive("pool", tenant_id, caller, key or "")
    return client.pools.create(CreatePool(pool_id=pool_id, idempotency_key=key, **command)).pool.id


def gpus(connection: Connection, pool_id: str) -> tuple[int, int]:
    rollup = connection.client.pools.get(pool_id).rollup
    return rollup.host_nodes, rollup.gpus


def test_they_join_as_soon_as_their_pool_is_there(write: Write, embedded: Connect) -> None:
    connection = embedded(write(f"machines: [{H100}]"))
    other = create(connection.client, "k2")
    pool_id = create(connection.client)
    assert gpus(connection, pool_id) == (3, 24)
    assert gpus(connection, other) == (0, 0)
    events = connection.client.events.all(pool_ids=[pool_id])
    assert [(e.type, e.actor_id) for e in events] == [("pool.created", "sa_fleet"), *[("node.joined", "world")] * 3]
    joined = sorted(event.data["after"]["nodeId"] for event in events[1:])
    assert joined == [node.id for node in connection.client.nodes.list(pool_id)]


def test_machines_that_joined_wait_no_more(write: Write, embedded: Connect, tmp_path: Path) -> None:
    pool_id = create(embedded(write(f"machines: [{H100}]")).client)
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        assert plane.store.view(lambda tx: tx.waiting_machines()) == []
    assert embedded().client.nodes.list(pool_id)


def test_while_they_wait_more_tenants_and_identities_cost_an_opening_nothing(
    write: Write, embedded: Connect, tmp_path: Path
) -> None:
    def statements() -> int:
        with counted() as seen, opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
            assert plane.new is False
        return len(seen)

    embedded(write(f"machines: [{H100}]")).close()
    few = statements()
    tenants = ", ".join(f"{{id: t{n}}}" for n in range(50))
    identities = ", ".join(f"{{id: sa{n}, tenantId: root}}" for n in range(50))
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        plane.add_world(write(base=f"tenants: [{tenants}]\nidentities: [{identities}]\n"))
    assert statements() == few


def test_a_create_asks_for_its_own_machines_alone(
    write: Write, embedded: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[MachineGroup] = []

    def noted(group: MachineGroup) -> Machines:
        read.append(group)
        return Machines(**json.loads(group.data))

    others = ", ".join(H100.replace("k1", f"other{n}") for n in range(50))
    connection = embedded(write(f"machines: [{others}, {H100}]"))
    monkeypatch.setattr(Machines, "of", noted)
    create(connection.client)
    assert {group.pool_key for group in read} == {"k1"}
    read.clear()
    create(connection.client, "free")
    assert read == []


def test_the_same_create_again_lets_none_in_again(write: Write, embedded: Connect) -> None:
    connection = embedded(write(f"machines: [{H100}]"))
    pool_id = create(connection.client)
    assert create(connection.client) == pool_id
    assert gpus(embedded(), pool_id) == (3, 24)


def test_the_same_file_again_lets_none_in_again_and_a_larger_count_only_the_rest(
    write: Write, embedded: Connect, tmp_path: Path
) -> None:
    world = write(f"machines: [{H100}]")
    pool_id = create(embedded(world).client)
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        assert plane.add_world(world) == 0
        assert plane.add_world(write(f"machines: [{H100.replace('3', '5', 1)}]")) == 1
        assert plane.add_world(write(f"machines: [{H100.replace('3', '1', 1)}]")) == 0
    assert gpus(embedded(), pool_id) == (5, 40)


def test_entries_that_are_alike_add_up_in_any_order(write: Write, embedded: Connect) -> None:
    bare = "{pool: k1, vcpu: 8}"
    pool_id = create(embedded(write(f"machines: [{bare}, {H100}, {bare}]")).client)
    assert gpus(embedded(), pool_id) == (5, 24)


def test_machines_that_are_declared_after_their_pool_join_at_once(
    write: Write, embedded: Connect, tmp_path: Path
) -> None:
    connection = embedded(write())
    pool_id = create(connection.client)
    acme = create(
        embedded(caller="sa_acme", tenant_id="acme").client, caller="sa_acme", tenant_id="acme", site_id="site_acme"
    )
    for_acme = H100.replace("count: 3", "count: 1, tenantId: acme, caller: sa_acme")
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        assert plane.add_world(write(f"machines: [{for_acme}]")) == 1
    assert gpus(connection, pool_id) == (0, 0)
    assert gpus(embedded(caller="sa_acme", tenant_id="acme"), acme) == (1, 8)


def test_where_several_pools_fit_they_wait_for_tenant_and_caller(
    write: Write, embedded: Connect, tmp_path: Path
) -> None:
    connection = embedded(write())
    pool_id = create(connection.client)
    of_acme = embedded(caller="sa_acme", tenant_id="acme")
    acme = create(of_acme.client, caller="sa_acme", tenant_id="acme", site_id="site_acme")
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        plane.add_world(write(f"machines: [{H100}]"))
        assert gpus(connection, pool_id) == gpus(of_acme, acme) == (0, 0)
        plane.add_world(write(f"machines: [{H100.replace('count', 'tenantId: root, count', 1)}]"))
    assert gpus(connection, pool_id) == (3, 24)
    assert gpus(of_acme, acme) == (0, 0)


def test_a_crash_between_the_create_and_the_joins_is_made_up_for_when_it_is_opened_again(
    write: Write, embedded: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(*_: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(machines, "_join", crash)
        connection = embedded(write(f"machines: [{H100}]"))
        pool_id = create(connection.client)
        assert gpus(connection, pool_id) == (0, 0)
    assert "killed" in caplog.text
    assert gpus(embedded(), pool_id) == (3, 24)


def test_a_machine_that_the_pool_does_not_take_says_so_and_the_create_stands(
    write: Write, embedded: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    connection = embedded(write(f"machines: [{H100}, {{pool: k1, vcpu: 1}}]"))
    with caplog.at_level(logging.WARNING):
        pool_id = create(connection.client, gpu_model="H200")
    assert gpus(connection, pool_id) == (1, 0)
    assert "machines of the world do not join the pool k1: the pool holds H200" in caplog.text


def test_an_archived_pool_takes_none_and_that_is_no_news(
    write: Write, embedded: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    connection = embedded(write())
    pool_id = create(connection.client)
    connection.client.pools.archive(ArchivePool(tenant_id="root", pool_id=pool_id))
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        assert plane.add_world(write(f"machines: [{H100}]")) == 1
    assert gpus(connection, pool_id) == (0, 0)
    assert caplog.text == ""


def test_pools_that_are_made_at_once_get_their_own_machines_each_once(write: Write, database_url: str) -> None:
    groups = [H100.replace("k1", f"p{n}").replace("count: 3", "count: 2") for n in range(8)]
    world = write(f"machines: [{', '.join(groups)}]")
    with opened(database_url, SYSTEM, world) as one, opened(database_url, SYSTEM, world) as two:
        from better_compute.client import Calls, Retry
        from better_compute.http import Http, InProcess

        def make(n: int) -> str:
            http = Http("test", token="sa_fleet", transport=InProcess((one, two)[n % 2].by_name()))
            client = Client(Calls(http, "root", Retry(SYSTEM.sleep, SYSTEM.random, SYSTEM.clock)))
            return create(client, f"p{n // 2}")

        with ThreadPoolExecutor(8) as executor:
            pool_ids = set(executor.map(make, range(16)))
        assert len(pool_ids) == 8
        machines.join_all(one.service)
        for pool_id in pool_ids:
            assert one.store.view(lambda tx, p=pool_id: tx.pool_state(p, [])).rollup.gpus == 16  # type: ignore[misc]
            assert len(one.store.view(lambda tx, p=pool_id: tx.nodes(p, 100, None))) == 2  # type: ignore[misc]
