"""Pools that another fleet of the same caller keeps by now are left to it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from fleetctl.comparison.compare import Asked, Comparison, compared
from fleetctl.comparison.selection import EVERYTHING, parse
from fleetctl.errors import Stop
from fleetctl.history import History, LastEvent, Reader
from fleetctl.plan import Plan, make
from tests.fleetctl.comparison.compared import PREFIX, TOMB, base, told
from tests.fleetctl.test_identity import offered, plane, pool_id
from tests.model import FACTS, ControlPlane, desired, fleet

KEYS = ("fra1-a", "fra1-b", "fra1-c")
POOLS = [offered(key) for key in KEYS]
WAS = base(*POOLS, **PREFIX)


def changed(key: str, fleet: Any, *, at: int = 5, tenant: str | None = None, by: str = "sa_fleet") -> LastEvent:
    return LastEvent(
        type="pool.offered" if tenant else "pool.updated",
        subject=(pool_id(key), tenant),
        actor_id=by,
        time=FACTS.now,
        sequence=at,
        via={} if fleet is None else {"fleet": fleet},
    )


def reader(*events: LastEvent) -> Reader:
    """The last events, each pool's own at first."""
    made = [changed(key, "default", at=1 + n) for n, key in enumerate(KEYS)]
    found = {event.subject: event for event in (*made, *events)}
    return lambda ids, _: History({subject: event for subject, event in found.items() if subject[0] in ids})


@pytest.fixture
def live() -> ControlPlane:
    return plane(*POOLS)


def pruned(live: ControlPlane, *pools: dict[str, Any], events: Reader, **how: Any) -> Plan:
    asked = Asked(base=how.pop("base", WAS), prune=True, selected=how.pop("selected", EVERYTHING), **how)
    return make(desired(fleet(*pools, **PREFIX)), live.live(), asked, events)


def others(made: Plan) -> list[tuple[str, str]]:
    return [(finding.severity, finding.path) for finding in made.findings if finding.rule == "fleet.other"]


THEIRS = {
    "the pool": [changed("fra1-b", "ams", at=9)],
    "an offer": [changed("fra1-b", "ams", at=9, tenant="acme")],
    "by somebody else": [changed("fra1-b", "ams", at=9, by="sa_ops")],
    "and a hand after it": [changed("fra1-b", "ams", at=9, tenant="acme"), changed("fra1-b", None, at=10)],
}


def test_a_pool_that_another_fleet_takes_over_meanwhile_is_not_pruned(live: ControlPlane) -> None:
    before, taken = reader(), changed("fra1-b", "ams", at=99)

    def events(pool_ids: Collection[str], after: int) -> History:
        return History(before(pool_ids, after).events, {taken.subject: taken})

    assert others(pruned(live, POOLS[0], events=events)) == [("warning", "fra1-b")]


@pytest.mark.parametrize("how", THEIRS)
def test_what_another_fleet_changed_last_is_not_pruned_and_is_told_as_its(live: ControlPlane, how: str) -> None:
    made = pruned(live, POOLS[0], events=reader(*THEIRS[how]))
    assert (told(made), made.blocked) == (["archive fra1-c"], False)
    assert others(made) == [("warning", "fra1-b")]
    assert [pool.idempotency_key for pool in made.comparison.diff.foreign] == ["fra1-b"]
    assert [one.pool.idempotency_key for one in made.comparison.diff.removed] == ["fra1-c"]


OURS = {
    "nothing of another": [],
    "this fleet after it": [changed("fra1-b", "ams", at=9, tenant="acme"), changed("fra1-b", "default", at=10)],
    "what is no name": [changed("fra1-b", ["ams"], at=9)],
    "a blank name": [changed("fra1-b", "", at=9)],
}


@pytest.mark.parametrize("how", OURS)
def test_what_this_fleet_changed_last_is_pruned(live: ControlPlane, how: str) -> None:
    made = pruned(live, POOLS[0], events=reader(*OURS[how]))
    assert (told(made), others(made)) == (["archive fra1-b", "archive fra1-c"], [])


def test_a_fleet_that_was_renamed_is_the_one_of_its_base(live: ControlPlane) -> None:
    events = reader(changed("fra1-b", "old", at=9))
    assert told(pruned(live, POOLS[0], events=events)) == ["archive fra1-c"]
    was = base(*POOLS, **PREFIX, fleet="old")
    made = pruned(live, POOLS[0], events=events, base=was)
    assert (told(made), others(made)) == (["archive fra1-b", "archive fra1-c"], [])


def test_the_finding_names_who_changed_it_and_how_it_is_archived_all_the_same(live: ControlPlane) -> None:
    made = pruned(live, POOLS[0], events=reader(changed("fra1-b", "https://u:pw@ams\x1b", at=9)))
    [finding] = [one for one in made.findings if one.rule == "fleet.other"]
    assert "the last fleet that changed it is https://(sensitive)@ams" in finding.message
    assert "(pool.updated by sa_fleet at 2023-11-14 22:13:20 UTC): it is left to that one" in finding.message
    assert f"`- {{id: {pool_id('fra1-b')}, archived: true}}`" in finding.hint


@pytest.mark.parametrize(
    ("entries", "path"),
    [
        ([{"idempotencyKey": "fra1-b", **TOMB}], "pools[fra1-b].archived"),
        ([offered("fra1-d", replaces="fra1-b")], "pools[fra1-d].replaces"),
    ],
    ids=["a tombstone", "a replacement"],
)
def test_a_pool_of_another_fleet_is_archived_by_its_id_alone(
    live: ControlPlane, entries: list[dict[str, Any]], path: str
) -> None:
    asked = (desired(fleet(POOLS[0], POOLS[2], *entries, **PREFIX)), live.live(), Asked())
    made = make(*asked, reader(changed("fra1-b", "ams", at=9)))
    assert (others(made), made.blocked) == ([("error", path)], True)
    [finding] = [one for one in made.findings if one.rule == "fleet.other"]
    assert f"`- {{id: {pool_id('fra1-b')}, archived: true}}`" in finding.hint
    assert finding.source is not None
    assert not make(*asked, reader()).blocked
    by_id = {"id": pool_id("fra1-b"), **TOMB}
    again = make(
        desired(fleet(POOLS[0], POOLS[2], by_id, **PREFIX)), live.live(), Asked(), reader(changed("fra1-b", "ams"))
    )
    assert (others(again), again.blocked) == ([], False)


def differs(live: ControlPlane, events: Reader, **how: Any) -> Comparison:
    return compared(desired(fleet(POOLS[0], **PREFIX)), live.live(), Asked(**how), events)


def test_without_a_prune_it_is_no_removed_pool_either(live: ControlPlane) -> None:
    """So drift does not tell of it, and nobody is told to write its tombstone."""
    found = differs(live, reader(changed("fra1-b", "ams", at=9)))
    assert [one.pool.idempotency_key for one in found.diff.removed] == ["fra1-c"]
    assert [pool.idempotency_key for pool in found.diff.foreign] == ["fra1-b"]
    assert [problem.rule for problem in found.problems] == ["fleet.other"]
    with pytest.raises(Stop) as stopped:
        differs(live, reader(changed("fra1-b", "ams", at=9)), prune=True)
    assert stopped.value.details == ("- {idempotencyKey: fra1-c, archived: true}",)


def test_of_a_part_only_what_is_selected_is_told(live: ControlPlane) -> None:
    events = reader(*(changed(key, "ams", at=9) for key in KEYS[1:]))
    made = pruned(live, POOLS[0], events=events, selected=parse(("key=fra1-b",), ()))
    assert (told(made), others(made)) == ([], [("warning", "fra1-b")])
    assert made.comparison.differs_outside == 0


def test_events_are_read_of_pools_that_would_go_and_of_no_others(live: ControlPlane) -> None:
    asked: list[Collection[str]] = []

    def read(ids: Collection[str], after: int) -> History:
        asked.append(set(ids))
        return reader()(ids, after)

    compared(desired(fleet(*POOLS, **PREFIX)), live.live(), Asked(base=WAS, prune=True), read)
    assert asked == []
    pruned(live, POOLS[0], {"idempotencyKey": "fra1-b", **TOMB}, events=read)
    assert asked == [{pool_id("fra1-b"), pool_id("fra1-c")}]


def test_a_plan_that_asks_nobody_prunes_what_is_anothers(live: ControlPlane) -> None:
    """What the other tests would find, if the events were not read."""
    made = pruned(live, POOLS[0], events=lambda *_: History({}))
    assert told(made) == ["archive fra1-b", "archive fra1-c"]
