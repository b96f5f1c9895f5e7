"""Desired against live state: what counts as a difference, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.commands import ArchivePool, OfferPool, SetQuota
from better_compute.domain.policy.canonical import canonical_bytes
from better_compute.domain.state import Terms
from fleetctl.diff import ABSENT, Change, Diff, compare, offer_changes, policy_changes
from fleetctl.identity import settle
from tests.better_compute.domain.policy.strategies import law, policies
from tests.model import ControlPlane, desired, entry, fleet
from tests.timing import times_as_long

LIST = [{"kind": "diag.nvml"}, {"kind": "burn.gemm"}]


def leaves(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    return {change.path: (change.before, change.after) for change in policy_changes(before, after)}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({}, {}, {}),
        ({}, {"a": 1}, {"policy.a": (ABSENT, 1)}),
        ({"a": 1}, {}, {"policy.a": (1, ABSENT)}),
        ({"a": None}, {}, {"policy.a": (None, ABSENT)}),
        ({"a": None}, {"a": 0}, {"policy.a": (None, 0)}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"policy.a.c": (2, 3)}),
        ({"a": {"b": 1}}, {"a": 1}, {"policy.a": ({"b": 1}, 1)}),
        ({"a": {"b": 1}}, {"a": {}}, {"policy.a.b": (1, ABSENT)}),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"policy.a": ([1, 2], [2, 1])}),
        ({"a": [1, [2]]}, {"a": [1, [3]]}, {"policy.a": ([1, [2]], [1, [3]])}),
        ({"a": 1}, {"a": True}, {"policy.a": (1, True)}),
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": [1]}, {"a": [True]}, {"policy.a": ([1], [True])}),
        (
            {"a": [0, "x"], "b": 1},
            {"a": [False, "x"], "b": 2},
            {"policy.a": ([0, "x"], [False, "x"]), "policy.b": (1, 2)},
        ),
        ({"__a": 1}, {"__a": 2}, {"policy.__a": (1, 2)}),
        ({"a": {"__b": {"c": 1}}}, {"a": {"__b": {"c": 2}}}, {"policy.a.__b.c": (1, 2)}),
        ({"a": "1"}, {"a": 1}, {"policy.a": ("1", 1)}),
        ({"maxPending": "6h"}, {"maxPending": "360m"}, {}),
        ({"maxPending": "6h"}, {"maxPending": "361m"}, {"policy.maxPending": ("6h", "361m")}),
        ({"acceptance": LIST}, {"acceptance": LIST[::-1]}, {"policy.acceptance": (LIST, LIST[::-1])}),
        ({"joinAttestors": ["b", "a"]}, {"joinAttestors": ["a", "b", "b"]}, {}),
        ({"overcommit": 100}, {"overcommit": 1000}, {}),
        ({"a.b": 1}, {"a.b": 2}, {"policy.a.b": (1, 2)}),
        ({"a": 1, "b": {"c": [1]}}, {"a": 2, "b": {"c": [2]}}, {"policy.a": (1, 2), "policy.b.c": ([1], [2])}),
    ],
)
def test_policies_differ_in_leaves_as_people_wrote_them(
    before: Any, after: Any, found: dict[str, tuple[Any, Any]]
) -> None:
    changes = leaves(before, after)
    assert changes == found
    # Python takes 1 for True; a difference must not.
    assert [type(value) for pair in changes.values() for value in pair] == [
        type(value) for pair in found.values() for value in pair
    ]


@law
@given(policies, policies)
def test_policies_differ_exactly_when_their_canonical_forms_do(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert bool(policy_changes(one, other)) == (canonical_bytes(one) != canonical_bytes(other))
    assert {c.path: (c.after, c.before) for c in policy_changes(one, other)} == leaves(other, one)


def test_long_lists_are_told_apart_in_one_pass() -> None:
    def prepared(size: int) -> Callable[[], object]:
        one, other = [n % 3 for n in range(size)], [n % 7 for n in range(size)]
        assert leaves({"a": one}, {"a": other}) == {"policy.a": (one, other)}
        return lambda: leaves({"a": one}, {"a": other})

    assert times_as_long(prepared, 2_000, 16_000) < 24, "the square would be 64 times as long"


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        (None, Terms({"gpu": 8}), ["quota.gpu"]),
        (Terms({"gpu": 8}), None, ["quota.gpu"]),
        (Terms({"gpu": 8}), Terms({"gpu": 8}), []),
        (Terms({"gpu": 8, "vcpu": 0}), Terms({"gpu": 8}), []),
        (Terms({}), Terms({"gpu": 0}), []),
        (None, Terms({"gpu": 0}), []),
        (Terms({"gpu": 8}, 1), Terms({"gpu": 9}, 2, True), ["quota.gpu", "priority", "includeDescendants"]),
    ],
)
def test_offers_differ_in_rows_priority_and_reach(before: Terms | None, after: Terms | None, paths: list[str]) -> None:
    assert [change.path for change in offer_changes(before, after)] == paths


def test_nothing_and_zero_are_shown_as_they_are() -> None:
    before, after = Terms({"gpu": 8, "vcpu": 4}), Terms({"gpu": 0})
    assert offer_changes(before, after) == (Change(("quota", "gpu"), 8, 0), Change(("quota", "vcpu"), 4, ABSENT))
    assert ABSENT is not None
    assert repr(ABSENT) == "ABSENT"


# Whole fleets.


def offered(key: str, **tenants: int) -> dict[str, Any]:
    return entry(key, offers=[{"toTenantId": tenant, "quota": {"gpu": gpus}} for tenant, gpus in tenants.items()])


def plane(*pools: dict[str, Any], **root: Any) -> ControlPlane:
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(*pools, **root))))
    return plane


def diff(plane: ControlPlane, *pools: dict[str, Any], **root: Any) -> Diff:
    live = plane.live().pools
    return compare(settle(desired(fleet(*pools, **root)), live), live)


def only_id(plane: ControlPlane) -> str:
    [pool_id] = plane.pools
    return pool_id


def test_what_is_as_wished_is_not_in_the_diff() -> None:
    found = diff(plane(offered("a", acme=8), offered("b", globex=8)), offered("a", acme=8), offered("b", globex=9))
    assert [pool.entry.key for pool in found.pools] == ["b"]
    assert (found.removed, found.foreign, found.gone) == ((), (), ())


def test_pools_come_in_the_order_of_their_ids_whatever_the_files_order() -> None:
    pools = [offered(f"k{n}", acme=8) for n in range(9)]
    ids = [pool.entry.pool_id for pool in diff(ControlPlane(), *pools).pools]
    assert ids == sorted(ids)
    assert ids == [pool.entry.pool_id for pool in diff(ControlPlane(), *pools[::-1]).pools]


def test_an_unborn_pool_has_all_its_offers() -> None:
    [found] = diff(ControlPlane(), offered("a", acme=8, globex=0)).pools
    assert (found.live, [offer.tenant_id for offer in found.offers]) == (None, ["acme", "globex"])


def test_offers_are_new_changed_or_to_go() -> None:
    [found] = diff(plane(offered("a", acme=8, globex=8)), offered("a", acme=9, initech=1)).pools
    assert {o.tenant_id: (o.before is None, o.after is None) for o in found.offers} == {
        "acme": (False, False),
        "globex": (False, True),
        "initech": (True, False),
    }


def test_an_offer_without_rows_is_an_offer() -> None:
    """Whether there is one matters, also where it grants nothing."""
    nothing = entry("a", offers=[{"toTenantId": "acme", "quota": {"gpu": 0}}])
    [found] = diff(plane(entry("a", offers=[])), nothing).pools
    assert [(o.tenant_id, o.changes) for o in found.offers] == [("acme", ())]
    [found] = diff(plane(nothing), entry("a", offers=[])).pools
    assert [(o.tenant_id, o.after) for o in found.offers] == [("acme", None)]


def test_the_owners_rows_are_compared_once_they_are_written() -> None:
    live = plane(entry("a", offers=[]))
    live.do(SetQuota(tenant_id="root", pool_id=only_id(live), to_tenant_id="root", quota={"gpu": 5, "vcpu": 1}))
    assert diff(live, entry("a", offers=[])).pools == ()
    [found] = diff(live, entry("a", offers=[], ownerQuota={"gpu": 6})).pools
    assert found.owner_quota == (Change(("ownerQuota", "gpu"), 5, 6), Change(("ownerQuota", "vcpu"), 1, ABSENT))


def test_offers_that_nobody_states_block_where_there_are_any() -> None:
    live = plane(entry("a"))
    assert diff(live, entry("a")).pools == ()
    live.do(OfferPool(tenant_id="root", pool_id=only_id(live), to_tenant_id="acme", quota={}))
    [found] = diff(live, entry("a")).pools
    assert [problem.rule for problem in found.problems] == ["fleet.offersUnstated"]
    assert "offered to acme" in found.problems[0].message
    assert diff(live, entry("a", offers="unmanaged")).pools == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [("siteId", "site_ams1"), ("class", "vps-host"), ("sharing", "mig"), ("agent", "none")],
)
def test_what_is_for_life_is_a_problem_and_no_change(field: str, value: str) -> None:
    [found] = diff(plane(entry("a", offers=[])), entry("a", offers=[], **{field: value})).pools
    assert [(p.rule, p.path, p.code) for p in found.problems] == [("pool.key", field, "CONFLICT")]
    assert (found.changes, found.offers) == ((), ())


def test_what_is_for_life_and_not_set_reads_so() -> None:
    provider = {"class": "provider", "agent": "none", "providerAccountId": "pa_north"}
    [found] = diff(plane(entry("a")), entry("a", **provider)).pools
    assert [p.message for p in found.problems if p.path == "providerAccountId"] == [
        "providerAccountId of a is not set for life and cannot become pa_north"
    ]


def test_what_is_nearly_what_is_for_life_is_asked_about_before_anything_is_to_be_archived() -> None:
    live = plane(entry("a", sharing="exclusive"))
    (slip,) = diff(live, entry("a", sharing="exclusiv")).pools[0].problems
    (other,) = diff(live, entry("a", sharing="mps")).pools[0].problems
    assert slip.hint.startswith('did you mean "exclusive"? If not, write the entry under a new key')
    assert other.hint == "keep it, or write the entry under a new key, with `replaces: a`"


def test_an_archived_pool_is_not_revived() -> None:
    live = plane(entry("a", offers=[]))
    live.do(ArchivePool(tenant_id="root", pool_id=only_id(live)))
    [found] = diff(live, entry("a", offers=[])).pools
    assert [(p.rule, p.code) for p in found.problems] == [("pool.key", "INVALID_STATE")]
    assert diff(live, {"idempotencyKey": "a", "archived": True}).pools == ()


def test_a_tombstone_archives_a_live_pool_and_is_noted_where_there_was_none() -> None:
    tombstones = [{"idempotencyKey": key, "archived": True} for key in ("a", "never")]
    found = diff(plane(entry("a", offers=[])), *tombstones)
    assert [(pool.entry.key, pool.archives) for pool in found.pools] == [("a", "tombstone")]
    assert [gone.key for gone in found.gone] == ["never"]


def test_an_adopted_pool_is_never_created() -> None:
    [found] = diff(ControlPlane(), entry("a", id="pool_made-by-hand", offers=[])).pools
    assert [(p.rule, p.code) for p in found.problems] == [("fleet.adopt", "NOT_FOUND")]


@pytest.mark.parametrize(
    ("root", "removed", "foreign"),
    [
        ({"keyPrefix": "fra1-"}, ["fra1-b"], 1),
        ({}, [], 2),
        ({"keyPrefix": "fra1-", "caller": "sa_other"}, [], 3),
    ],
)
def test_a_pool_without_an_entry_is_removed_or_somebody_elses(
    root: dict[str, Any], removed: list[str], foreign: int
) -> None:
    live = plane(*(entry(key, offers=[]) for key in ("fra1-a", "fra1-b", "ams1-c")))
    found = diff(live, entry("fra1-a", offers=[]), **root)
    assert [one.pool.idempotency_key for one in found.removed] == removed
    assert len(found.foreign) == foreign


def test_archived_pools_without_an_entry_are_nobodys() -> None:
    live = plane(entry("fra1-a", offers=[]), entry("fra1-b", offers=[]))
    for pool_id in list(live.pools):
        live.do(ArchivePool(tenant_id="root", pool_id=pool_id))
    found = diff(live, entry("fra1-c", offers=[]), keyPrefix="fra1-")
    assert (found.removed, found.foreign) == ((), ())


@given(st.integers(0, 2147483647), st.integers(0, 2147483647))
def test_limits_differ_when_they_are_not_equal(one: int, other: int) -> None:
    assert bool(offer_changes(Terms({"gpu": one}), Terms({"gpu": other}))) == (one != other)
