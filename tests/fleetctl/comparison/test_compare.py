"""Files, base and live state: what is removed, what is pruned, and what a base may not lose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fleetctl.base.bases import Base
from fleetctl.comparison.compare import Asked, compared
from fleetctl.comparison.selection import parse
from fleetctl.errors import Stop
from fleetctl.plan import make
from tests.fleetctl.comparison.compared import PREFIX, TOMB, against, base, findings, planned, removed, told
from tests.fleetctl.test_identity import archive, offered, plane, pool_id
from tests.model import ControlPlane, desired, entry, fleet
from tests.timing import times_as_long

# Removed or foreign.


def test_a_pool_of_this_fleet_is_known_by_caller_and_prefix_or_by_the_base() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"), offered("ams1-c"))
    plane(offered("fra1-d"), caller="sa_old", into=live)
    left = offered("fra1-a")
    assert removed(against(live, left)) == {}
    assert removed(against(live, left, **PREFIX)) == {"fra1-b": False}
    assert removed(against(live, left, **PREFIX, previousCallers=["sa_old"])) == {"fra1-b": False, "fra1-d": False}
    was = base(left, offered("fra1-b"), offered("ams1-c"))
    found = against(live, left, of=was)
    assert (removed(found), len(found.diff.foreign)) == ({"fra1-b": True, "ams1-c": True}, 1)


def test_what_the_base_let_go_is_not_removed() -> None:
    live = plane(offered("a"), offered("b"))
    was = base(offered("a"), {"idempotencyKey": "b", "released": True})
    found = against(live, offered("a"), of=was)
    assert (found.diff.removed, len(found.diff.foreign)) == ((), 1)


def test_an_archived_pool_is_not_removed_whatever_named_it() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    archive(live, "fra1-b")
    assert removed(against(live, offered("fra1-a"), of=base(offered("fra1-b")), **PREFIX)) == {}


def test_a_server_that_does_not_tell_creators_leaves_it_open_unless_a_base_names_them() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    for state in live.pools.values():
        assert state.pool is not None
        state.pool = replace(state.pool, created_by="", idempotency_key=None)
    there = live.live()
    blind = replace(there, instance=replace(there.instance, capabilities=frozenset()))
    wished = desired(fleet(offered("fra1-a"), **PREFIX))
    assert findings(make(wished, blind)) == [("fleet.removed", "unchecked")]
    made = make(wished, blind, Asked(base=base(offered("fra1-a"), offered("fra1-b"))))
    assert findings(made) == [("fleet.removed", "warning")]
    assert [one.pool.id for one in made.comparison.diff.removed] == [pool_id("fra1-b")]


def test_removed_pools_are_told_with_the_tombstone_to_write() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    [finding] = planned(live, offered("fra1-a"), **PREFIX).findings
    assert finding.hint == "to archive it, write `- {idempotencyKey: fra1-b, archived: true}`"
    was = base(offered("fra1-a"), entry("fra1-b", id=pool_id("fra1-b"), offers=[]), keyPrefix="fra1-a")
    [finding] = planned(live, offered("fra1-a"), keyPrefix="fra1-a", base=was).findings
    assert finding.hint == f"to archive it, write `- {{id: {pool_id('fra1-b')}, archived: true}}` or give --prune"


# Prune.


def test_prune_archives_what_the_base_names_and_nothing_else() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"), offered("fra1-c"))
    was = base(offered("fra1-a"), offered("fra1-b"))
    made = planned(live, offered("fra1-a"), **PREFIX, base=was, prune=True)
    assert told(made) == ["archive fra1-b"]
    [operation] = made.operations
    assert (operation.reason.code, operation.severity, operation.causes) == ("removed", "irreversible", ("intent",))
    assert "it stood at fleet.yaml:" in operation.reason.sentence
    assert [f.path for f in made.findings] == ["fra1-c"]
    assert removed(made.comparison) == {"fra1-b": True, "fra1-c": False}
    live.run(made)
    assert told(planned(live, offered("fra1-a"), base=was, prune=True)) == []


def test_prune_without_a_base_is_refused_with_the_tombstones_to_write() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    with pytest.raises(Stop) as stopped:
        planned(live, offered("fra1-a"), **PREFIX, prune=True)
    assert (stopped.value.exit_code, stopped.value.rule) == (64, "prune.base")
    assert stopped.value.details == ("- {idempotencyKey: fra1-b, archived: true}",)


def test_prune_leaves_a_pool_alone_whose_key_an_entry_has_that_means_another() -> None:
    """Both are live, and the entry means the one that it was before: nobody said that the other is to go."""
    live, was = plane(offered("fra1-a"), offered("fra1-b")), base(offered("fra1-a"), offered("fra1-b"))
    made = planned(live, offered("fra1-b", previously="fra1-a"), **PREFIX, base=was, prune=True)
    assert (told(made), removed(made.comparison)) == ([], {"fra1-b": False})
    assert "--prune" not in str([finding.hint for finding in made.findings])


def test_prune_finds_renamed_entries_of_the_base_where_they_are() -> None:
    live = plane(offered("old"), offered("a"))
    made = planned(live, offered("a"), base=base(offered("a"), offered("new", previously="old")), prune=True)
    assert [(o.action, o.pool_id) for o in made.operations] == [("archive", pool_id("old"))]


def test_a_base_never_changes_what_is_done() -> None:
    live = plane(offered("a"), offered("b"))
    wishes = (offered("a", 9), offered("c"))
    bases = (None, base(offered("a")), base(*wishes), Base("main", None, None))
    digests = {planned(live, *wishes, base=was).digest for was in bases}
    assert len(digests) == 1


# The base's own guards.


def test_a_fleet_may_lose_all_its_pools_only_where_the_base_says_so_too() -> None:
    live = plane(offered("a"))
    for allowed, blocked in ((False, True), (True, False)):
        was = base(offered("a"), **({"allowEmpty": True} if allowed else {}))
        made = planned(live, allowEmpty=True, base=was)
        assert (("fleet.empty", "error") in findings(made)) == made.blocked == blocked


@pytest.mark.parametrize("ends", [TOMB, {"released": True}])
@pytest.mark.parametrize("allowed", [False, True])
def test_where_no_entry_keeps_a_pool_each_pool_of_the_base_has_one_or_may_go_unsaid(
    ends: dict[str, Any], allowed: bool
) -> None:
    live = plane(offered("a"), offered("b"))
    was = base(offered("a"), offered("b"), **({"allowEmpty": True} if allowed else {}))
    first, second = ({"idempotencyKey": key, **ends} for key in ("a", "b"))
    unseen = ("fleet.empty", "error")
    assert unseen not in findings(planned(live, first, second, base=was))
    assert (unseen in findings(planned(live, first, base=was))) != allowed
    assert unseen not in findings(planned(live, first, offered("c"), base=was)), "one is kept"
    archive(live, "b")
    assert unseen not in findings(planned(live, first, base=was)), "it is gone already"
    assert unseen not in findings(planned(live, first, base=base(first))), "there was none before"


def test_a_fleet_that_was_not_there_names_nothing() -> None:
    made = planned(plane(offered("a")), offered("a", 9), base=Base("main", "c0ffee", None))
    assert findings(made) == []
    assert [o.causes for o in made.operations] == [()]


def test_ten_thousand_pools_with_base_and_selection_stay_near_linear() -> None:
    def prepared(count: int) -> Callable[[], object]:
        pools = [offered(f"fra1-{n:05}") for n in range(count)]
        fleet_then, now = fleet(*pools, **PREFIX), fleet(*pools[: count // 2], *_renamed(pools), **PREFIX)
        live = ControlPlane()
        live.run(make(desired(fleet_then), live.live()))
        was, there, wished = Base("main", None, desired(fleet_then)), live.live(), desired(now)
        part = parse(("key=fra1-*",), ("key=*7",))
        return lambda: compared(wished, there, Asked(base=was, prune=True, selected=part))

    assert times_as_long(prepared, 300, 2_400) < 24, "the square would be 64 times as long"


def _renamed(pools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**pool, "idempotencyKey": pool["idempotencyKey"] + "-new"} for pool in pools[len(pools) // 2 :]]


# New pools that nobody is offered.


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, True),
        ({"sharing": "mig", "ownerQuota": {"gpu.mig": 7}}, True),
        ({"offers": []}, False),
        ({"offers": "unmanaged"}, False),
        ({"sharing": "timeslice", "policy": {"gpu": {"slots": 4}}, "ownerQuota": {"gpu.slot": 8}}, False),
        ({"class": "infra"}, False),
        ({"class": "provider", "agent": "none", "providerAccountId": "pa_north"}, False),
        ({"archived": True}, False),
    ],
)
def test_a_new_pool_whose_offers_may_have_been_forgotten_is_noted(fields: dict[str, Any], told: bool) -> None:
    live = plane(offered("b"))
    found = against(live, entry("a", **fields), offered("b"))
    assert [(note.kind, note.place.source().line) for note in found.notes] == [("unoffered", 1)] * told
    if told:
        assert "`offers: []` if that is meant" in found.notes[0].sentence
        live.run(planned(live, entry("a", **fields), offered("b")))
        assert against(live, entry("a", **fields), offered("b")).notes == ()
