"""A world is brought in whole or not at all, and twice is as good as once."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.arrivals import Machines
from better_compute.bootstrap.plane import ControlPlane, opened
from better_compute.bootstrap.world_file import read_world
from better_compute.domain.problems import ComputeError

Write = Callable[..., Path]


def refusals(plane: ControlPlane, path: Path) -> list[str]:
    with pytest.raises(ComputeError) as caught:
        plane.add_world(path)
    return [f"{p.path}: {p.message}; {p.hint}" for p in caught.value.problems]


def tenants(plane: ControlPlane) -> dict[str, str | None]:
    return {t.id: t.parent_id for t in plane.store.view(lambda tx: tx.tenants(100, None))}


def test_a_new_database_has_root_and_its_world(write: Write, database_url: str) -> None:
    world = write("providerAccounts: [{id: pa_north, tenantId: root}]")
    with opened(database_url, SYSTEM, world) as plane:
        assert tenants(plane) == {"root": None, "acme": "root", "globex": "root"}
        assert plane.store.view(lambda tx: tx.instance_id()) == "test"
        site = plane.store.view(lambda tx: tx.site("site_fra1"))
        assert site is not None
        assert (site.tenant_id, site.kind, site.region) == ("root", "shared", "eu-central")
        account = plane.store.view(lambda tx: tx.account("pa_north"))
        assert account is not None


def test_many_may_open_a_new_database_at_once(write: Write, database_url: str) -> None:
    world = write("machines: [{pool: k}]")

    def open_it(_: int) -> str:
        with opened(database_url, SYSTEM, world) as plane:
            assert sorted(tenants(plane)) == ["acme", "globex", "root"]
            tenant = plane.store.view(lambda tx: tx.tenant("root"))
            return tenant.digest_key.hex() if tenant else ""

    with ThreadPoolExecutor(8) as executor:
        keys = set(executor.map(open_it, range(8)))
    assert len(keys) == 1


def test_the_same_file_twice_changes_nothing(write: Write, database_url: str) -> None:
    world = write("machines: [{pool: k, count: 2}]")
    [entry] = read_world(world).content.machines
    inventory = asdict(entry.inventory())
    machines = Machines(pool="k", tenant_id=None, caller=None, owner_tenant_id=None, inventory=inventory)
    digest = machines.group(2).digest

    def state() -> dict[str, Any]:
        with opened(database_url, SYSTEM, world) as plane:
            return plane.store.view(
                lambda tx: {
                    "tenants": tx.tenants(100, None),
                    "identities": tx.identities(None, 100, None),
                    "machines": tx.machine_groups([digest]),
                }
            )

    before = state()
    [group] = before["machines"].values()
    assert group.count == 2
    with opened(database_url, SYSTEM) as plane:
        assert plane.add_world(world) == 0
    assert state() == before


def test_a_database_that_is_there_does_not_read_a_world_by_itself(write: Write, plane: ControlPlane) -> None:
    assert tenants(plane) == {"root": None}
    assert plane.add_world(write(base="tenants: [{id: acme}]\n")) == 1
    assert plane.add_world(write(base="tenants: [{id: acme}, {id: emea, parentId: acme}]\n")) == 1
    assert tenants(plane) == {"root": None, "acme": "root", "emea": "acme"}


def test_a_tenant_may_stand_before_its_parent(write: Write, database_url: str) -> None:
    world = write(base="tenants: [{id: a, parentId: b}, {id: b, parentId: c}, {id: c}]\n")
    with opened(database_url, SYSTEM, world) as plane:
        assert tenants(plane) == {"root": None, "a": "b", "b": "c", "c": "root"}


def test_of_many_tenants_that_are_nowhere_the_first_are_told_the_nearest(write: Write, plane: ControlPlane) -> None:
    sites = ", ".join(f"{{id: s{n}, tenantId: acme{n}, kind: custom, region: e}}" for n in range(100))
    told = refusals(plane, write(base=f"tenants: [{{id: acme}}]\nsites: [{sites}]\n"))
    assert (len(told), sum("did you mean" in each for each in told)) == (100, 20)


def test_what_refers_to_nothing_is_told_and_nothing_is_written(write: Write, plane: ControlPlane) -> None:
    world = write(
        base="""\
        tenants: [{id: acme, parentId: rot}, {id: globex}]
        sites: [{id: s, tenantId: amce, kind: custom, region: e}]
        identities: [{id: i, tenantId: nobody}]
        providerAccounts: [{id: p, tenantId: nobody}]
        machines: [{pool: k, tenantId: nobody, ownerTenantId: nowhere}]
        """
    )
    assert refusals(plane, world) == [
        'tenants[0].parentId: no such tenant: rot; did you mean "root"?',
        'sites[0].tenantId: no such tenant: amce; did you mean "acme"?',
        "identities[0].tenantId: no such tenant: nobody; ",
        "providerAccounts[0].tenantId: no such tenant: nobody; ",
        "machines[0].tenantId: no such tenant: nobody; ",
        "machines[0].ownerTenantId: no such tenant: nowhere; ",
    ]
    assert tenants(plane) == {"root": None}


def test_what_is_there_is_not_changed_by_a_file(write: Write, plane: ControlPlane) -> None:
    plane.add_world(write(base=BASE))
    changed = (
        BASE.replace("region: e,", "region: f,").replace("parentId: a", "parentId: root").replace("user", "service")
    )
    assert refusals(plane, write(base=changed)) == [
        "tenants[1].parentId: b is there already, with parentId a, not root; a world file adds and never changes",
        "sites[0].region: s is there already, with region e, not f; a world file adds and never changes",
        "identities[0].kind: i is there already, with kind user, not service; a world file adds and never changes",
    ]
    [refusal] = refusals(plane, write(base="instance: other\n"))
    assert re.fullmatch(r"instance: this database is the instance inst_\w+; leave it out, or stop .*", refusal)


BASE = """\
tenants: [{id: a}, {id: b, parentId: a}]
sites: [{id: s, kind: custom, region: e, tenantId: a}]
identities: [{id: i, tenantId: a, kind: user}]
"""


def test_a_world_that_is_wrong_leaves_the_database_new(write: Write, tmp_path: Path) -> None:
    database = str(tmp_path / "plane.db")
    with pytest.raises(ComputeError, match="unknown field"), opened(database, SYSTEM, write("tenant: []\n")):
        pass
    with opened(database, SYSTEM, write()) as plane:
        assert "acme" in tenants(plane)
