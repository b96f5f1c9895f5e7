"""The guard of oversell: of each pool, what tenants may book after the plan against what its machines make."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.atoms import UNLIMITED
from tests.fleetctl.guards.case import EVERYTHING, Case, entry, files, offers, pool_id, tombstone

HALF_MORE = {**EVERYTHING, "maxOversell": 1.5}
MIG: dict[str, Any] = {"gpu": {"mig": {"devices": {"3g.40gb": 2}}}}


@pytest.mark.parametrize(("gpus", "rules"), [(48, []), (49, [("guard.oversell", "oversell=1")])])
def test_as_much_as_the_limit_passes_and_one_more_does_not(gpus: int, rules: list[Any]) -> None:
    case = Case()
    case.pool("a", gpus=32, acme=16)
    assert case.blocked(files(entry("a", offers=offers(acme=16, globex=gpus - 16)), **HALF_MORE)) == rules


def test_a_decimal_number_is_what_it_says() -> None:
    """Its nearest binary number is a little less than 1.15."""
    case = Case()
    case.pool("a", gpus=20)
    limits = {**EVERYTHING, "maxOversell": 1.15}
    assert case.blocked(files(entry("a", offers=offers(acme=23)), **limits)) == []
    assert case.blocked(files(entry("a", offers=offers(acme=24)), **limits)) == [("guard.oversell", "oversell=1")]


def test_the_atoms_of_the_pool_count_as_its_policy_splits_them() -> None:
    case = Case()
    case.pool("a", sharing="mig", policy=MIG, gpus=8)
    for atoms, blocks in ((16, False), (17, True)):
        wished = entry("a", sharing="mig", policy=MIG, offers=offers(acme={"gpu.mig": atoms, "gpu": 99}))
        assert bool(case.blocked(files(wished, **{**EVERYTHING, "maxOversell": 1}))) == blocks


def test_instances_that_machines_name_count_whatever_the_policy_says() -> None:
    case = Case()
    case.pool("a", sharing="mig", policy=MIG, instances=10)
    wished = entry("a", sharing="mig", policy=MIG, offers=offers(acme={"gpu.mig": 11}))
    assert case.blocked(files(wished, **{**EVERYTHING, "maxOversell": 1})) == [("guard.oversell", "oversell=1")]


def test_a_policy_that_splits_gpus_into_less_oversells() -> None:
    case = Case()
    case.pool("a", sharing="mig", policy=MIG, gpus=8, acme={"gpu.mig": 16})
    whole = {"gpu": {"mig": {"devices": {"7g.80gb": 1}}}}
    wished = entry("a", sharing="mig", policy=whole, offers=offers(acme={"gpu.mig": 16}))
    assert case.blocked(files(wished, **HALF_MORE)) == [("guard.oversell", "oversell=1")]


def test_the_owner_is_left_out() -> None:
    case = Case()
    case.pool("a", gpus=8, owner={"gpu": 8})
    assert case.judged(files(entry("a", ownerQuota={"gpu": UNLIMITED}, offers=offers(acme=8)), **HALF_MORE)) == []


def test_quota_that_moves_between_tenants_of_a_pool_oversells_no_more() -> None:
    case = Case()
    case.pool("a", gpus=8, acme=8, globex=4)
    assert case.judged(files(entry("a", offers=offers(acme=4, globex=8)), **HALF_MORE)) == []


def test_pools_are_counted_one_by_one() -> None:
    case = Case()
    for key in "abc":
        case.pool(key, gpus=8)
    wished = files(
        *(entry(key, offers=offers(acme=16)) for key in "ab"), entry("c", offers=offers(acme=8)), **HALF_MORE
    )
    assert case.blocked(wished) == [("guard.oversell", "oversell=2")]
    assert "a (16 of 8, 2.00 times) and b (16 of 8, 2.00 times)" in case.judged(wished)[0].message


def test_an_unlimited_offer_is_over_every_limit() -> None:
    case = Case()
    case.pool("a", gpus=8)
    [problem] = case.judged(files(entry("a", offers=offers(acme=UNLIMITED)), **{**EVERYTHING, "maxOversell": 1000}))
    assert "a (unlimited of 8)" in problem.message


def test_what_is_less_oversold_than_before_is_told_and_passes() -> None:
    case = Case()
    case.pool("a", gpus=8, acme=32)
    [problem] = case.judged(files(entry("a", offers=offers(acme=24)), **HALF_MORE))
    assert (problem.rule, problem.severity) == ("guard.oversell", "warning")
    assert "a (24 of 8, 3.00 times)" in problem.message


@pytest.mark.parametrize(
    ("acme", "globex"), [(32, 8), (24, 8), (8, 8)], ids=["more than before", "as much as before", "less than before"]
)
def test_who_may_book_more_of_a_pool_that_stays_oversold_is_blocked_whatever_others_lose(
    acme: int, globex: int
) -> None:
    case = Case()
    case.pool("a", gpus=8, acme=32)
    wished = files(entry("a", offers=offers(acme=acme, globex=globex)), **HALF_MORE)
    assert case.blocked(wished) == [("guard.oversell", "oversell=1")]
    assert case.blocked(wished, {"oversell": 1}) == []


def test_a_pool_that_is_not_oversold_any_more_passes_in_silence() -> None:
    case = Case()
    case.pool("a", gpus=8, acme=32)
    assert case.judged(files(entry("a", offers=offers(acme=4, globex=8)), **HALF_MORE)) == []


def test_a_policy_that_makes_less_of_an_oversold_pool_is_blocked_also_where_quotas_fall() -> None:
    case = Case()
    case.pool("a", sharing="mig", policy=MIG, gpus=8, acme={"gpu.mig": 80})
    whole = {"gpu": {"mig": {"devices": {"7g.80gb": 1}}}}
    wished = entry("a", sharing="mig", policy=whole, offers=offers(acme={"gpu.mig": 20}))
    assert case.blocked(files(wished, **HALF_MORE)) == [("guard.oversell", "oversell=1")]


def test_a_policy_that_makes_known_what_there_is_of_an_oversold_pool_is_blocked() -> None:
    case = Case()
    case.pool("a", sharing="mig", gpus=8, acme={"gpu.mig": 80})
    wished = entry("a", sharing="mig", policy=MIG, offers=offers(acme={"gpu.mig": 80}))
    assert case.blocked(files(wished, **HALF_MORE)) == [("guard.oversell", "oversell=1")]


def test_a_change_of_something_else_in_an_oversold_pool_is_told_and_passes() -> None:
    case = Case()
    case.pool("a", gpus=8, acme=32)
    [problem] = case.judged(files(entry("a", policy={"maxPending": "1h"}, offers=offers(acme=32)), **HALF_MORE))
    assert (problem.rule, problem.severity) == ("guard.oversell", "warning")
    assert "which lets nobody book more: a (32 of 8, 4.00 times)" in problem.message


def test_what_the_plan_does_not_touch_is_not_its_business() -> None:
    case = Case()
    case.pool("a", gpus=8, acme=32)
    case.pool("b", gpus=8, acme=4)
    wished = files(entry("a", offers=offers(acme=32)), entry("b", offers=offers(acme=8)), **HALF_MORE)
    assert case.judged(wished) == []


@pytest.mark.parametrize("is_new", [True, False])
def test_without_machines_nobody_knows_and_that_is_said(is_new: bool) -> None:
    case = Case()
    if not is_new:
        case.pool("a")
    [problem] = case.judged(files(entry("a", offers=offers(acme=8)), **HALF_MORE))
    assert (problem.rule, problem.severity, problem.code) == ("guard.oversell", "unchecked", "UNCHECKED")


def test_a_policy_that_no_longer_says_how_gpus_are_split_is_told() -> None:
    case = Case()
    case.pool("a", sharing="mig", policy=MIG, gpus=8, acme={"gpu.mig": 16})
    wished = files(entry("a", sharing="mig", offers=offers(acme={"gpu.mig": 16})), **HALF_MORE)
    assert [(p.rule, p.severity) for p in case.judged(wished)] == [("guard.oversell", "unchecked")]


def test_without_a_limit_nothing_is_said() -> None:
    case = Case()
    case.pool("a", gpus=8)
    case.pool("b")
    assert case.judged(files(entry("a", offers=offers(acme=999)), entry("b", offers=offers(acme=999)))) == []


def test_a_pool_that_is_archived_sells_nothing() -> None:
    case = Case()
    case.pool("a", gpus=8, acme=99)
    assert case.judged(files(tombstone("a"), **HALF_MORE)) == []


class TestPlaces:
    """The first operation of a pool may be about something else."""

    def at(self, live: dict[str, Any], wished: dict[str, int]) -> str:
        case = Case()
        case.pool("a", gpus=8, **live)
        done = entry("a", policy={"maxPending": "1h"}, offers=offers(**wished))
        fleet = files(done, **HALF_MORE)
        [problem] = case.judged(fleet)
        written = fleet.entries[pool_id("a")]
        places = {"pool": written.place, **written.offer_places}
        [place] = [name for name, place in places.items() if place.source() == problem.source]
        return place

    def test_what_is_sold_too_often_is_the_offer_that_sells_the_most(self) -> None:
        assert self.at({"acme": 4, "globex": 4}, {"acme": 6, "globex": 40}) == "globex"

    def test_what_was_oversold_before_is_the_pool(self) -> None:
        assert self.at({"acme": 32}, {"acme": 31}) == "pool"
