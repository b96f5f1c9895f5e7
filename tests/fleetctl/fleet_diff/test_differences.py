"""Two fleets compared: what differs by meaning, and nothing that does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.desired import Desired
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.load import assemble, load
from fleetctl.diff import ABSENT, Change
from fleetctl.fleet_diff import Differences, compare
from tests.fleets import Fleet, fleets, write
from tests.reading import documents

POOL = {
    "idempotencyKey": "fra1-a",
    "siteId": "site_fra1",
    "class": "metal-host",
    "gpuModel": "H100",
    "policy": {"maxPending": "6h"},
    "offers": [{"toTenantId": "acme", "quota": {"gpu": 8, "vcpu": 0}, "priority": 3}],
}
CHECK = {"name": "c", "severity": "deny", "each": "pool", "expr": "true", "message": "always"}
HEAD: dict[str, Any] = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "fleet": "f"}


def a_fleet(*pools: dict[str, Any], **root: Any) -> Desired:
    return assemble(documents(json.dumps(HEAD | root | {"pools": [*pools]})), Path())


def pool(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in (POOL | fields).items() if value is not ABSENT}


def offer(**fields: Any) -> list[dict[str, Any]]:
    return [{"toTenantId": "acme", "quota": {"gpu": 8}, "priority": 3} | fields]


def of_pool(**fields: Any) -> list[Change]:
    """What differs when these fields of the pool do."""
    (found,) = compare(a_fleet(pool()), a_fleet(pool(**fields))).pools
    return [*found.changes, *(change for each in found.offers for change in each.changes)]


def limits(before: Desired, after: Desired) -> dict[str, str]:
    return {limit.change.path: limit.direction for limit in compare(before, after).limits}


@pytest.mark.parametrize(
    "same",
    [
        pool(policy={"maxPending": "360m"}),
        pool(offers=offer(quota={"gpu": 8})),
        pool(sharing="exclusive", agent="bcd"),
        pool(offers=offer(includeDescendants=False)),
    ],
)
def test_what_means_the_same_is_no_difference(same: dict[str, Any]) -> None:
    found = compare(a_fleet(pool()), a_fleet(same))
    assert not found
    assert found.unchanged == 1


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"gpuModel": "H200"}, Change(("gpuModel",), "H100", "H200")),
        ({"siteId": "site_ams1"}, Change(("siteId",), "site_fra1", "site_ams1")),
        ({"policy": {"maxPending": "7h"}}, Change(("policy", "maxPending"), "6h", "7h")),
        ({"policy": {}}, Change(("policy", "maxPending"), "6h", ABSENT)),
        ({"offers": offer(quota={"gpu": 4})}, Change(("quota", "gpu"), 8, 4)),
        ({"offers": offer(priority=0)}, Change(("priority",), 3, 0)),
        ({"ownerQuota": {"gpu": 4}}, Change(("ownerQuota",), ABSENT, {"gpu": 4})),
        ({"archived": True, "offers": ABSENT}, Change(("archived",), ABSENT, True)),
        ({"protect": True}, Change(("protect",), ABSENT, True)),
        ({"offers": "unmanaged"}, Change(("offers",), "stated", "unmanaged")),
        ({"offers": ABSENT}, Change(("offers",), "stated", "unstated")),
        ({"id": "pool_other"}, Change(("id",), ABSENT, "pool_other")),
    ],
)
def test_a_field_that_differs_is_named_with_both_sides(fields: dict[str, Any], change: Change) -> None:
    assert change in of_pool(**fields)


@pytest.mark.parametrize("end", ["archived", "released"])
def test_a_pool_that_ends_is_told_to_and_what_it_was_goes_unsaid(end: str) -> None:
    stated = a_fleet(pool(ownerQuota={"gpu": 4}, replaces="fra1-old"))
    ended = a_fleet({"idempotencyKey": POOL["idempotencyKey"], end: True})
    (found,) = compare(stated, ended).pools
    assert [(each.path, each.before, each.after) for each in found.changes] == [(end, ABSENT, True)]
    assert (found.kind, found.offers) == ("changed", ())
    (back,) = compare(ended, stated).pools
    assert "gpuModel" in {each.path for each in back.changes}, "what comes is told whole"


def test_a_tombstone_that_says_less_than_before_is_told_whole() -> None:
    spelt = a_fleet(pool(archived=True, offers=ABSENT))
    (found,) = compare(spelt, a_fleet({"idempotencyKey": POOL["idempotencyKey"], "archived": True})).pools
    assert "gpuModel" in {each.path for each in found.changes}


def test_an_owner_quota_is_compared_by_row_and_one_of_0_is_none() -> None:
    old, new = pool(ownerQuota={"gpu": 8, "vcpu": 0}), pool(ownerQuota={"gpu": 4})
    (found,) = compare(a_fleet(old), a_fleet(new)).pools
    assert found.changes == (Change(("ownerQuota", "gpu"), 8, 4),)


def test_pools_come_and_go_in_the_order_of_their_keys() -> None:
    old, new = a_fleet(pool(), pool(idempotencyKey="fra1-c")), a_fleet(pool(), pool(idempotencyKey="fra1-b"))
    found = compare(old, new)
    assert [(each.entry.key, each.kind) for each in found.pools] == [("fra1-b", "added"), ("fra1-c", "removed")]
    assert found.unchanged == 1
    added, removed = found.pools
    assert Change(("gpuModel",), ABSENT, "H100") in added.changes
    assert Change(("gpuModel",), "H100", ABSENT) in removed.changes
    (one,) = added.offers
    assert (one.tenant_id, one.kind) == ("acme", "added")
    assert one.changes == (Change(("quota", "gpu"), ABSENT, 8), Change(("priority",), ABSENT, 3))


def test_offers_come_and_go() -> None:
    (found,) = compare(a_fleet(pool()), a_fleet(pool(offers=offer(toTenantId="globex")))).pools
    assert [(each.tenant_id, each.kind) for each in found.offers] == [("acme", "removed"), ("globex", "added")]


def test_a_renamed_entry_is_one_pool() -> None:
    renamed = pool(idempotencyKey="fra1-new", previously="fra1-a")
    (found,) = compare(a_fleet(pool()), a_fleet(renamed)).pools
    assert found.kind == "changed"
    assert Change(("idempotencyKey",), "fra1-a", "fra1-new") in found.changes


def test_another_caller_makes_other_pools_of_the_same_keys_and_that_is_one_field() -> None:
    found = compare(a_fleet(pool()), a_fleet(pool(), caller="sa_new", previousCallers=["sa_fleet"]))
    assert [change.path for change in found.fields] == ["caller", "previousCallers"]
    assert (found.pools, found.unchanged) == ((), 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fleet", "g"),
        ("server", "https://compute.example.com"),
        ("server", {"embedded": "a.db"}),
        ("keyPrefix", "fra1-"),
        ("expected", [{"key": "fra1-a", "reason": "known"}]),
    ],
)
def test_a_field_of_the_fleet_that_differs_is_named(field: str, value: Any) -> None:
    found = compare(a_fleet(pool()), a_fleet(pool(), **{field: value}))
    assert [change.path for change in found.fields] == [field]
    assert not found.pools


def test_prices_differ_by_model() -> None:
    found = compare(a_fleet(pool(), prices={"H100": 2, "H200": 3}), a_fleet(pool(), prices={"H100": 2.0, "H200": 4}))
    assert found.fields == (Change(("prices", "H200"), 3, 4),)


@pytest.mark.parametrize(
    ("guards", "direction"),
    [
        ({"maxArchives": 5}, "looser"),
        ({"maxArchives": 0}, "tighter"),
        ({"maxArchivePercent": 50}, "looser"),
        ({"maxOversell": 2}, "tighter"),
        ({"allowBelowUse": True}, "looser"),
        ({"protect": ["fra1-a"]}, "tighter"),
        ({"freeze": [{"from": "2026-12-20T00:00Z", "to": "2027-01-02T00:00Z", "reason": "rest"}]}, "tighter"),
    ],
)
def test_a_guard_that_differs_guards_more_or_less(guards: dict[str, Any], direction: str) -> None:
    plain, guarded = a_fleet(pool()), a_fleet(pool(), guards=guards)
    opposite = {"looser": "tighter", "tighter": "looser"}[direction]
    (name,) = guards
    assert limits(plain, guarded) == {f"guards.{name}": direction}
    assert limits(guarded, plain) == {f"guards.{name}": opposite}


def test_one_protected_pool_for_another_guards_less() -> None:
    before, after = a_fleet(pool(), guards={"protect": ["fra1-a"]}), a_fleet(pool(), guards={"protect": ["fra1-b"]})
    assert limits(before, after) == {"guards.protect": "looser"}


def test_a_pool_that_is_protected_no_more_counts_as_less_guarded() -> None:
    assert compare(a_fleet(pool(protect=True)), a_fleet(pool())).looser == 1
    assert compare(a_fleet(pool()), a_fleet(pool(protect=True))).looser == 0


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], [CHECK], {"checks.c": "tighter"}),
        ([CHECK], [], {"checks.c": "looser"}),
        ([CHECK], [CHECK | {"severity": "warn"}], {"checks.c.severity": "looser"}),
        ([CHECK | {"severity": "warn"}], [CHECK], {"checks.c.severity": "tighter"}),
        ([CHECK], [CHECK | {"expr": "1 == 1"}], {"checks.c.expr": "other"}),
    ],
)
def test_a_check_that_differs_is_told(before: Any, after: Any, told: dict[str, str]) -> None:
    assert limits(a_fleet(pool(), checks=before), a_fleet(pool(), checks=after)) == told


def test_a_fleet_that_may_be_empty_guards_less() -> None:
    assert limits(a_fleet(pool()), a_fleet(pool(), allowEmpty=True)) == {"allowEmpty": "looser"}


@given(fleets(), st.randoms(use_true_random=False))
def test_a_fleet_written_in_two_ways_has_no_difference(fleet: Fleet, random: Random) -> None:
    with TemporaryDirectory() as name:
        for side in ("a", "b"):
            write(fleet, Path(name, side), random)
        assert not compare(load(Path(name, "a")), load(Path(name, "b")))


@given(fleets(), fleets(), st.sampled_from((lambda a, b: (a, b), lambda a, b: (b, a))))
def test_there_is_a_difference_where_the_inputs_of_a_plan_differ(
    one: Fleet, other: Fleet, turned: Callable[[Any, Any], tuple[Any, Any]]
) -> None:
    before, after = turned(*(assemble(documents(json.dumps(fleet.documents()[0])), Path()) for fleet in (one, other)))
    found: Differences = compare(before, after)
    assert bool(found) == (canonical_inputs(before) != canonical_inputs(after) or before.server != after.server)
    both = len(before.entries) + len(after.entries)
    assert max(len(before.entries), len(after.entries)) <= found.unchanged + len(found.pools) <= both
