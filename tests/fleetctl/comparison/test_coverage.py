"""How much of what is live is under code: a hundred percent only when all is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain.state import Rollup
from fleetctl.comparison.compare import Asked, compared
from fleetctl.comparison.coverage import Coverage
from fleetctl.comparison.selection import parse
from tests.fleetctl.comparison.compared import PREFIX, TOMB
from tests.fleetctl.test_identity import archive, offered, plane, pool_id
from tests.model import ControlPlane, desired, fleet

POOLS = [offered(f"fra1-{name}") for name in "abcd"]


@pytest.fixture
def live() -> ControlPlane:
    """Four pools, one after the other with 1, 2, 4 and 8 GPU atoms, and an archived one."""
    live = plane(*POOLS, offered("fra1-old"))
    archive(live, "fra1-old")
    for number, key in enumerate("abcd"):
        state = live.pools[pool_id(f"fra1-{key}")]
        state.rollup = replace(Rollup(), nodes=1, host_nodes=1, gpus=2**number, atoms=2**number)
    return live


def covered(live: ControlPlane, *pools: dict[str, Any], asked: Asked = Asked(), **root: Any) -> Coverage:  # noqa: B008
    return compared(desired(fleet(*pools, **PREFIX, **root)), live.live(), asked).coverage


def test_every_live_pool_counts_and_an_archived_one_does_not(live: ControlPlane) -> None:
    found = covered(live, *POOLS)
    assert found == Coverage(4, 4, 15, 15)
    assert found.percent == 100


def test_pools_in_no_entry_are_not_under_code_whosever_they_are(live: ControlPlane) -> None:
    plane(offered("x"), caller="sa_other", into=live)
    found = covered(live, POOLS[0], POOLS[2])
    assert found == Coverage(5, 2, 15, 5)
    assert found.percent == 40


ONE = {
    "its key": POOLS[3],
    "its id": {**offered("fra1-e"), "id": pool_id("fra1-d")},
    "an old key": offered("fra1-e", previously="fra1-d"),
    "a replacement of it": offered("fra1-e", replaces="fra1-d"),
    "its tombstone": {"idempotencyKey": "fra1-d", **TOMB},
    "other wishes": offered("fra1-d", 99),
}


def test_which_are_not_under_code_is_told_by_key(live: ControlPlane) -> None:
    plane(offered("x"), offered("b"), caller="sa_other", into=live)
    found = covered(live, POOLS[0], POOLS[2], {"idempotencyKey": "fra1-d", "released": True})
    assert [(pool.idempotency_key, pool.created_by) for pool in found.unnamed] == [
        ("b", "sa_other"),
        ("fra1-b", "sa_fleet"),
        ("fra1-d", "sa_fleet"),
        ("x", "sa_other"),
    ]


@pytest.mark.parametrize("how", ONE)
def test_an_entry_names_a_pool_by(live: ControlPlane, how: str) -> None:
    assert covered(live, *POOLS[:3], ONE[how]) == Coverage(4, 4, 15, 15)


def test_what_is_let_go_is_not_under_code(live: ControlPlane) -> None:
    assert covered(live, *POOLS[:3], {"idempotencyKey": "fra1-d", "released": True}) == Coverage(4, 3, 15, 7)


def test_a_part_is_never_taken_for_the_whole(live: ControlPlane) -> None:
    asked = Asked(selected=parse(("key=fra1-a",), ()))
    assert covered(live, *POOLS[:2], asked=asked) == covered(live, *POOLS[:2]) == Coverage(4, 2, 15, 3)


@pytest.mark.parametrize(
    ("live", "named", "percent"),
    [(0, 0, None), (1, 1, 100.0), (3, 2, 66.6), (100_000, 99_999, 99.9), (100_000, 1, 0.0), (7, 0, 0.0)],
)
def test_a_share_is_rounded_down_and_of_nothing_there_is_none(live: int, named: int, percent: float | None) -> None:
    assert Coverage(live, named, 0, 0).percent == percent


def check_that_only_all_is_a_hundred(*, live: int) -> None:
    for named in (0, 1, live // 2, live - 1, live):
        assert (Coverage(live, named, 0, 0).percent == 100) == (named == live)


def test_only_all_is_a_hundred_percent() -> None:
    for live in (1, 2, 9, 999, 1001, 100_000):
        check_that_only_all_is_a_hundred(live=live)


def test_a_share_that_is_rounded_to_the_nearest_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coverage, "percent", property(lambda it: round(100 * it.named / it.live, 1)))
    with pytest.raises(AssertionError, match="99999 == 100000"):
        check_that_only_all_is_a_hundred(live=100_000)


def test_no_live_pool_is_no_share() -> None:
    assert covered(ControlPlane(), *POOLS) == Coverage(0, 0, 0, 0)
