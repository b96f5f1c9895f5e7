"""Connections: embedded ones are made on the spot, and ask as the identity they are told."""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM, Embedded, connect, plane
from better_compute.bootstrap.arrivals import join_all
from better_compute.bootstrap.plane import opened
from better_compute.bootstrap.tokens import first_token
from better_compute.domain.commands import CreatePool, SetQuota, UpdatePool
from better_compute.domain.problems import ComputeError
from better_compute.service.actions import ROOT_ADMIN
from tests.better_compute.bootstrap.conftest import Connect
from tests.better_compute.bootstrap.test_arrivals import create

Write = Callable[..., Path]


def refused(server: str | Embedded, caller: str | None = "sa_fleet") -> str:
    with pytest.raises(ComputeError) as caught:
        connect(server, tenant_id="root", caller=caller)
    problem = caught.value.problems[0]
    return f"{problem.code}: {problem.message}; {problem.hint}"


def test_the_first_one_makes_database_and_world(write: Write, embedded: Connect, tmp_path: Path) -> None:
    connection = embedded(write())
    me = connection.client.identities.whoami()
    assert (me.identity_id, me.tenant_id) == ("sa_fleet", "root")
    assert connection.client.system.info().instance_id == "test"
    assert [site.id for site in connection.client.sites.list()] == ["site_fra1"]
    database = tmp_path / "deep" / "plane.db"
    assert connection.server == str(database)
    assert stat.S_IMODE(os.stat(database).st_mode) == 0o600


def test_the_next_one_finds_it_with_no_world_at_hand(write: Write, embedded: Connect) -> None:
    instance = embedded(write()).client.system.info()
    again = embedded(Path("gone.yaml")).client.system.info()
    assert (again.instance_id, again.digest_key) == (instance.instance_id, instance.digest_key)


def test_an_opening_looks_for_machines_that_wait_once(
    write: Write, embedded: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []

    def noted(*given: Any) -> Any:
        looks.append(given)
        return join_all(*given)

    monkeypatch.setattr(plane, "join_all", noted)
    embedded(write())
    assert len(looks) == 1


def test_what_a_call_places_is_active_when_it_is_asked_for_again(write: Write, embedded: Connect) -> None:
    client = embedded(write("machines: [{pool: k1, gpus: {name: NVIDIA H100 80GB HBM3, count: 1}}]")).client
    reservation = client.reservations.create(create(client), {"gpu": 1})
    assert client.reservations.get(reservation.id).state == "active"


def test_what_a_call_frees_is_booked_by_what_waits_when_it_is_asked_for_again(write: Write, embedded: Connect) -> None:
    client = embedded(write("machines: [{pool: k1, gpus: {name: NVIDIA H100 80GB HBM3, count: 1}}]")).client
    pool_id = create(client)
    first, second = (client.reservations.create(pool_id, {"gpu": 1}) for _ in range(2))
    assert second.state == "pending"
    client.reservations.end(first.id)
    assert client.reservations.get(second.id).state == "active"


def test_what_an_update_gives_is_there_after_it(write: Write, embedded: Connect) -> None:
    client = embedded(write("machines: [{pool: k1, gpus: {name: NVIDIA H100 80GB HBM3, count: 1}, vcpu: 8}]")).client
    pool_id = create(client)
    client.quotas.set(SetQuota(tenant_id="root", pool_id=pool_id, to_tenant_id="root", quota={"vcpu": 100}))
    reservation = client.reservations.create(pool_id, {"gpu": 1, "vcpu": 12})
    assert client.reservations.get(reservation.id).state == "pending"
    client.pools.update(UpdatePool(tenant_id="root", pool_id=pool_id, policy={"overcommit": 2}))
    assert client.reservations.get(reservation.id).state == "active"


def test_an_instance_has_an_id_of_its_own_unless_its_world_fixes_it(tmp_path: Path, write: Write) -> None:
    world = write(base="identities: [{id: sa_fleet, tenantId: root}]\n")
    ids = set()
    for name in ("a.db", "b.db"):
        with connect(Embedded(str(tmp_path / name), world), tenant_id="root", caller="sa_fleet") as connection:
            ids.add(connection.client.system.info().instance_id)
    assert len(ids) == 2


def test_who_asks_must_stand_under_identities_and_the_error_shows_the_line(write: Write, tmp_path: Path) -> None:
    world, database = write(), str(tmp_path / "plane.db")
    assert refused(Embedded(database, world), "sa_new") == (
        "UNAUTHENTICATED: the embedded control plane knows no identity sa_new; write `- {id: sa_new, tenantId: root, "
        f"kind: service}}` under `identities` in {world}, and run `better-compute world {world} --database {database}`"
    )
    assert "in a world file" in refused(Embedded(database), "sa_new")
    assert "none was named" in refused(Embedded(database), None)


def test_the_password_of_a_database_is_shown_nowhere(postgres_url: str, tmp_path: Path) -> None:
    database = f"{postgres_url}&password=s3cret"
    said = refused(Embedded(database), "nobody")
    assert re.search(r"--database 'postgresql\S*\(sensitive\)'", said)
    assert "s3cret" not in said
    with opened(database, SYSTEM) as plane:
        first_token(plane, tmp_path / "token")
    with connect(Embedded(database), tenant_id="root", caller=ROOT_ADMIN) as connection:
        assert "(sensitive)" in connection.server
        assert "s3cret" not in connection.server


def test_the_name_of_who_asks_is_no_secret(embedded: Connect, write: Write) -> None:
    client = embedded(write(), caller="sa_acme", tenant_id="acme").client
    with pytest.raises(ComputeError) as caught:
        client.pools.create(
            CreatePool(tenant_id="acme", pool_id="p", site_id="site_acme", class_="sa_acme", gpu_model="H100")
        )
    assert "(token)" not in str(caught.value)


def test_a_database_that_is_not_there_is_made_only_where_that_is_meant(tmp_path: Path) -> None:
    database = tmp_path / "typo.db"
    assert "there is no database at" in refused(Embedded(str(database), create=False))
    assert not database.exists()


def test_what_is_no_server_and_no_database_is_refused(tmp_path: Path) -> None:
    assert "not the URL of a server" in refused("compute.example.com")
    assert "a database URL starts with" in refused(Embedded("mysql://x/y"))
    file = tmp_path / "notes.txt"
    file.write_text("this is no database, but it is longer than a header of one would be" * 10)
    assert "cannot be used" in refused(Embedded(str(file)))
    assert file.read_text().startswith("this is no database")
