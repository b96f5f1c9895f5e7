"""What nonsense costs: one request may hold tens of thousands of names, and nobody is to wait for their like.

Calls are counted, not time: a count is the same on every machine.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

from better_compute.domain.decide import decide
from better_compute.domain.families import check_model
from better_compute.domain.quotas import MOST_ROWS, check_atoms, check_quota
from better_compute.domain.state import PoolState
from tests.decisions import FACTS, after, create, update


def calls(work: Callable[[], object]) -> Counter[str]:
    """How often the work calls each function, those written in C included, by name."""
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            counted[frame.f_code.co_name] += 1
        elif event == "c_call":
            counted[argument.__name__] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def nonsense(start: str, letters: str, length: int) -> dict[str, int]:
    random = Random(1)
    return {start + "".join(random.choice(letters) for _ in range(length)): 1 for _ in range(MOST_ROWS)}


@pytest.mark.parametrize("quota", [nonsense("hugep", "aeg2Mi", 7), nonsense("Gpu.", "migslot", 7)], ids=["near", "bad"])
def test_each_resource_of_a_quota_of_nonsense_is_named_and_costs_little(quota: dict[str, int]) -> None:
    assert calls(lambda: check_quota(quota)).total() < 300 * len(quota)
    assert [problem.path for problem in check_quota(quota)] == [f"quota.{resource}" for resource in quota]


def test_a_quota_of_far_too_many_rows_costs_as_little_whatever_they_are() -> None:
    few, many = (dict.fromkeys(map(str, range(rows)), -1) for rows in (MOST_ROWS + 1, 25_000))
    assert calls(lambda: check_quota(many)) == calls(lambda: check_quota(few))


def test_the_first_names_are_guessed_at_and_a_slip_always_is() -> None:
    quota = {f"gpu.migs.{n:02}": 1 for n in range(20)} | {"VCPU": 1}
    hints = [problem.hint for problem in check_quota(quota)]
    assert hints == ['did you mean "gpu.mig"?'] * 8 + [""] * 12 + ['did you mean "vcpu"?']


def test_rows_that_are_no_atoms_cost_nothing_when_atoms_are_judged() -> None:
    few, many = ({f"x{n}": 1 for n in range(rows)} for rows in (10, 10_000))
    assert calls(lambda: check_atoms(many, "mig")) == calls(lambda: check_atoms(few, "mig"))


@pytest.mark.parametrize("length", [32, 100])
def test_a_model_of_nonsense_costs_little(length: int) -> None:
    models = [f"RTX{name}" for name in nonsense("", "0123456789PRO", length - 3)][:10]
    check_model("h100 warm")  # compiles the patterns
    assert calls(lambda: [check_model(model) for model in models]).total() < 5_000 * len(models)
    assert all(check_model(model) for model in models)


def test_a_model_outside_the_table_is_looked_for_once() -> None:
    counted = calls(lambda: [decide(PoolState(), create(gpu_model="MI300Y"), FACTS) for _ in range(10)])
    assert counted["nearest_family"] == 1


def test_a_command_is_judged_once() -> None:
    state = after(create())
    assert state.pool is not None
    counted = calls(lambda: decide(state, update(gpu_model="H1000"), FACTS))
    assert counted["check_model"] == counted["check_update"] == 1
