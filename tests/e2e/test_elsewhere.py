"""Two fleets of one caller: what moved to the other is neither pruned by the one it left nor told as drift of it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from better_compute.domain.commands import ArchivePool
from fleetctl.base.bases import Base
from fleetctl.comparison.compare import Asked
from fleetctl.desired.load import load
from fleetctl.history import read as read_history
from fleetctl.live import read
from fleetctl.plan import Plan, make
from tests.e2e.edge import Asked as Call
from tests.e2e.edge import Bend, apply_over
from tests.e2e.homes import Home, entry, pool_id

POOLS = [entry("fra1-a", {"acme": 8}), entry("fra1-b", {"acme": 8}), entry("fra1-c", {"acme": 8})]
CHANGES: dict[str, dict[str, Any]] = {
    "pools/update": {"policy": {"maxPending": "6h"}},
    "pools/offer": {"toTenantId": "globex", "quota": {"gpu": 1}},
    "pools/unoffer": {"toTenantId": "acme"},
    "quotas/set": {"toTenantId": "root", "quota": {"gpu": 5}},
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Three pools of the fleet `fra`, whose files are kept in `was`."""
    home = Home(tmp_path, fleet="fra", keyPrefix="fra1-")
    home.wish(*POOLS)
    home.apply()
    shutil.copytree(home.directory, tmp_path / "was")
    return home


def moved(home: Home, key: str = "fra1-b", operation: str = "pools/update") -> None:
    """The fleet `ams` changes a pool: it has adopted it."""
    with home.hand("sa_fleet") as client:
        client.under({"fleet": "ams", "digest": "d"}).call(operation, {"poolId": pool_id(key), **CHANGES[operation]})


def prune(home: Home) -> tuple[str, ...]:
    return ("--base-dir", str(home.directory.parent / "was"), "--prune")


@pytest.mark.parametrize("operation", CHANGES)
def test_what_another_fleet_changed_last_is_not_pruned(home: Home, operation: str) -> None:
    home.wish(POOLS[0])
    moved(home, operation=operation)
    ran = home.plan(*prune(home))
    assert ran.operations == ["archive fra1-c"]
    assert (ran.report["summary"]["foreign"], ran.report["foreign"][0]["key"]) == (1, "fra1-b")
    [told] = [one for one in ran.report["findings"] if one["rule"] == "fleet.other"]
    assert "the last fleet that changed it is ams" in told["message"]
    home.apply(*prune(home))
    with home.hand() as client:
        archived = {state.pool.idempotency_key for state in client.pools.all()[0] if state.pool and state.pool.archived}
    assert archived == {"fra1-c"}
    ran = home.run("drift")
    assert ran.code == 0, ran.said
    assert "fra1-b is live and in no entry, and the last fleet that changed it is ams" in ran.err


def test_a_snapshot_tells_the_same(home: Home) -> None:
    home.wish(POOLS[0])
    moved(home)
    file = home.directory.parent / "snapshot.json"
    assert home.run("snapshot", "--out", file).code == 0
    live, saved = home.plan(*prune(home)), home.plan(*prune(home), "--snapshot", file)
    assert saved.report["digest"] == live.report["digest"]
    assert saved.operations == ["archive fra1-c"]


def test_a_tombstone_of_a_pool_that_moved_blocks_until_it_names_the_id(home: Home) -> None:
    moved(home)
    home.wish(POOLS[0], POOLS[2], {"idempotencyKey": "fra1-b", "archived": True})
    ran = home.plan(code=3)
    [error] = [one for one in ran.report["findings"] if one["severity"] == "error"]
    assert (error["rule"], error["path"]) == ("fleet.other", "pools[fra1-b].archived")
    home.wish(POOLS[0], POOLS[2], {"id": pool_id("fra1-b"), "archived": True})
    assert home.plan().operations == ["archive fra1-b"]


# The event comes after the plan.


def planned(home: Home) -> Plan:
    """A prune of one pool."""
    home.wish(POOLS[0], POOLS[2])
    was = Base("was", None, load(home.directory.parent / "was"))
    with home.hand("sa_fleet") as client:
        asked = Asked(base=was, prune=True)
        made = make(load(home.directory), read(client, "", "root"), asked, lambda *of: read_history(client, *of))
    assert [operation.action for operation in made.operations] == ["archive"]
    return made


def at_the_last_moment(home: Home, operation: str) -> Bend:
    def bend(call: Call) -> httpx.Response:
        if call.operation == "pools/archive":
            moved(home, operation=operation)
        return call.forward()

    return bend


@pytest.mark.parametrize("operation", CHANGES)
def test_a_pool_that_moves_after_the_plan_is_refused_at_the_archive(home: Home, operation: str) -> None:
    [outcome] = apply_over(home, at_the_last_moment(home, operation), planned(home))
    assert (outcome.status, outcome.problem and outcome.problem.code) == ("failed", "VERSION_CONFLICT")
    with home.hand() as client:
        pool = client.pools.get(pool_id("fra1-b")).pool
    assert pool is not None
    assert not pool.archived


@pytest.mark.parametrize("operation", CHANGES)
def test_an_archive_without_its_versions_would_take_it(home: Home, operation: str) -> None:
    made = planned(home)
    [archive] = made.operations
    assert isinstance(archive.command, ArchivePool)
    bare = replace(archive.command, expected_version=None, expected_offers_version=None)
    plan = replace(made, operations=(replace(archive, command=bare),))
    [outcome] = apply_over(home, at_the_last_moment(home, operation), plan)
    assert outcome.status == "done"
