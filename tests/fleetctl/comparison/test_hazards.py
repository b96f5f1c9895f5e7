"""Pools that would be made anew because a key or a caller changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetctl.comparison.selection import parse
from fleetctl.plan import Plan
from tests.fleetctl.comparison.compared import PREFIX, TOMB, base, findings, planned, told
from tests.fleetctl.test_identity import offered, plane, pool_id
from tests.model import entry


def test_a_renamed_entry_blocks_and_is_pointed_to_previously() -> None:
    live = plane(offered("fra1-old"))
    made = planned(live, offered("fra1-new"), **PREFIX)
    assert told(made) == ["create fra1-new", "offer fra1-new to acme"]
    [error] = made.findings
    assert (error.rule, error.path) == ("fleet.rename", "pools[fra1-new]")
    assert "same shape, new key: fra1-old" in error.message
    assert "`previously: fra1-old`" in error.hint
    assert "--allow rename=1" in error.hint
    assert planned(live, offered("fra1-new", previously="fra1-old"), **PREFIX).operations == ()


@pytest.mark.parametrize(
    "other",
    [{"siteId": "site_ams1"}, {"gpuModel": "H200"}, {"class": "vps-host"}, {"sharing": "mig"}],
)
def test_a_pool_of_another_shape_is_no_rename(other: dict[str, Any]) -> None:
    live = plane(offered("fra1-old"))
    assert "fleet.rename" not in dict(findings(planned(live, entry("fra1-new", offers=[], **other), **PREFIX)))


def test_each_removed_pool_explains_one_new_entry_and_an_override_names_the_number() -> None:
    live = plane(*(offered(f"fra1-{n}") for n in range(3)))
    new = [offered(f"fra1-new{n}") for n in range(5)]
    made = planned(live, *new, **PREFIX)
    assert findings(made).count(("fleet.rename", "error")) == 3
    assert "there are 3 of this shape" in made.findings[0].hint
    assert findings(planned(live, *new, **PREFIX, renames=2)).count(("fleet.rename", "error")) == 3
    passed = planned(live, *new, **PREFIX, renames=3)
    assert (findings(passed).count(("fleet.rename", "warning")), passed.blocked) == (3, False)


def test_what_is_archived_replaced_or_named_is_no_rename() -> None:
    live = plane(offered("fra1-old"))
    tomb = {"idempotencyKey": "fra1-old", **TOMB}
    assert not planned(live, offered("fra1-new"), tomb, **PREFIX).blocked
    assert not planned(live, offered("fra1-new", replaces="fra1-old"), **PREFIX).blocked
    assert not planned(live, offered("fra1-new"), {"idempotencyKey": "fra1-old", "released": True}, **PREFIX).blocked


def test_the_same_key_under_another_caller_is_pointed_to_previous_callers() -> None:
    live = plane(offered("fra1-a"), caller="sa_old")
    was = base(offered("fra1-a"), caller="sa_old")
    error = next(f for f in planned(live, offered("fra1-a"), base=was).findings if f.severity == "error")
    assert error.rule == "fleet.rename"
    assert "`previousCallers: [sa_old]`" in error.hint


def test_a_fleet_of_which_nothing_is_there_beside_pools_like_it_asks_for_the_caller() -> None:
    live = plane(offered("a"), offered("b"), caller="sa_old")
    plane(offered("c"), caller="sa_x", into=live)
    plane(entry("d", offers=[], gpuModel="B200"), caller="sa_y", into=live)
    made = planned(live, offered("a"), offered("b"))
    [finding] = made.findings
    assert (finding.rule, finding.severity, made.blocked) == ("fleet.caller", "warning", False)
    assert "3 pools of the same sites and models, made by sa_old (2) and sa_x (1)" in finding.message
    assert "`caller: sa_old`, or `previousCallers: [sa_old]`" in finding.hint
    assert finding.source is not None
    for settled in (
        planned(live, offered("a"), offered("b"), previousCallers=["sa_old"]),
        planned(plane(offered("z"), caller="sa_old"), offered("a"), previousCallers=["sa_old"]),
        planned(live, entry("a", offers=[], gpuModel="L40S")),
        planned(plane(offered("z"), into=live), offered("a"), offered("z")),
    ):
        assert settled.findings == ()


# Old keys of other fleets.


def of_prefix(made: Plan) -> list[tuple[str, str]]:
    return [(f.severity, f.hint) for f in made.findings if f.rule == "fleet.keyPrefix"]


@pytest.mark.parametrize(
    "taking",
    [offered("fra1-z", replaces="ams1-a"), {"idempotencyKey": "fra1-z", "previously": "ams1-a", **TOMB}],
)
def test_a_pool_is_not_archived_by_a_key_outside_of_the_prefix_unless_the_base_has_it(taking: dict[str, Any]) -> None:
    live = plane(offered("ams1-a"), offered("fra1-b"))
    [(severity, hint)] = of_prefix(made := planned(live, taking, offered("fra1-b"), **PREFIX))
    assert (made.blocked, severity) == (True, "error")
    assert f"id: {pool_id('ams1-a')}" in hint
    assert hint.endswith("; or give a base that has it")
    elsewhere = planned(live, taking, offered("fra1-b"), **PREFIX, base=base(offered("fra1-b"), **PREFIX))
    assert [found[0] for found in of_prefix(elsewhere)] == ["error"]
    let_go = base(offered("fra1-b"), {"idempotencyKey": "ams1-a", "released": True})
    assert planned(live, taking, offered("fra1-b"), **PREFIX, base=let_go).blocked
    own = planned(live, taking, offered("fra1-b"), **PREFIX, base=base(offered("ams1-a"), offered("fra1-b")))
    assert (of_prefix(own), own.blocked) == ([], False)
    assert told(own)[-1] == f"archive {taking.get('replaces', 'fra1-z')}"
    assert own.operations[-1].pool_id == pool_id("ams1-a")


def test_a_pool_that_keeps_its_work_under_a_new_prefix_is_a_warning() -> None:
    live = plane(offered("ams1-a"))
    made = planned(live, offered("fra1-a", previously="ams1-a"), **PREFIX)
    assert ([found[0] for found in of_prefix(made)], made.blocked, made.operations) == (["warning"], False, ())
    assert of_prefix(planned(live, offered("fra1-a", previously="ams1-a"))) == []
    assert of_prefix(planned(plane(offered("b")), offered("fra1-a", previously="ams1-a"), **PREFIX)) == []
    let_go = {"idempotencyKey": "fra1-a", "previously": "ams1-a", "released": True}
    assert of_prefix(planned(live, let_go, **PREFIX)) == []


def test_an_archive_of_a_renamed_pool_says_which_key_it_was_made_under() -> None:
    [operation] = planned(plane(offered("old")), {"idempotencyKey": "new", "previously": "old", **TOMB}).operations
    assert (operation.name, operation.pool_id) == ("new", pool_id("old"))
    assert operation.reason.sentence == "the files mark it archived; it was made under the key old"
    [operation] = planned(plane(offered("old")), {"idempotencyKey": "old", **TOMB}).operations
    assert operation.reason.sentence == "the files mark it archived"


# Entries that let go of a pool, and no longer say which.


@pytest.mark.parametrize("does", ["archived", "released"])
def test_a_renamed_pool_is_let_go_only_by_an_entry_that_still_says_so(does: str) -> None:
    live, was = plane(offered("fra1-old")), base(offered("fra1-new", previously="fra1-old"))
    gone = {"idempotencyKey": "fra1-new", does: True}
    made = planned(live, gone, base=was)
    [problem] = [finding for finding in made.findings if finding.severity == "error"]
    assert "never existed" not in str(made.findings)
    assert (problem.rule, problem.path) == ("fleet.previously", f"pools[fra1-new].{does}")
    assert problem.hint == f"write `- {{idempotencyKey: fra1-new, previously: fra1-old, {does}: true}}`"
    written = planned(live, {**gone, "previously": "fra1-old"}, base=was)
    assert not written.blocked
    assert [operation.action for operation in written.operations] == (["archive"] if does == "archived" else [])


def test_a_released_pool_that_is_not_meant_is_not_pruned_and_an_archived_one_is() -> None:
    live, was = plane(offered("fra1-old")), base(offered("fra1-new", previously="fra1-old"))
    assert planned(live, {"idempotencyKey": "fra1-new", "released": True}, base=was, prune=True).blocked
    made = planned(live, {"idempotencyKey": "fra1-new", "archived": True}, base=was, prune=True)
    assert (made.blocked, [operation.action for operation in made.operations]) == (False, ["archive"])


def test_an_adopted_pool_that_is_let_go_by_its_key_alone_is_named_by_its_id() -> None:
    live = plane(offered("fra1-a"), caller="sa_other")
    own = pool_id("fra1-a", "sa_other")
    was = base(offered("fra1-new", id=own))
    made = planned(live, {"idempotencyKey": "fra1-new", **TOMB}, base=was)
    [problem] = [finding for finding in made.findings if finding.severity == "error"]
    assert f"idempotencyKey: fra1-new, id: {own}, archived: true" in problem.hint


# A part of the fleet, and a pool from which something is taken.


@pytest.mark.parametrize("new", ["fra1-c", "fra1-d", "fra1-e"])
def test_no_part_of_new_entries_alike_evades_the_rename_of_a_pool(new: str) -> None:
    live = plane(offered("fra1-b"))
    wishes = [offered(f"fra1-{letter}") for letter in "cde"]
    assert findings(planned(live, *wishes, **PREFIX))[0] == ("fleet.rename", "error")
    made = planned(live, *wishes, **PREFIX, selected=parse((f"key={new}",), ()))
    assert [(f.rule, f.path) for f in made.findings] == [("fleet.rename", f"pools[{new}]")]
    assert "--allow rename=1" in made.findings[0].hint


def test_a_pruned_pool_is_a_rename_also_where_no_new_entry_is_selected() -> None:
    live, was = plane(offered("fra1-a"), offered("fra1-b")), base(offered("fra1-a"), offered("fra1-b"))
    for part in ("key=fra1-a", "key=fra1-b"):
        made = planned(live, offered("fra1-c"), **PREFIX, base=was, prune=True, selected=parse((part,), ()))
        assert findings(made).count(("fleet.rename", "error")) == 1


@given(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("wxyz"), min_size=1), st.data())
@settings(max_examples=60, deadline=None)
def test_as_many_renames_are_found_in_a_part_as_it_can_hold(gone: set[str], new: set[str], data: st.DataObject) -> None:
    part = data.draw(st.sets(st.sampled_from(sorted(new)), min_size=1))
    live = plane(offered("fra1-kept"), *(offered(f"fra1-{letter}") for letter in sorted(gone)))
    wishes = [offered("fra1-kept"), *(offered(f"fra1-{letter}") for letter in sorted(new))]
    selected = parse([f"key=fra1-{letter}" for letter in sorted(part)], ())
    found = findings(planned(live, *wishes, **PREFIX, selected=selected))
    assert found.count(("fleet.rename", "error")) == min(len(gone), len(part))


TAKING: dict[str, dict[str, Any]] = {
    "withdrawn": entry("fra1-a", offers=[], previously="ams1-a"),
    "lowered": offered("fra1-a", 7, previously="ams1-a"),
    "the owner's": offered("fra1-a", previously="ams1-a", ownerQuota={"gpu": 1}),
    "another model": offered("fra1-a", previously="ams1-a", gpuModel="H200"),
}


@pytest.mark.parametrize("how", TAKING)
def test_nothing_is_taken_from_a_pool_outside_of_the_prefix_unless_the_base_has_it(how: str) -> None:
    live = plane(offered("ams1-a"))
    made = planned(live, TAKING[how], **PREFIX)
    [(severity, hint)] = of_prefix(made)
    assert (made.blocked, severity) == (True, "error")
    assert f"id: {pool_id('ams1-a')}" in hint
    assert of_prefix(planned(live, TAKING[how], **PREFIX, base=base(offered("ams1-a")))) == []


def test_what_gives_to_a_pool_outside_of_the_prefix_is_a_warning() -> None:
    live = plane(offered("ams1-a"))
    for given_more in (
        offered("fra1-a", 9, previously="ams1-a"),
        offered("fra1-a", previously="ams1-a", policy={"x": 1}),
    ):
        made = planned(live, given_more, **PREFIX)
        assert ([found[0] for found in of_prefix(made)], len(made.operations)) == (["warning"], 1)
