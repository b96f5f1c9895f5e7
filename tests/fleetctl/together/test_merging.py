"""What each branch changed, put together: a branch that lacks the change of another does not wish it back."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.state import Terms
from fleetctl.desired.inputs import terms_json
from fleetctl.diff import ABSENT
from fleetctl.paths import spelled
from fleetctl.together import fields
from fleetctl.together.branch import Branch
from fleetctl.together.merging import Merging, merged
from tests.fleetctl.guards.case import pool_id, tombstone
from tests.fleetctl.together.sides import branch, offered, wish

Entries = list[dict[str, Any]]


def quotas(merging: Merging, key: str = "a") -> dict[str, int]:
    offers = merging.desired.entries[pool_id(key)].offers
    return {tenant: terms.quota["gpu"] for tenant, terms in offers.items()}


def clashes(merging: Merging) -> dict[str, list[tuple[str | None, Any]]]:
    """Who wishes what, by the key and path of what they wish it of."""
    return {
        f"{clash.entry.key} {spelled(clash.path)}".rstrip(): [(one.ref, one.value) for one in clash.wishes]
        for clash in merging.clashes.values()
        if not clash.twice
    }


def test_changes_of_several_branches_come_together() -> None:
    was = [offered(acme=1, globex=1, initech=1)]
    made = merged(
        wish([offered(acme=8, globex=1, initech=1)]),
        [
            branch("x", [offered(acme=1, globex=8, initech=1)], was),
            branch("y", [offered(acme=1, globex=1), offered("b", acme=2)], was),
        ],
    )
    assert quotas(made) == {"acme": 8, "globex": 8}
    assert quotas(made, "b") == {"acme": 2}
    assert not made.clashes


def test_a_branch_that_lacks_a_change_does_not_take_it_back() -> None:
    was = [offered(acme=1), offered("gone", acme=1)]
    made = merged(wish([offered(acme=8), offered("new", acme=1)]), [branch("behind", was, was)])
    assert {entry.key for entry in made.desired.entries.values()} == {"a", "new"}
    assert quotas(made) == {"acme": 8}


def test_a_branch_that_is_ahead_brings_what_it_has_of_others() -> None:
    made = merged(wish([offered(acme=1)]), [branch("ahead", [offered(acme=8), offered("b")], [offered(acme=1)])])
    assert quotas(made) == {"acme": 8}
    assert len(made.desired.entries) == 2


def test_different_wishes_of_a_field_clash_and_the_first_one_stays() -> None:
    was = [offered(acme=1, policy={"maxPending": "1h", "x": {"y": 1}})]
    made = merged(
        wish([offered(acme=2, policy={"maxPending": "2h", "x": {"y": 1}})]),
        [
            branch("x", [offered(acme=3, policy={"maxPending": "1h", "x": {"y": 2}})], was),
            branch("y", [offered(acme=2, policy={"maxPending": "3h", "x": {}})], was),
        ],
    )
    assert clashes(made) == {
        "a offers[acme].quota.gpu": [(None, 2), ("x", 3)],
        "a policy.maxPending": [(None, "7200s"), ("y", "10800s")],
        "a policy.x.y": [("x", 2), ("y", ABSENT)],
    }
    assert quotas(made) == {"acme": 2}
    sources = [one.source for clash in made.clashes.values() for one in clash.wishes]
    assert {source.file for source in sources if source} == {"fleet.yaml", "x:./fleet.yaml", "y:./fleet.yaml"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"policy": {"maxPending": "6h"}}, {"policy": {"maxPending": "360m"}}),
        ({"policy": {"overcommit": 2}}, {"policy": {"overcommit": 2.0}}),
        ({"ownerQuota": {"gpu": 1}}, {"ownerQuota": {"gpu": 1, "vcpu": 0}}),
        ({"protect": True}, {"protect": True}),
    ],
)
def test_the_same_change_in_both_is_no_clash_however_it_is_written(one: dict[str, Any], other: dict[str, Any]) -> None:
    made = merged(wish([offered(**one)]), [branch("x", [offered(**other)], [offered()])])
    assert not made.clashes


@pytest.mark.parametrize(
    ("own", "other", "told"),
    [
        ([offered(acme=2)], [], [(None, "changed"), ("x", "removed")]),
        ([], [offered(acme=2)], [(None, "removed"), ("x", "changed")]),
        ([offered(acme=2)], [tombstone("a")], [(None, "changed"), ("x", "archived")]),
        ([{"idempotencyKey": "a", "released": True}], [tombstone("a")], [(None, "released"), ("x", "archived")]),
    ],
)
def test_what_one_takes_away_and_another_changes_clashes(own: Entries, other: Entries, told: Any) -> None:
    made = merged(wish(own), [branch("x", other, [offered(acme=1)])])
    assert clashes(made) == {"a": told}


def test_an_offer_that_one_withdraws_and_another_changes_clashes() -> None:
    made = merged(wish([offered(acme=2)]), [branch("x", [offered()], [offered(acme=1)])])
    assert [*clashes(made)] == ["a offers[acme]"]


def test_what_is_taken_away_in_one_and_left_as_it_is_in_another_goes() -> None:
    was = [offered(acme=1), offered("b")]
    made = merged(wish(was), [branch("x", [offered("b")], was)])
    assert [entry.key for entry in made.desired.entries.values()] == ["b"]


def test_a_pool_that_two_create_alike_is_no_clash_and_otherwise_it_is() -> None:
    own: Entries = [offered(acme=1)]
    assert not merged(wish(own), [branch("x", [offered(acme=1)], [])]).clashes
    made = merged(wish(own), [branch("x", [offered(globex=1, gpuModel="H200")], [])])
    assert clashes(made) == {"a gpuModel": [(None, "H100"), ("x", "H200")]}
    assert quotas(made) == {"acme": 1, "globex": 1}


def test_what_two_write_in_two_files_would_stand_there_twice() -> None:
    one, other = {"one.yaml": {"pools": [offered()]}}, {"other.yaml": {"pools": [offered()]}}
    (clash,) = merged(wish(one), [branch("x", other, {"none.yaml": {}})]).clashes.values()
    assert (clash.twice, clash.path) == (True, ())
    assert [one.source and one.source.file for one in clash.wishes] == ["one.yaml", "x:./other.yaml"]


def test_an_offer_that_two_write_in_two_files_would_stand_there_twice() -> None:
    offer = {"offers": [{"pool": "a", "toTenantId": "acme", "quota": {"gpu": 1}}]}
    was = {"fleet.yaml": {"pools": [offered("a")]}} | {"z.yaml": {}}
    pool = {"fleet.yaml": {"pools": [{**offered("a")}]}}
    del pool["fleet.yaml"]["pools"][0]["offers"]
    (clash,) = merged(
        wish({**pool, "one.yaml": offer}), [branch("x", {**pool, "two.yaml": offer}, was)]
    ).clashes.values()
    assert (clash.twice, clash.path) == (True, ("offers", "acme"))
    assert [one.ref for one in clash.wishes] == [None, "x"]


def test_of_wishes_that_clash_there_is_what_was_where_that_is_asked_for() -> None:
    """The base of a merge that git makes itself: neither of two is in it."""
    was = [offered(acme=1, globex=1), offered("gone", acme=1)]
    own = [offered(acme=2, globex=5), offered("gone", acme=7), offered("new", acme=3)]
    made = Merging(wish(own), as_it_was=True)
    made.take(branch("x", [offered(acme=3, globex=1), offered("new", acme=4)], was))
    assert quotas(made) == {"acme": 1, "globex": 5}
    assert (quotas(made, "gone"), quotas(made, "new")) == ({"acme": 1}, {"acme": 3})


def test_the_stricter_of_guards_that_branches_changed_holds_and_none_that_they_merely_have() -> None:
    was: Entries = [offered()]

    def guarded(ref: str, **guards: Any) -> Branch:
        made = branch(ref, was, was)
        return Branch(ref, wish(was, ref, guards={"maxArchives": 1, "protect": ["a"], **guards}), made.left)

    own = wish(was, guards={"maxArchives": 5, "protect": []})
    old = wish(was, guards={"maxArchives": 1, "protect": ["a"]})
    behind = Branch("x", guarded("x").desired, old)
    assert merged(own, [behind]).desired.guards == own.guards
    stricter = Branch("y", guarded("y", maxArchives=0, protect=["a", "b"]).desired, old)
    guards = merged(own, [behind, stricter]).desired.guards
    assert (guards.max_archives, sorted(guards.protect)) == (0, ["b"])
    looser = Branch("z", guarded("z", maxArchives=9).desired, old)
    assert merged(own, [looser]).desired.guards == own.guards


def test_checks_that_branches_added_hold_and_none_that_they_merely_have() -> None:
    check = {"name": "c", "severity": "deny", "expr": "true", "message": "m"}
    with_check, without = wish([offered()], "x", checks=[check]), wish([offered()])
    assert not merged(without, [Branch("x", with_check, with_check)]).desired.checks
    assert [each.name for each in merged(without, [Branch("x", with_check, without)]).desired.checks] == ["c"]


def test_a_branch_without_a_fleet_takes_away_what_it_began_with() -> None:
    was = wish([offered(acme=1)])
    assert not merged(was, [Branch("x", None, was)]).desired.entries
    assert merged(was, [Branch("x", None, None)]).desired == was


def test_what_one_renames_and_others_change_is_one_pool() -> None:
    was = [offered("a", acme=1, globex=1)]
    renamed, changed = [offered("b", acme=1, globex=1, previously="a")], [offered("a", acme=1, globex=8)]
    also = branch("y", [offered("a", acme=4, globex=1)], was)
    for own, other in ((renamed, branch("x", changed, was)), (changed, branch("x", renamed, was))):
        made = merged(wish(own), [other, also])
        assert [entry.key for entry in made.desired.entries.values()] == ["b"]
        assert quotas(made, "b") == {"acme": 4, "globex": 8}
        assert made.desired.entries[pool_id("b")].pool_id == pool_id("b")
        assert not made.clashes


def test_wishes_of_a_pool_that_is_renamed_clash_with_those_who_have_it_under_the_old_key() -> None:
    was = [offered("a", acme=1)]
    renamed = branch("x", [offered("b", acme=4, previously="a")], was)
    made = merged(wish([offered("a", acme=8)]), [renamed, branch("y", [offered("a", acme=9)], was)])
    assert clashes(made) == {"a offers[acme].quota.gpu": [(None, 8), ("x", 4), ("y", 9)]}
    gone = merged(wish([tombstone("a")]), [renamed])
    assert clashes(gone) == {"a": [(None, "archived"), ("x", "changed")]}


def test_a_pool_with_a_new_key_that_names_no_old_one_is_another() -> None:
    was = [offered("a", acme=1)]
    made = merged(wish([offered("b", acme=1)]), [branch("x", [offered("a", acme=8)], was)])
    assert clashes(made) == {"a": [(None, "removed"), ("x", "changed")]}


def policed(*pools: dict[str, Any], hours: int = 12, **files: Any) -> Any:
    policies = {"standard": {"maxLeaseHours": hours}, "other": {"maxLeaseHours": 1}}
    return {"fleet.yaml": {"policies": policies}, "pools.yaml": {"pools": [*pools, offered("z")]}, **files}


USES = offered("a", acme=1, policyRef="standard")
GONE = offered("a", archived=True, policyRef="standard")


@pytest.mark.parametrize(
    ("entry", "archived", "hours"),
    [
        ([], None, None),
        ([GONE], True, 24),
        ([{**USES, "policy": {"maxLeaseHours": 6}}], False, 6),
        ([{**USES, "policyRef": "other"}], False, 1),
    ],
)
def test_what_shared_parts_make_of_an_entry_gives_way_to_what_another_one_says_of_it(
    entry: Entries, archived: bool | None, hours: int | None
) -> None:
    was, shared, itself = policed(USES), policed(USES, hours=24), policed(*entry)
    for own, other in ((shared, itself), (itself, shared)):
        made = merged(wish(own), [branch("x", other, was)])
        assert not made.clashes
        found = made.desired.entries.get(pool_id("a"))
        assert (found and found.archived) == archived
        assert (found and found.pool and found.pool.policy["maxLeaseHours"]) == hours


@pytest.mark.parametrize(
    "entry", [[], [GONE], [{**USES, "policy": {"maxLeaseHours": 6}}], [{**USES, "policyRef": "other"}]]
)
def test_what_two_say_of_the_entry_itself_clashes_whatever_shared_parts_make_of_it(entry: Entries) -> None:
    for own in ({**USES, "policy": {"maxLeaseHours": 7}}, {**USES, "policy": {"maxLeaseHours": 8}}):
        made = merged(wish(policed(own, hours=24)), [branch("x", policed(*entry), policed(USES))])
        assert len(clashes(made)) == 1


def test_what_several_branches_say_of_an_entry_clashes_though_shared_parts_came_between() -> None:
    was = policed(USES)
    own = policed({**USES, "policy": {"maxPending": "2h"}})
    between = branch("x", policed(USES, hours=24), was)
    other = branch("y", policed({**USES, "policy": {"maxPending": "3h"}}), was)
    assert clashes(merged(wish(own), [between, other])) == {"a policy.maxPending": [(None, "7200s"), ("y", "10800s")]}


def test_an_offer_that_shared_parts_change_goes_where_another_one_takes_it_away() -> None:
    was = {"fleet.yaml": {"defaults": {"offer": {"priority": 1}}, "pools": [offered(acme=1)]}}
    shared = {"fleet.yaml": {**was["fleet.yaml"], "defaults": {"offer": {"priority": 2}}}}
    gone = {"fleet.yaml": {**was["fleet.yaml"], "pools": [offered()]}}
    for own, other in ((shared, gone), (gone, shared)):
        made = merged(wish(own), [branch("x", other, was)])
        assert (made.clashes, quotas(made)) == ({}, {})


def test_a_template_that_one_changes_clashes_with_what_another_does_to_the_pools_it_makes() -> None:
    def template(hours: int, *keys: str) -> Entries:
        policy = {"maxLeaseHours": hours}
        return [{**offered("t-${n}", acme=1, policy=policy), "forEach": {"n": [*keys]}}, offered("z")]

    made = merged(wish(template(2, "1", "2")), [branch("x", template(1, "1"), template(1, "1", "2"))])
    assert clashes(made) == {"t-2": [(None, "changed"), ("x", "removed")]}


def test_of_many_offers_that_clash_each_is_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Terms] = []

    def counted(terms: Terms) -> dict[str, Any]:
        looked.append(terms)
        return terms_json(terms)

    monkeypatch.setattr(fields, "terms_json", counted)

    def looks(number: int) -> int:
        tenants: list[dict[str, Any]] = [{f"t{n}": gpus for n in range(number)} for gpus in (1, 2, 3)]
        was, ours, theirs = ([offered(**each)] for each in tenants)
        looked.clear()
        assert len(merged(wish(ours), [branch("x", theirs, was)]).clashes) == number
        return len(looked)

    assert looks(40) == 4 * looks(10)
