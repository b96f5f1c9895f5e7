"""What the plans of several branches break only together: found before the merge, and nothing that one breaks alone.

A merge of branches is, in these laws, the files of all: each branch changes files of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetctl.base.bases import Base
from fleetctl.desired import Desired
from fleetctl.flow import together as flow
from fleetctl.flow.judge import Judged, judged
from fleetctl.history import History, LastEvent
from fleetctl.override import Override
from fleetctl.plan import make
from fleetctl.request import Request
from fleetctl.session.opening import Session, offline
from fleetctl.session.target import Target
from fleetctl.together.branch import Branch, Branches
from fleetctl.together.joint import Together
from fleetctl.together.merging import Merging, merged
from tests.fleetctl.guards.case import Case, offers, pool_id, tombstone
from tests.fleetctl.together.sides import Files, branch, offered, wish
from tests.model import ControlPlane, entry

LAX = {"maxArchives": 99, "maxArchivePercent": 100, "maxWithdrawals": 99, "maxGpusWithdrawn": 9999}


def session(live: Case | ControlPlane, wished: Desired, **allow: int) -> Session:
    request = Request(
        path=Path(),
        server=None,
        environ={},
        token_file=None,
        timeout=1,
        override=Override(allow, "meant" if allow else None),
        tell=print,
    )
    target = Target(server="memory", overridden=False, token=None, server_from="", token_from="")
    return offline(request, wished, live.live(), lambda *_: History({}), target)


def found(live: Case | ControlPlane, own: Desired, *others: Branch, **allow: int) -> Together:
    at = session(live, own, **allow)
    return flow.together(at, judged(at), Branches({each.ref: "0" * 40 for each in others}, others))


def told(together: Together) -> list[tuple[str, str, list[str | None]]]:
    """Severity and rule of each finding, and whose doing it is."""
    return [(j.problem.severity, j.problem.rule, [party.ref for party in j.parties]) for j in together.found]


class TestOversell:
    """Each alone leaves enough; all machines of a pool make 32 GPUs."""

    def live(self) -> Case:
        case = Case()
        for key in ("a", "b"):
            case.pool(key, acme=8, globex=8, gpus=32)
        return case

    WAS = [offered("a", acme=8, globex=8), offered("b", acme=8, globex=8)]

    def test_of_a_pool_by_its_guard_is_an_error(self) -> None:
        own = wish([offered("a", acme=20, globex=8), self.WAS[1]], guards={"maxOversell": 1})
        other = branch("x", [offered("a", acme=8, globex=20), self.WAS[1]], self.WAS, guards={"maxOversell": 1})
        made = found(self.live(), own, other)
        assert told(made) == [("error", "guard.oversell", [None, "x"])]
        (joint,) = made.found
        assert joint.problem.message == "oversold: a (40 of 32, 1.25 times), and maxOversell is 1"
        assert [party.source and party.source.file for party in joint.parties] == ["fleet.yaml", "fleet.yaml"]

    def test_of_a_pool_without_a_guard_is_a_warning(self) -> None:
        other = branch("x", [offered("a", acme=8, globex=20), self.WAS[1]], self.WAS)
        made = found(self.live(), wish([offered("a", acme=20, globex=8), self.WAS[1]]), other)
        assert (told(made), made.blocked) == ([("warning", "together.oversell", [None, "x"])], False)

    def test_of_a_model_at_a_site_is_a_warning_where_no_pool_of_it_is_oversold(self) -> None:
        case = Case()
        case.pool("a", acme=4, gpus=16)
        case.pool("b", acme=4)  # of which no machine is known
        was = [offered("a", acme=4), offered("b", acme=4)]
        made = found(case, wish([offered("a", acme=12), was[1]]), branch("x", [was[0], offered("b", acme=12)], was))
        assert told(made) == [("warning", "together.oversell", [None, "x"])]
        said = "all pools at site_fra1 together promise 24 H100 GPUs, and their machines make 16"
        assert made.found[0].problem.message == said

    def test_of_a_model_at_a_site_that_is_as_it_was_before_them_is_no_finding(self) -> None:
        case = Case()
        case.pool("a", acme=12, gpus=16)
        case.pool("b", acme=12)
        was = [offered("a", acme=4), offered("b", acme=12)]
        own = [was[0], offered("b", acme=11, globex=1)]
        assert told(found(case, wish(own), branch("x", [offered("a", acme=12), was[1]], was))) == []

    def test_of_a_model_at_a_site_is_told_beside_a_pool_that_one_alone_oversells(self) -> None:
        was = self.WAS
        own = wish([offered("a", acme=32, globex=8), was[1]])
        made = found(self.live(), own, branch("x", [was[0], offered("b", acme=20, globex=8)], was))
        assert told(made) == [("warning", "together.oversell", [None, "x"])]
        assert made.found[0].problem.message.startswith("all pools at site_fra1 together promise 68 H100 GPUs")

    def test_that_one_alone_makes_is_no_finding(self) -> None:
        case, was = self.live(), self.WAS
        own = wish([offered("a", acme=60, globex=8), was[1]], guards={"maxOversell": 1})
        other = branch("x", [offered("a", acme=8, globex=20), was[1]], was, guards={"maxOversell": 1})
        assert told(found(case, own, other)) == []
        assert told(found(case, wish(was, guards={"maxOversell": 1}), other)) == []

    def test_an_override_lets_it_pass_and_is_told(self) -> None:
        own = wish([offered("a", acme=20, globex=8), self.WAS[1]], guards={"maxOversell": 1})
        other = branch("x", [offered("a", acme=8, globex=20), self.WAS[1]], self.WAS, guards={"maxOversell": 1})
        assert told(found(self.live(), own, other, oversell=1)) == [("warning", "guard.oversell", [None, "x"])]


class TestGuards:
    def live(self) -> Case:
        case = Case()
        for key in "abcd":
            case.pool(key, acme=8)
        return case

    WAS = [offered(key, acme=8) for key in "abcd"]

    def archiving(self, *keys: str) -> list[dict[str, Any]]:
        return [tombstone(each["idempotencyKey"]) if each["idempotencyKey"] in keys else each for each in self.WAS]

    def test_count_what_all_take(self) -> None:
        made = found(self.live(), wish(self.archiving("a")), branch("x", self.archiving("b"), self.WAS))
        assert told(made) == [("error", "guard.archives", [None, "x"])]
        assert made.found[0].problem.message.startswith("2 archives, and one apply may do 1")

    def test_count_what_branches_take_where_the_files_take_nothing(self) -> None:
        others = [branch(ref, self.archiving(key), self.WAS) for ref, key in (("x", "a"), ("y", "b"))]
        assert told(found(self.live(), wish(self.WAS), *others)) == [("error", "guard.archives", ["x", "y"])]

    def test_that_one_alone_breaks_are_no_finding(self) -> None:
        others = branch("x", self.archiving("b", "c"), self.WAS)
        assert told(found(self.live(), wish(self.archiving("a")), others)) == []

    def test_let_pass_what_an_override_names(self) -> None:
        other = branch("x", self.archiving("b"), self.WAS)
        assert told(found(self.live(), wish(self.archiving("a")), other, archives=2)) == []

    def test_that_one_changes_hold_for_what_another_does(self) -> None:
        own = wish(self.archiving("a"), guards={"maxArchives": 1})
        strict = wish(self.WAS, "x", guards={"maxArchives": 0})
        made = found(self.live(), own, Branch("x", strict, wish(self.WAS, guards={"maxArchives": 1})))
        assert told(made) == [("error", "guard.archives", [None, "x"])]

    def test_checks_that_warn_are_told_where_only_all_break_them(self) -> None:
        checks = [{"name": "few", "severity": "warn", "expr": "size(pools) <= 5", "message": "few pools"}]
        own, more = [*self.WAS, offered("e")], [*self.WAS, offered("f")]
        made = found(self.live(), wish(own, checks=checks), branch("x", more, self.WAS, checks=checks))
        assert (told(made), made.blocked) == ([("warning", "check.few", [None, "x"])], False)
        alone = branch("x", [*more, offered("g")], self.WAS, checks=checks)
        assert told(found(self.live(), wish(own, checks=checks), alone)) == []

    def test_checks_that_one_adds_hold_for_what_another_does(self) -> None:
        check = {
            "name": "few",
            "severity": "deny",
            "each": "pool",
            "expr": "pool.gpuModel == 'H100'",
            "message": "H100",
        }
        own = wish([*self.WAS, offered("new", gpuModel="H200")])
        made = found(self.live(), own, Branch("x", wish(self.WAS, "x", checks=[check]), wish(self.WAS)))
        assert told(made) == [("error", "check.few", [None, "x"])]


def test_a_rule_that_only_both_break_is_found() -> None:
    was = [offered(acme=1)]
    live = ControlPlane()
    live.run(live.plan(wish(was)))
    own = wish([offered(acme=1, policy={"singleTenant": True})])
    made = found(live, own, branch("x", [offered(acme=1, globex=1)], was))
    assert told(made) == [("error", "offer.single", [None, "x"])]


@pytest.mark.parametrize("key", ["a", "a]b", "a].offers[globex", "]", "a]"])
def test_whose_doing_it_is_is_known_whatever_the_pool_is_called(key: str) -> None:
    case = Case()
    case.pool(key, acme=1)
    case.pool("other", acme=1)

    def adopted(**fields: Any) -> dict[str, Any]:
        found = {**offered(key, acme=1, **fields), "id": pool_id(key)}
        return {name: value for name, value in found.items() if name != "idempotencyKey"}

    was = [adopted(), offered("other", acme=1)]
    own = wish([adopted(policy={"singleTenant": True}), was[1]])
    x = branch("x", [adopted(globex=1), was[1]], was)
    y = branch("y", [was[0], offered("other", acme=2)], was)
    assert told(found(case, own, x, y)) == [("error", "offer.single", [None, "x"])]


def test_a_rule_that_a_branch_breaks_with_what_was_applied_since_it_left_is_found() -> None:
    old = [offered(acme=1), offered("b")]
    main = [offered(acme=1, policy={"singleTenant": True}), offered("b")]
    live = ControlPlane()
    live.run(live.plan(wish(main)))
    made = found(live, wish([main[0], offered("b", acme=1)]), branch("x", [offered(acme=1, globex=1), old[1]], old))
    assert told(made) == [("error", "offer.single", [None, "x"])]
    assert [party.source is None for party in made.found[0].parties] == [True, False]


def test_different_wishes_of_one_object_are_found_and_the_same_ones_are_not() -> None:
    was = [offered(acme=1)]
    live = ControlPlane()
    live.run(live.plan(wish(was)))
    own = wish([offered(acme=2)])
    assert told(found(live, own, branch("x", [offered(acme=2)], was))) == []
    made = found(live, own, branch("x", [offered(acme=3)], was), branch("y", [offered(acme=4)], was))
    assert told(made) == [("error", "together.wish", [None, "x", "y"])]
    assert made.found[0].problem.path == "pools[a].offers[acme].quota.gpu"


def test_a_branch_that_is_behind_what_was_merged_and_applied_takes_nothing_back() -> None:
    """Its own files lack eleven offers that are live: alone they would be withdrawn."""
    tenants: dict[str, Any] = {f"t{n}": 1 for n in range(11)}
    case = Case()
    case.pool("a", acme=1, **tenants)
    case.pool("b", acme=1)
    old = [offered("a", acme=1), offered("b", acme=1)]
    merged_since = [offered("a", acme=1, **tenants), offered("b", acme=1)]
    behind = branch("x", [offered("a", acme=1), offered("b", acme=9)], old)
    assert told(found(case, wish(merged_since), behind)) == []


def test_a_change_that_nobody_applied_yet_and_that_both_have_is_no_finding() -> None:
    live = ControlPlane()
    live.run(live.plan(wish([offered(acme=1)])))
    pending = [offered(acme=8), offered("new", acme=8)]
    made = found(live, wish([*pending, offered("own")]), branch("x", [*pending, offered("other")], pending))
    assert told(made) == []


def test_another_fleet_at_the_place_is_not_put_together_and_said_so() -> None:
    was = [offered(acme=1)]
    other = Branch("x", wish([offered("fra1-a", acme=9)], "x", fleet="else", keyPrefix="fra1-"), wish(was))
    made = found(ControlPlane(), wish([offered(acme=2)]), other)
    assert told(made) == [("unchecked", "together.fleet", ["x"])]
    assert "another fleet and keyPrefix" in made.found[0].problem.message


# Fleets of two pools that tenants' files offer; each side changes files of its own.
TENANTS = ("acme", "globex", "initech", "umbrella")
BEFORE, AFTER = st.sampled_from((0, 4, 8)), st.sampled_from((0, 4, 8, 12, 16))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Case, Files, list[Files]]:
    """Live pools as the files of main had them; these files; and what two or three sides have of them."""
    quotas = {tenant: {key: draw(BEFORE) for key in "ab"} for tenant in TENANTS}
    guards = {**LAX, "maxOversell": draw(st.sampled_from((1, 1.5))), "maxWithdrawals": draw(st.integers(2, 4))}
    pools = [entry(key) for key in "ab"]
    main: Files = {"fleet.yaml": {"pools": pools, "guards": guards}}
    case = Case()
    for key in "ab":
        held: dict[str, Any] = {tenant: quotas[tenant][key] for tenant in TENANTS}
        case.pool(key, gpus=32, **held)
    for tenant in TENANTS:
        main[f"{tenant}.yaml"] = offering(tenant, quotas[tenant])
    sides: list[Files] = [deepcopy(main) for _ in range(draw(st.integers(2, 3)))]
    for tenant in TENANTS:
        side = draw(st.sampled_from(sides))
        kept = draw(st.sampled_from(("ab", "ab", "a", "b", "")))
        side[f"{tenant}.yaml"] = offering(tenant, {key: draw(AFTER) for key in kept})
    return case, main, sides


def offering(tenant: str, quotas: dict[str, int]) -> dict[str, Any]:
    return {"offers": [{"pool": key, **offers(**{tenant: gpus})[0]} for key, gpus in quotas.items()]}


def union(main: Files, sides: Sequence[Files]) -> Files:
    """As git merges what changed in different files."""
    changed = {name: side[name] for side in sides for name in side if side[name] != main[name]}
    return {**main, **changed}


def blocked(case: Case, files: Files) -> bool:
    return judged(session(case, wish(files))).plan.blocked


def check_found_before_the_merge(case: Case, main: Files, sides: list[Files]) -> None:
    """Where each side alone is sound, what blocks their merge is found, and nothing else is."""
    own, *others = sides
    refs = [branch(f"b{n}", files, main) for n, files in enumerate(others)]
    made = found(case, wish(own), *refs)
    assert "together.wish" not in {rule for _, rule, _ in told(made)}, "wishes that contradict each other"
    if not any(blocked(case, files) for files in sides):
        assert made.blocked == blocked(case, union(main, sides)), "the merge is otherwise"


@given(fleets())
@settings(max_examples=60)
def test_what_blocks_a_merge_and_no_side_of_it_is_found_before(made: tuple[Case, Files, list[Files]]) -> None:
    check_found_before_the_merge(*made)


@pytest.mark.long
@given(fleets())
@settings(max_examples=3000)
def test_the_same_of_many_fleets(made: tuple[Case, Files, list[Files]]) -> None:
    check_found_before_the_merge(*made)


@given(fleets())
@settings(max_examples=20)
def test_all_that_branches_and_files_wish_is_what_their_merge_wishes(made: tuple[Case, Files, list[Files]]) -> None:
    case, main, (own, *others) = made
    whole = merged(wish(own), [branch(f"b{n}", files, main) for n, files in enumerate(others)])
    live = case.live()
    assert make(whole.desired, live).digest == make(wish(union(main, [own, *others])), live).digest


FOUR: dict[str, Any] = dict.fromkeys(TENANTS, 4)


def oversold_together() -> tuple[Case, Files, list[Files]]:
    """A merge that no side alone lets one foresee, and only the last of three sides makes too much."""
    case = Case()
    case.pool("a", gpus=32, **FOUR)
    pools = [entry("a")]
    main: Files = {"fleet.yaml": {"pools": pools, "guards": {**LAX, "maxOversell": 1}}}
    main |= {f"{tenant}.yaml": offering(tenant, {"a": 4}) for tenant in TENANTS}
    sides = [
        {**main, f"{tenant}.yaml": offering(tenant, {"a": gpus})}
        for tenant, gpus in (("acme", 12), ("globex", 12), ("initech", 12))
    ]
    return case, main, sides


def archived_together() -> tuple[Case, Files, list[Files]]:
    """Each side withdraws as much as one may, so that only a count over all of them tells."""
    case = Case()
    case.pool("a", gpus=32, **FOUR)
    pools = [entry("a")]
    main: Files = {"fleet.yaml": {"pools": pools, "guards": {**LAX, "maxWithdrawals": 1}}}
    main |= {f"{tenant}.yaml": offering(tenant, {"a": 4}) for tenant in TENANTS}
    return case, main, [{**main, f"{tenant}.yaml": {}} for tenant in ("acme", "globex")]


def test_the_cases_of_the_planted_faults_are_found_without_them() -> None:
    for made in (oversold_together(), archived_together()):
        check_found_before_the_merge(*made)
        assert blocked(made[0], union(*made[1:]))


def test_a_union_that_forgets_a_branch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault."""
    monkeypatch.setattr(flow, "merged", lambda desired, branches: merged(desired, branches[:-1]))
    with pytest.raises(AssertionError, match="the merge is otherwise"):
        check_found_before_the_merge(*oversold_together())


def test_a_guard_that_is_counted_for_each_branch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault."""

    monkeypatch.setattr(flow, "merged", lambda _, branches: Merging(branches[-1].desired))
    with pytest.raises(AssertionError, match="the merge is otherwise"):
        check_found_before_the_merge(*archived_together())


def test_a_branch_that_is_read_as_the_reverse_of_what_it_lacks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: what a branch began with is forgotten, so that all it has counts as its wish."""

    def forgetting(desired: Desired, branches: Sequence[Branch]) -> Merging:
        return merged(desired, [Branch(each.ref, each.desired, None) for each in branches])

    monkeypatch.setattr(flow, "merged", forgetting)
    with pytest.raises(AssertionError, match="wishes that contradict"):
        check_found_before_the_merge(*oversold_together())


def test_each_branch_is_planned_once_and_all_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []

    def counted(at: Session) -> Judged:
        planned.append(len(at.desired.entries))
        return judged(at)

    monkeypatch.setattr(flow, "judged", counted)
    was = [offered(acme=1)]
    others = [branch(f"b{n}", [*was, offered(f"n{n}")], was) for n in range(5)]
    found(ControlPlane(), wish(was), *others)
    assert planned == [2] * 5 + [6]


def test_it_says_what_each_branch_does_alone_and_whether_that_is_blocked() -> None:
    case = Case()
    for key in "abc":
        case.pool(key, acme=8)
    was = [offered(key, acme=8) for key in "abc"]
    more = branch("more", [*was, offered("n", acme=1), offered("m", acme=1)], was)
    less = branch("less", [tombstone("a"), tombstone("b"), was[2]], was)
    made = found(case, wish(was), more, branch("same", was, was), less)
    alone = {part.ref: (dict(part.actions), part.blocked) for part in made.branches}
    assert alone == {
        "less": ({"archive": 2}, True),
        "more": ({"create": 2, "offer": 2}, False),
        "same": ({}, False),
    }
    assert (told(made), made.blocked) == ([], False)


def test_what_a_branch_does_alone_is_counted_from_the_base() -> None:
    """A branch that was left behind lacks what was merged and applied since, and does not take it back."""
    case = Case()
    case.pool("a", acme=1, globex=1)
    main = wish([offered("a", acme=1, globex=1)])
    behind = branch("x", [offered("a", acme=2)], [offered("a", acme=1)])
    at = session(case, main)
    based = replace(at, asked=replace(at.asked, base=Base("main", None, main)))
    for each, actions in ((at, {"offer": 1, "unoffer": 1}), (based, {"offer": 1})):
        (part,) = flow.together(each, judged(each), Branches({}, (behind,))).branches
        assert part.actions == actions


def test_a_branch_of_another_fleet_is_not_planned() -> None:
    was = [offered(acme=1)]
    assert found(ControlPlane(), wish(was), branch("x", was, was, fleet="else")).branches == ()


def test_the_last_events_of_a_pool_that_several_leave_out_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    was, prefix = [offered(f"fra1-{key}", acme=1) for key in "abc"], {"keyPrefix": "fra1-"}
    live = ControlPlane()
    live.run(live.plan(wish(was, **prefix)))
    at = session(live, wish(was, **prefix))
    ids = {each.key: each.pool_id for each in at.desired.entries.values()}
    asked: list[set[str]] = []
    told: list[set[str]] = []

    def reading(pool_ids: Collection[str], _after: int) -> History:
        asked.append(set(pool_ids))
        return History({(pool_id, None): changed(pool_id) for pool_id in pool_ids})

    def told_to(at: Session) -> Judged:
        made = judged(at)
        told.append({problem.path for problem in made.plan.findings if problem.rule == "fleet.other"})
        return made

    monkeypatch.setattr(flow, "judged", told_to)
    others = branch("x", was[1:], was, **prefix), branch("y", [was[0], was[2]], was, **prefix)
    flow.together(replace(at, read_history=reading), judged(at), Branches({}, others))
    assert asked == [{ids["fra1-a"]}, {ids["fra1-b"]}]
    assert told == [{"fra1-a"}, {"fra1-b"}, {"fra1-a", "fra1-b"}]


def test_a_pool_that_another_fleet_took_over_meanwhile_is_kept_for_branches_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    was, prefix = [offered(f"fra1-{key}", acme=1) for key in "ab"], {"keyPrefix": "fra1-"}
    live = ControlPlane()
    live.run(live.plan(wish(was, **prefix)))
    at = session(live, wish(was, **prefix))
    kept: list[set[str]] = []

    def reading(pool_ids: Collection[str], _after: int) -> History:
        return History({}, {(pool_id, None): changed(pool_id) for pool_id in pool_ids})

    def told_to(at: Session) -> Judged:
        made = judged(at)
        kept.append({problem.path for problem in made.plan.findings if problem.rule == "fleet.other"})
        return made

    monkeypatch.setattr(flow, "judged", told_to)
    others = Branches({}, (branch("x", was[1:], was, **prefix),))
    flow.together(replace(at, read_history=reading), judged(at), others)
    assert kept == [{"fra1-a"}, {"fra1-a"}]


def changed(pool_id: str) -> LastEvent:
    """The last event of a pool that another fleet keeps by now."""
    via = {"fleet": "else"}
    return LastEvent(type="pool.updated", subject=(pool_id, None), actor_id="sa", time=0, sequence=1, via=via)


def test_the_order_of_branches_tells_the_same_of_what_they_all_wish() -> None:
    case, main, sides = oversold_together()
    own, *others = sides
    refs = [branch(f"b{n}", files, main) for n, files in enumerate(others)]
    messages = {
        tuple((j.problem, frozenset(party.ref for party in j.parties)) for j in found(case, wish(own), *order).found)
        for order in permutations(refs)
    }
    assert len(messages) == 1
