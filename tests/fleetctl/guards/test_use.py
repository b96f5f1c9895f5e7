"""Guards of what runs: quotas below use, pools in use, another GPU model; in whole GPUs, MIG devices and slots."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.state import Work
from tests.fleetctl.guards.case import EVERYTHING, Case, entry, files, offers, tombstone

BELOW = {**EVERYTHING, "allowBelowUse": False}
IN_USE = {**EVERYTHING, "allowArchiveInUse": False}


@pytest.mark.parametrize(("sharing", "atom"), [("exclusive", "gpu"), ("mig", "gpu.mig")])
@pytest.mark.parametrize(("limit", "blocks"), [(9, False), (8, False), (7, True), (0, True)])
def test_a_quota_may_fall_to_what_is_in_use_and_no_further(sharing: str, atom: str, limit: int, blocks: bool) -> None:
    case = Case()
    case.pool("a", sharing=sharing, acme={atom: 16}, used={"acme": {atom: 8}})
    wished = files(entry("a", sharing=sharing, offers=offers(acme={atom: limit})), **BELOW)
    assert case.blocked(wished) == ([("guard.belowUse", "belowUse=1")] if blocks else [])


def test_slots_of_the_owner_in_use_count_too() -> None:
    case = Case()
    case.pool("a", sharing="mps", owner={"gpu.slot": 16}, used={"root": {"gpu.slot": 8}})
    wished = files(entry("a", sharing="mps", ownerQuota={"gpu.slot": 4}), **BELOW)
    [problem] = case.judged(wished)
    assert problem.message == (
        "1 quota row would drop below what is in use: gpu.slot of root in a (4, with 8 in use),"
        " and none may, by allowBelowUse"
    )


def test_every_row_counts_not_those_of_gpus_alone() -> None:
    case = Case()
    case.pool("a", acme={"gpu": 16, "vcpu": 64}, used={"acme": {"gpu": 8, "vcpu": 32}})
    wished = files(entry("a", offers=offers(acme={"gpu": 4})), **BELOW)
    assert case.blocked(wished) == [("guard.belowUse", "belowUse=2")]


def test_a_row_that_is_below_use_and_stays_is_no_drop() -> None:
    case = Case()
    case.pool("a", acme={"gpu": 4, "vcpu": 8}, used={"acme": {"gpu": 8}})
    assert case.blocked(files(entry("a", offers=offers(acme={"gpu": 4, "vcpu": 9})), **BELOW)) == []
    assert case.blocked(files(entry("a", offers=offers(acme={"gpu": 5, "vcpu": 8})), **BELOW)) == []
    assert case.blocked(files(entry("a", offers=offers(acme={"gpu": 3, "vcpu": 8})), **BELOW)) == [
        ("guard.belowUse", "belowUse=1")
    ]


@pytest.mark.parametrize("wished", [entry("a", offers=[]), tombstone("a")])
def test_a_withdrawal_keeps_what_is_in_use(wished: dict[str, Any]) -> None:
    """Rule unoffer.quota: each row becomes what is in use of it, and no less."""
    case = Case()
    case.pool("a", acme=16, used={"acme": {"gpu": 8}})
    assert case.blocked(files(wished, **BELOW)) == []


def test_a_first_offer_sets_rows_that_a_withdrawal_left() -> None:
    """Rule offer.again: those that it does not name fall to 0, also below what is in use."""
    case = Case()
    case.pool("a", left={"acme": {"gpu": 8, "vcpu": 32}}, used={"acme": {"gpu": 8, "vcpu": 32}})
    assert case.blocked(files(entry("a", offers=offers(acme=8)), **BELOW)) == [("guard.belowUse", "belowUse=1")]
    both = entry("a", offers=offers(acme={"gpu": 8, "vcpu": 32}))
    assert case.blocked(files(both, **BELOW)) == []


@pytest.mark.parametrize(
    ("work", "used", "told"),
    [
        ({"acme": Work(placed=1, booked_atoms=8)}, {}, "1 reservation"),
        ({"acme": Work(active=2), "globex": Work(placed=1)}, {}, "3 reservations"),
        ({}, {"acme": {"gpu": 1}}, "gpu booked"),
        ({}, {"root": {"gpu": 1}}, "gpu booked"),
        ({}, {"acme": {"vcpu": 1}}, "vcpu booked"),
        ({"acme": Work(pending=3, pending_atoms=24)}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_a_pool_in_use_is_not_archived(work: dict[str, Work], used: dict[str, dict[str, int]], told: str) -> None:
    """Pending reservations hold nothing: they are an effect of the archive, and no use."""
    case = Case()
    case.pool("a", acme={"gpu": 16, "vcpu": 64}, used=used, work=work)
    problems = case.judged(files(tombstone("a"), **IN_USE))
    assert [(p.rule, f"({told})" in p.message) for p in problems] == ([("guard.archiveInUse", True)] if told else [])


def test_pools_in_use_are_counted() -> None:
    case = Case()
    for key in "abc":
        case.pool(key, acme=8, work={"acme": Work(active=key != "c")})
    assert case.blocked(files(*map(tombstone, "abc"), **IN_USE)) == [("guard.archiveInUse", "archiveInUse=2")]


def test_another_gpu_model_is_blocked() -> None:
    case = Case()
    case.pool("a", acme=8)
    case.pool("b")
    limits = {**EVERYTHING, "allowModelChange": False}
    wished = files(
        entry("a", gpuModel="H200", offers=offers(acme=8)), entry("b", policy={"maxPending": "6h"}), **limits
    )
    assert case.blocked(wished) == [("guard.modelChange", "modelChange=1")]
    assert "a (H100 to H200)" in case.judged(wished)[0].message


def test_the_gpus_of_another_model_count_as_those_that_are_lost() -> None:
    case = Case()
    case.pool("a", acme=40, globex=2)
    wished = files(
        entry("a", gpuModel="H200", offers=offers(acme=48, globex=2)), **{**EVERYTHING, "maxGpusWithdrawn": 41}
    )
    assert case.blocked(wished) == [("guard.gpusWithdrawn", "gpusWithdrawn=42")]
    assert case.blocked(wished, {"gpusWithdrawn": 42}) == []
