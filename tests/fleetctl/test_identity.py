"""Which live pool an entry means, however its key and the caller came to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain.commands import ArchivePool
from better_compute.domain.ids import derive
from better_compute.domain.state import Rollup, Work
from fleetctl.comparison.compare import Comparison, compared
from fleetctl.identity import Settled, settle
from fleetctl.plan import Plan, make
from tests.fleets import CALLER, OWNER
from tests.model import ControlPlane, desired, entry, fleet

TOMB = {"archived": True}


def pool_id(key: str, caller: str = CALLER) -> str:
    return derive("pool", OWNER, caller, key)


def plane(*pools: dict[str, Any], caller: str = CALLER, into: ControlPlane | None = None) -> ControlPlane:
    """A control plane with these pools, made by `caller`."""
    made = into or ControlPlane()
    before = set(made.pools)
    made.run(make(desired(fleet(*pools, caller=caller)), made.live()))
    for new in made.pools.keys() - before:
        state = made.pools[new]
        assert state.pool is not None
        state.pool = replace(state.pool, created_by=caller)
    return made


def offered(key: str, gpus: int = 8, **fields: Any) -> dict[str, Any]:
    return entry(key, offers=[{"toTenantId": "acme", "quota": {"gpu": gpus}}], **fields)


def archive(live: ControlPlane, key: str, caller: str = CALLER) -> None:
    live.do(ArchivePool(tenant_id=OWNER, pool_id=pool_id(key, caller)))


def settled(live: ControlPlane, *pools: dict[str, Any], **root: Any) -> Settled:
    return settle(desired(fleet(*pools, **root)), live.live().pools)


def against(live: ControlPlane, *pools: dict[str, Any], **root: Any) -> Comparison:
    return compared(desired(fleet(*pools, **root)), live.live())


def plan(live: ControlPlane, *pools: dict[str, Any], **root: Any) -> Plan:
    return make(desired(fleet(*pools, **root)), live.live())


def told(made: Plan) -> list[str]:
    return [f"{o.action} {o.name}" for o in made.operations]


def ids(found: Settled) -> dict[str | None, str]:
    return {entry.key: entry.pool_id for entry in found.desired.entries.values()}


# Another key.


def test_an_entry_that_was_renamed_stays_the_pool_that_it_was() -> None:
    live = plane(offered("old"))
    found = settled(live, offered("new", previously="old"))
    assert ids(found) == {"new": pool_id("old")}
    assert [entry.pool and entry.pool.pool_id for entry in found.desired.entries.values()] == [pool_id("old")]
    assert [note.sentence for note in found.notes] == ["new is the pool that was made as old"]
    assert plan(live, offered("new", previously="old")).operations == ()
    assert told(plan(live, offered("new", 9, previously="old"))) == ["offer new"]


def test_where_the_old_pool_is_not_live_the_new_key_is_used() -> None:
    assert ids(settled(ControlPlane(), offered("new", previously="old"))) == {"new": pool_id("new")}
    live = plane(offered("old"))
    archive(live, "old")
    found = settled(live, offered("new", previously="old"))
    assert (ids(found), found.notes) == ({"new": pool_id("new")}, ())
    assert told(plan(live, offered("new", previously="old"))) == ["create new", "offer new"]


def test_an_old_pool_is_found_under_a_previous_caller_too() -> None:
    live = plane(offered("old"), caller="sa_old")
    found = settled(live, offered("new", previously="old"), previousCallers=["sa_older", "sa_old"])
    assert ids(found) == {"new": pool_id("old", "sa_old")}


def test_where_both_pools_are_live_the_old_one_is_meant_and_the_other_is_left_alone() -> None:
    live = plane(offered("fra1-old"), offered("fra1-new"))
    found = against(live, offered("fra1-new", previously="fra1-old"), keyPrefix="fra1-")
    assert ids(found.settled) == {"fra1-new": pool_id("fra1-old")}
    assert [(p.rule, p.severity) for p in found.problems] == [("fleet.previously", "warning")]
    assert (found.diff.pools, found.diff.foreign) == ((), ())
    assert [one.pool.id for one in found.diff.removed] == [pool_id("fra1-new")]  # nobody names it


def test_a_tombstone_whose_pool_is_archived_means_no_pool_of_another_caller() -> None:
    live = plane(offered("a"), caller="sa_one")
    plane(offered("a"), into=live)
    dead = {"idempotencyKey": "a", **TOMB}
    live.run(plan(live, dead))
    assert plan(live, dead, previousCallers=["sa_one"]).operations == ()


def test_a_tombstone_of_a_renamed_entry_archives_the_pool_that_it_was() -> None:
    live = plane(offered("old"))
    dead = {"idempotencyKey": "new", "previously": "old", **TOMB}
    assert told(plan(live, dead)) == ["archive new"]
    live.run(plan(live, dead))
    after = plan(live, dead)
    assert (after.operations, after.findings) == ((), ())


# Another caller.


def test_pools_of_a_previous_caller_are_adopted_in_the_order_that_is_written() -> None:
    live = plane(offered("a"), offered("b"), caller="sa_one")
    plane(offered("b"), caller="sa_two", into=live)
    plane(offered("c"), into=live)
    found = settled(live, offered("a"), offered("b"), offered("c"), previousCallers=["sa_two", "sa_one"])
    assert ids(found) == {"a": pool_id("a", "sa_one"), "b": pool_id("b", "sa_two"), "c": pool_id("c")}
    assert sorted(note.sentence for note in found.notes) == [
        "a is the pool that sa_one made",
        "b is the pool that sa_two made",
    ]


def test_what_is_live_under_the_caller_is_not_looked_up_under_others() -> None:
    live = plane(offered("fra1-a"), caller="sa_old")
    plane(offered("fra1-a"), into=live)
    found = against(live, offered("fra1-a"), previousCallers=["sa_old"], keyPrefix="fra1-")
    assert ids(found.settled) == {"fra1-a": pool_id("fra1-a")}
    assert [one.pool.id for one in found.diff.removed] == [pool_id("fra1-a", "sa_old")]


def test_a_tombstone_finds_a_pool_of_a_previous_caller() -> None:
    live = plane(offered("a"), caller="sa_old")
    dead = {"idempotencyKey": "a", **TOMB}
    made = plan(live, dead, previousCallers=["sa_old"])
    assert [(o.action, o.pool_id) for o in made.operations] == [("archive", pool_id("a", "sa_old"))]
    live.run(made)
    assert plan(live, dead, previousCallers=["sa_old"]).findings == ()


# Contradictions.


def test_two_entries_that_mean_one_pool_are_an_error_with_both_places() -> None:
    live = plane(offered("old"), caller="sa_old")
    by_id = entry("other", id=pool_id("old", "sa_old"), offers=[])
    made = plan(live, offered("new", previously="old"), by_id, previousCallers=["sa_old"])
    [problem] = [p for p in made.findings if p.severity == "error"]
    assert problem.rule == "fleet.twice"
    assert problem.source is not None
    assert "the other place is fleet.yaml:" in problem.message
    assert str(problem.source) not in problem.message
    assert made.blocked


def test_an_adopted_pool_is_told_with_how() -> None:
    live = plane(offered("by-hand"))
    found = settled(live, entry("a", id=pool_id("by-hand"), offers=[]))
    assert [note.sentence for note in found.notes] == [f"a adopts {pool_id('by-hand')} by its id"]


def test_without_a_caller_nothing_is_settled() -> None:
    with pytest.raises(ValueError, match="caller"):
        settle(replace(desired(fleet(offered("a"))), caller=None), {})


# Released.


@pytest.mark.parametrize("extra", [{}, {"previously": "fra1-old"}])
def test_a_released_pool_is_neither_changed_nor_removed_nor_foreign(extra: dict[str, Any]) -> None:
    live = plane(offered("fra1-old" if extra else "fra1-a"), offered("fra1-b"))
    gone = {"idempotencyKey": "fra1-a", "released": True, **extra}
    found = against(live, gone, offered("fra1-b"), keyPrefix="fra1-")
    assert (found.diff.pools, found.diff.removed, found.diff.foreign) == ((), (), ())
    assert against(live, offered("fra1-b"), keyPrefix="fra1-").diff.removed != ()


# Replacements.


def replacing(**fields: Any) -> dict[str, Any]:
    """The pool's new entry: a sharing mode is for life."""
    policy = {"gpu": {"mig": {"strategy": "single", "devices": {"1g.10gb": 7}}}}
    usual = {"sharing": "mig", "policy": policy, "replaces": "old"}
    return entry("new", offers=[{"toTenantId": "acme", "quota": {"gpu.mig": 56}}], **{**usual, **fields})


def busy(live: ControlPlane, **work: int) -> None:
    live.pools[pool_id("old")].rollup = Rollup(work={"acme": Work(**work)})


def test_a_replaced_pool_is_archived_once_the_new_one_is_whole() -> None:
    live = plane(offered("old"))
    made = plan(live, replacing())
    assert told(made) == ["create new", "offer new", "archive old"]
    archived = made.operations[-1]
    needed: set[int] = set()
    waits = {o.n: o.depends_on for o in made.operations}
    todo = list(archived.depends_on)
    while todo:
        needed.add(n := todo.pop())
        todo += waits[n]
    assert needed == {1, 2}
    assert (archived.reason.code, archived.severity) == ("replaced", "irreversible")
    assert archived.source == made.operations[0].place.source("replaces")
    live.run(made)
    after = plan(live, replacing())
    assert (after.operations, after.findings, after.comparison.diff.removed) == ((), (), ())


@pytest.mark.parametrize("work", [{"pending": 1}, {"placed": 2}, {"active": 3}])
def test_a_replaced_pool_is_kept_while_anything_runs_in_it_or_waits_for_it(work: dict[str, int]) -> None:
    live = plane(offered("old"))
    busy(live, **work)
    made = plan(live, replacing())
    assert told(made) == ["create new", "offer new"]
    [finding] = made.findings
    [(what, number)] = work.items()
    assert (finding.rule, finding.severity) == ("fleet.replaces", "warning")
    assert f"{number} {what} reservation" in finding.message
    assert (made.comparison.diff.removed, made.comparison.diff.foreign) == ((), ())
    live.run(made)
    busy(live)
    assert told(plan(live, replacing())) == ["archive old"]


def test_what_is_in_use_keeps_a_replaced_pool_also_where_no_reservation_is_told() -> None:
    live = plane(offered("old"))
    rows = live.pools[pool_id("old")].quotas["acme"]
    rows["gpu"] = replace(rows["gpu"], used=5)
    made = plan(live, replacing())
    assert told(made) == ["create new", "offer new"]
    assert "5 gpu in use" in made.findings[0].message


def test_a_replacement_of_what_is_not_live_is_a_pool_like_any_other() -> None:
    assert told(plan(ControlPlane(), replacing())) == ["create new", "offer new"]
    live = plane(offered("old"))
    archive(live, "old")
    assert told(plan(live, replacing())) == ["create new", "offer new"]


def test_a_replaced_pool_has_no_entry_of_its_own() -> None:
    live = plane(offered("old"), caller="sa_old")
    own = entry("own", id=pool_id("old", "sa_old"), offers=[])
    made = plan(live, own, replacing(), previousCallers=["sa_old"])
    [problem] = [p for p in made.findings if p.severity == "error"]
    assert (problem.rule, "fleet.yaml:" in problem.message) == ("fleet.replaces", True)


def test_a_tombstone_beside_its_replacement_waits_like_it() -> None:
    live = plane(offered("old"))
    busy(live, active=1)
    dead = {"idempotencyKey": "old", **TOMB}
    assert told(plan(live, dead, replacing())) == ["create new", "offer new"]
    busy(live)
    made = plan(live, dead, replacing())
    assert told(made) == ["create new", "offer new", "archive old"]
    live.run(made)
    assert (plan(live, dead, replacing()).operations, plan(live, dead).operations) == ((), ())


def test_every_half_of_a_replacement_leaves_the_tenant_a_pool() -> None:
    """A tenant whose offers move to a pool of the same kind has no less at any time."""
    live = plane(offered("old"))
    made = plan(live, offered("new", replaces="old"))
    for done in range(len(made.operations) + 1):
        half = ControlPlane(live.pools)
        half.run(made, [o.n for o in made.operations[:done]])
        states = [s for s in half.pools.values() if s.pool and not s.pool.archived]
        assert sum(s.limits("acme").get("gpu", 0) for s in states) >= 8
