"""Machines of a world wait for their pool, join it as real ones do, and are never there twice."""

import itertools
import json
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM, Connection, arrivals
from better_compute.bootstrap import plane as plane_module
from better_compute.bootstrap.arrivals import Machines
from better_compute.bootstrap.plane import ControlPlane, opened
from better_compute.bootstrap.rhythm import in_rhythm
from better_compute.client import Calls, Client, Retry
from better_compute.domain.commands import ArchivePool, CreatePool
from better_compute.domain.facts import Site
from better_compute.domain.ids import derive
from better_compute.http import Http, InProcess
from better_compute.service.ports import MachineGroup, Tx
from better_compute.storage import open_store
from tests.better_compute.bootstrap.conftest import Connect, killed_at
from tests.statements import counted
from tests.waiting import until

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


FIVE = f"{H100.replace('count: 3', 'count: 4')}, {{pool: k1, vcpu: 8}}"


@pytest.mark.parametrize("transaction", range(3))
def test_what_a_crash_keeps_out_is_let_in_when_it_is_opened_again(
    write: Write,
    embedded: Connect,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    transaction: int,
) -> None:
    with monkeypatch.context() as patched:
        killed_at(patched, transaction)
        connection = embedded(write(f"machines: [{FIVE}]"))
        pool_id = create(connection.client)
        assert len(connection.client.nodes.list(pool_id)) == 2 * transaction
    assert "killed" in caplog.text
    assert create(connection.client) == pool_id
    assert gpus(embedded(), pool_id) == (5, 32)
    joined = [e for e in connection.client.events.all(pool_ids=[pool_id]) if e.type == "node.joined"]
    assert sorted(e.data["after"]["nodeId"] for e in joined) == [n.id for n in connection.client.nodes.list(pool_id)]


def test_the_same_file_again_lets_in_what_a_crash_kept_out(
    write: Write, embedded: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connection, world = embedded(write()), write(f"machines: [{FIVE}]")
    pool_id = create(connection.client)
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        with monkeypatch.context() as patched:
            killed_at(patched, 1)
            with pytest.raises(RuntimeError, match="killed"):
                plane.add_world(world)
        assert gpus(connection, pool_id)[0] == 2
        assert plane.add_world(world) == 0
        assert gpus(connection, pool_id) == (5, 32)


def test_machines_that_began_to_join_a_pool_join_no_other(
    write: Write, embedded: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it was archived meanwhile, the rest of them stay out."""
    connection = embedded(write(f"machines: [{H100}]"))
    with monkeypatch.context() as patched:
        killed_at(patched, 1)
        pool_id = create(connection.client)
    connection.client.pools.archive(ArchivePool(tenant_id="root", pool_id=pool_id))
    of_acme = embedded(caller="sa_acme", tenant_id="acme")
    other = create(of_acme.client, caller="sa_acme", tenant_id="acme", site_id="site_acme")
    assert gpus(embedded(), pool_id)[0] == 2
    assert gpus(of_acme, other) == (0, 0)


def test_a_group_that_began_to_join_one_pool_is_not_let_into_another_by_who_knew_only_that(
    write: Write, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when two pools with one key are made at once, and neither sees the other before its machines come."""
    with opened(database_url, SYSTEM, write(f"machines: [{H100}]")) as plane:
        with monkeypatch.context() as patched:
            killed_at(patched, 1)
            pool_id = create(client_of(plane))
            killed_at(patched, 0)
            other = create(client_of(plane, "sa_other"), caller="sa_other")
        store = plane.store
        [group] = store.view(lambda tx: tx.waiting_machines())
        come = [(group.digest, number) for number in range(3)]
        assert store.transact(partial(arrivals._join, plane.service, other, come)) == {group.digest: ""}
        assert store.view(lambda tx: tx.nodes(other, 10, None)) == []
        assert store.transact(partial(arrivals._join, plane.service, pool_id, come)) == {}
        assert len(store.view(lambda tx: tx.nodes(pool_id, 10, None))) == 3


def test_a_group_that_is_refused_half_way_waits_though_the_rest_of_it_was_not(
    write: Write, embedded: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever changes between two transactions: a group whose machines are not all in is not taken for joined."""
    refusals, count = arrivals._refusal, itertools.count()

    def refusal(*given: Any) -> str:
        return "not now" if next(count) == 2 else refusals(*given)

    with monkeypatch.context() as patched:
        patched.setattr(arrivals, "_CHUNK", 2)
        patched.setattr(arrivals, "_refusal", refusal)
        connection = embedded(write(f"machines: [{H100.replace('count: 3', 'count: 6')}]"))
        pool_id = create(connection.client)
        assert gpus(connection, pool_id) == (2, 16)
    assert caplog.text.count("not now") == 1
    assert gpus(embedded(), pool_id) == (6, 48)


def test_while_many_join_others_write(write: Write, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_CHUNK", 2)
    seen: list[int] = []
    with opened(database_url, SYSTEM, write(f"machines: [{H100.replace('count: 3', 'count: 6')}]")) as beside:

        def work(tx: Tx) -> None:
            tx.add_site(Site(f"s{len(seen)}", "root", "shared", "eu", "s"))
            [pool] = tx.pools_by_key(["k1"])
            seen.append(tx.pool_state(pool.id, []).rollup.nodes)

        runtime = replace(SYSTEM, sleep=lambda _: beside.store.transact(work))
        with opened(database_url, runtime) as plane:
            create(client_of(plane))
    assert seen == [2, 4]


def test_what_something_kept_out_is_let_in_while_it_is_served(
    write: Write, database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = write(f"machines: [{H100}]")
    with opened(database_url, SYSTEM, world) as plane, in_rhythm(plane, every=0.01):
        monkeypatch.setattr(arrivals, "_join_found", fails)
        pool_id = create(client_of(plane))
        until(lambda: "machines of the world wait on\n" in caplog.text)
        assert client_of(plane).pools.get(pool_id).rollup.nodes == 0
        monkeypatch.undo()
        until(lambda: client_of(plane).pools.get(pool_id).rollup.nodes == 3)


def fails(*_: Any) -> list[str]:
    raise ValueError("once more")


def test_a_machine_that_the_pool_does_not_take_says_so_and_the_create_stands(
    write: Write, embedded: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    connection = embedded(write(f"machines: [{H100}, {{pool: k1, vcpu: 1}}]"))
    with caplog.at_level(logging.WARNING):
        pool_id = create(connection.client, gpu_model="H200")
    assert gpus(connection, pool_id) == (1, 0)
    assert "machines of the world do not join the pool k1: the pool holds H200" in caplog.text


def refused(write: Write, embedded: Connect) -> str:
    """The pool of a world whose machines are not what the pool takes."""
    with embedded(write(f"machines: [{H100}]")) as connection:
        return create(connection.client, gpu_model="H200")


def test_a_read_waits_for_no_writer_although_machines_are_refused(
    write: Write, embedded: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pool_id = refused(write, embedded)
    caplog.clear()
    with sqlite3.connect(tmp_path / "deep" / "plane.db") as writer, counted() as statements:
        writer.execute("BEGIN IMMEDIATE")
        assert gpus(embedded(), pool_id) == (0, 0)
    assert "BEGIN IMMEDIATE" not in statements
    assert caplog.text == ""


def test_a_read_beside_a_writer_answers_also_when_machines_would_join(
    write: Write,
    embedded: Connect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as patched:
        killed_at(patched, 0)
        connection = embedded(write(f"machines: [{H100}]"))
        pool_id = create(connection.client)
    with monkeypatch.context() as patched, sqlite3.connect(tmp_path / "deep" / "plane.db") as writer:
        patched.setattr(plane_module, "open_store", partial(open_store, wait_seconds=0.05))
        writer.execute("BEGIN IMMEDIATE")
        assert gpus(embedded(), pool_id) == (0, 0)
    assert "machines of the world wait on: the database is busy" in caplog.text
    assert gpus(embedded(), pool_id) == (3, 24)


def test_a_world_that_is_added_tells_which_machines_wait_in_vain(
    write: Write, embedded: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refused(write, embedded)
    caplog.clear()
    with opened(str(tmp_path / "deep" / "plane.db"), SYSTEM) as plane:
        assert caplog.text == ""
        assert plane.add_world(write(f"machines: [{H100}]")) == 0
    assert caplog.text.count("machines of the world do not join the pool k1: the pool holds H200") == 1


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


def client_of(plane: ControlPlane, caller: str = "sa_fleet") -> Client:
    http = Http("test", token=caller, transport=InProcess(plane.by_name()))
    return Client(Calls(http, "root", Retry(SYSTEM.sleep, SYSTEM.random, SYSTEM.clock)))


def test_pools_that_are_made_at_once_get_their_own_machines_each_once(write: Write, database_url: str) -> None:
    groups = [H100.replace("k1", f"p{n}").replace("count: 3", "count: 2") for n in range(8)]
    world = write(f"machines: [{', '.join(groups)}]")
    with opened(database_url, SYSTEM, world) as one, opened(database_url, SYSTEM, world) as two:

        def make(n: int) -> str:
            return create(client_of((one, two)[n % 2]), f"p{n // 2}")

        with ThreadPoolExecutor(8) as executor:
            pool_ids = set(executor.map(make, range(16)))
        assert len(pool_ids) == 8
        assert arrivals.join_all(one.service, SYSTEM.sleep) == []
        for pool_id in pool_ids:
            assert one.store.view(lambda tx, p=pool_id: tx.pool_state(p, [])).rollup.gpus == 16  # type: ignore[misc]
            assert len(one.store.view(lambda tx, p=pool_id: tx.nodes(p, 100, None))) == 2  # type: ignore[misc]


def test_machines_that_a_tenant_controls_join_as_its_own(write: Write, embedded: Connect) -> None:
    connection = embedded(write("machines: [{pool: k1, vcpu: 8, ownerTenantId: acme, control: tenant}]"))
    pool_id = create(connection.client)
    [node] = connection.client.nodes.list(pool_id)
    assert (node.control, node.owner_tenant_id) == ("tenant", "acme")


def test_who_controls_machines_is_no_part_of_the_ids_that_were_there_before_it_was_said() -> None:
    stated: dict[str, Any] = {"pool": "k1", "tenant_id": None, "caller": None, "owner_tenant_id": None, "inventory": {}}
    platform, tenant = Machines(**stated).group(1), Machines(**stated, control="tenant").group(1)
    assert json.loads(platform.data) == stated
    assert platform.digest != tenant.digest
    assert Machines.of(platform).control == "platform"
    assert Machines.of(tenant).control == "tenant"
