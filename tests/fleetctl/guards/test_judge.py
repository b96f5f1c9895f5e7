"""Every guard in the same way: by its default, by the files, by a stricter base, and past it by an override."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.state import Work
from fleetctl import guards
from fleetctl.base.bases import Base
from fleetctl.comparison.compare import Asked
from fleetctl.consequences import Consequences
from fleetctl.override import ALLOWABLE, Override
from fleetctl.plan import make
from tests.fleetctl.guards.case import EVERYTHING, NOW, Case, entry, files, offers, tombstone
from tests.model import desired, fleet

WINDOW = {"from": "2023-11-14T00:00Z", "to": "2023-11-15T00:00Z", "reason": "holidays"}
Wish = Callable[[int], tuple[Case, list[dict[str, Any]]]]


def archives(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    for n in range(number):
        case.pool(f"k{n}")
    return case, [tombstone(f"k{n}") for n in range(number)]


def archives_in_use(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    for n in range(number):
        case.pool(f"k{n}", work={"acme": Work(active=1)})
    return case, [tombstone(f"k{n}") for n in range(number)]


def withdrawals(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    for n in range(number):
        case.pool(f"k{n}", acme=1)
    return case, [entry(f"k{n}", offers=[]) for n in range(number)]


def gpus(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    case.pool("a", acme=number + 1)
    return case, [entry("a", offers=offers(acme=1))]


def oversell(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    for n in range(number):
        case.pool(f"k{n}", gpus=8)
    return case, [entry(f"k{n}", offers=offers(acme=9)) for n in range(number)]


def below_use(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    for n in range(number):
        case.pool(f"k{n}", acme=8, used={"acme": {"gpu": 8}})
    return case, [entry(f"k{n}", offers=offers(acme=7)) for n in range(number)]


def model_changes(number: int) -> tuple[Case, list[dict[str, Any]]]:
    case = Case()
    for n in range(number):
        case.pool(f"k{n}")
    return case, [entry(f"k{n}", gpuModel="H200") for n in range(number)]


def creations(number: int) -> tuple[Case, list[dict[str, Any]]]:
    return Case(), [entry(f"k{n}") for n in range(number)]


@dataclass
class Guard:
    """How to break it by any number, what passes by default (None: everything), and how files make it strict so that
    `most` pass."""

    wish: Wish
    default: int | None
    strict: dict[str, Any]
    most: int = 0


GUARDS = {
    "archives": Guard(archives, 1, {"maxArchives": 3}, 3),
    "withdrawals": Guard(withdrawals, 10, {"maxWithdrawals": 2}, 2),
    "gpusWithdrawn": Guard(gpus, 256, {"maxGpusWithdrawn": 16}, 16),
    "oversell": Guard(oversell, None, {"maxOversell": 1.0}),
    "belowUse": Guard(below_use, 0, {"allowBelowUse": False}),
    "archiveInUse": Guard(archives_in_use, 0, {"allowArchiveInUse": False}),
    "modelChange": Guard(model_changes, 0, {"allowModelChange": False}),
    "freeze": Guard(creations, None, {"freeze": [WINDOW]}),
}
"""Each named as an override calls it. Renamed entries are counted where entries are told apart."""


def test_no_guard_is_left_out() -> None:
    assert {*GUARDS, "rename"} == set(ALLOWABLE)


@pytest.mark.parametrize("name", GUARDS)
def test_its_default_passes_and_one_more_does_not(name: str) -> None:
    guard = GUARDS[name]
    if guard.default is None:
        case, wished = guard.wish(5)
        assert case.judged(files(*wished)) == []
        return
    loose = {limit: value for limit, value in EVERYTHING.items() if limit not in guard.strict}
    if name == "archives":
        loose["maxArchivePercent"] = 100
    case, wished = guard.wish(guard.default)
    assert case.judged(files(*wished, **loose)) == []
    case, wished = guard.wish(guard.default + 1)
    over = guard.default + 1
    assert case.blocked(files(*wished, **loose)) == [(f"guard.{name}", f"{name}={over}")]


@pytest.mark.parametrize("name", GUARDS)
def test_what_the_files_say_passes_and_one_more_does_not(name: str) -> None:
    guard = GUARDS[name]
    strict = {**EVERYTHING, **guard.strict}
    case, wished = guard.wish(guard.most)
    assert case.judged(files(*wished, **strict)) == []
    case, wished = guard.wish(guard.most + 1)
    assert case.blocked(files(*wished, **strict)) == [(f"guard.{name}", f"{name}={guard.most + 1}")]


@pytest.mark.parametrize("name", GUARDS)
def test_a_stricter_base_holds_and_a_looser_one_loosens_nothing(name: str) -> None:
    guard = GUARDS[name]
    strict = {**EVERYTHING, **guard.strict}
    case, wished = guard.wish(guard.most + 1)
    blocked = [(f"guard.{name}", f"{name}={guard.most + 1}")]
    assert case.blocked(files(*wished, **EVERYTHING), base=files(*wished, **strict)) == blocked
    assert case.blocked(files(*wished, **strict), base=files(*wished, **EVERYTHING)) == blocked
    assert case.blocked(files(*wished, **EVERYTHING), base=files(*wished, **EVERYTHING)) == []


@pytest.mark.parametrize("name", GUARDS)
def test_the_override_of_its_hint_lets_exactly_this_pass(name: str) -> None:
    guard = GUARDS[name]
    strict = {**EVERYTHING, **guard.strict}
    number = guard.most + 2
    case, wished = guard.wish(number)
    assert case.blocked(files(*wished, **strict), {name: number}) == []
    short = case.judged(files(*wished, **strict), {name: number - 1})
    assert [(p.rule, p.severity, p.code) for p in short] == [(f"guard.{name}", "error", "BLOCKED")]
    assert f"--allow {name}={number} --reason" in short[0].hint
    assert f"--allow {name}={number - 1} lets {number - 1} pass" in short[0].message
    assert case.blocked(files(*wished, **strict), {name: 0}) == [(f"guard.{name}", f"{name}={number}")]


@pytest.mark.parametrize("name", GUARDS)
def test_what_an_override_lets_pass_stays_in_sight(name: str) -> None:
    guard = GUARDS[name]
    case, wished = guard.wish(guard.most + 1)
    [told] = case.judged(files(*wished, **{**EVERYTHING, **guard.strict}), {name: guard.most + 5})
    assert (told.rule, told.severity) == (f"guard.{name}", "warning")
    assert told.message.endswith(f"--allow {name}={guard.most + 5} lets this pass: meant")


@pytest.mark.parametrize("name", GUARDS)
def test_an_override_of_another_guard_lets_nothing_pass(name: str) -> None:
    guard = GUARDS[name]
    case, wished = guard.wish(guard.most + 1)
    others = {other: 99 for other in ALLOWABLE if other != name}
    assert case.blocked(files(*wished, **{**EVERYTHING, **guard.strict}), others) == [
        (f"guard.{name}", f"{name}={guard.most + 1}")
    ]


def test_an_override_may_be_stricter_than_the_guard() -> None:
    case, wished = withdrawals(2)
    [told] = case.judged(files(*wished), {"withdrawals": 1})
    assert (told.rule, told.severity) == ("guard.withdrawals", "error"), "and nothing says that it is not needed"
    assert told.message == "2 withdrawals, and --allow withdrawals=1 lets 1 pass; the guard itself would let 10 pass"
    assert told.hint == 'if that is meant: --allow withdrawals=2 --reason "why", or leave --allow withdrawals out'
    assert case.judged(files(*wished), {"withdrawals": 2}) == [], "where that leads to is not told to be needless"
    [told] = case.judged(files(*wished), {"withdrawals": 10})
    assert told.message.startswith("--allow withdrawals=10 is not needed")
    case, wished = below_use(2)
    [told] = case.judged(files(*wished, **EVERYTHING), {"belowUse": 1})
    assert told.message.endswith("--allow belowUse=1 lets 1 pass; the guard itself would let all pass")
    assert case.blocked(files(*wished, **EVERYTHING), {"belowUse": 0}) == [("guard.belowUse", "belowUse=2")]


def test_an_override_that_was_not_needed_is_told() -> None:
    case, wished = archives(1)
    [told] = case.judged(files(*wished), {"archives": 3})
    assert (told.rule, told.severity, told.source) == ("guard.archives", "warning", None)
    assert told.message == "--allow archives=3 is not needed: this plan breaks no such guard"


def test_an_override_of_renames_that_was_not_needed_is_told_and_one_that_was_is_not() -> None:
    case = Case()
    case.pool("fra1-a")
    for key, told in (("fra1-a", ["fleet.rename"]), ("fra1-new", [])):
        wished = desired(fleet(entry(key, offers=[]), keyPrefix="fra1-"))
        problems = case.judged(wished, {"rename": 3})
        assert [(p.rule, p.severity) for p in problems] == [(rule, "warning") for rule in told]


def test_an_override_lifts_both_guards_of_archives() -> None:
    case, wished = archives(31)
    wished += [entry(f"other{n}") for n in range(69)]
    for n in range(69):
        case.pool(f"other{n}")
    both = files(*wished, maxArchives=40, maxArchivePercent=30)
    assert case.blocked(both) == [("guard.archives", "archives=31")]
    assert case.blocked(both, {"archives": 31}) == []


def test_a_problem_has_the_place_of_the_first_operation() -> None:
    case, wished = archives(2)
    [problem] = case.judged(files(*wished))
    assert problem.source is not None
    assert problem.source.file == "fleet.yaml"


def test_every_guard_that_is_broken_is_told() -> None:
    case = Case()
    case.pool("a", acme=300, used={"acme": {"gpu": 8}})
    case.pool("b")
    wished = files(tombstone("a"), entry("b", gpuModel="H200"), maxArchives=0, freeze=[WINDOW])
    assert {rule for rule, _ in case.blocked(wished)} == {
        "guard.archives",
        "guard.archiveInUse",
        "guard.freeze",
        "guard.gpusWithdrawn",
        "guard.modelChange",
    }


KEYS = [f"k{n}" for n in range(6)]
WISHES = st.lists(
    st.sampled_from(["archive", "withdraw", "lower", "zero", "raise", "model", "keep"]), min_size=6, max_size=6
)


def everything(wishes: list[str]) -> tuple[Case, list[dict[str, Any]]]:
    case, wished = Case(), []
    for key, wish in zip(KEYS, wishes, strict=True):
        case.pool(key, gpus=8, acme=16, globex=4, used={"acme": {"gpu": 8}})
        quotas = {"lower": 7, "zero": 0, "raise": 64}
        kept = entry(key, offers=offers(acme=quotas.get(wish, 16), globex=4))
        changed = {"archive": tombstone(key), "withdraw": entry(key, offers=[]), "model": {**kept, "gpuModel": "H200"}}
        wished.append(changed.get(wish, kept))
    return case, wished


NOTHING = {
    "maxArchives": 0,
    "maxWithdrawals": 0,
    "maxGpusWithdrawn": 0,
    "maxOversell": 1.0,
    "freeze": [WINDOW],
}


@given(WISHES, st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_the_order_of_entries(wishes: list[str], random: Any) -> None:
    case, wished = everything(wishes)
    shuffled = random.sample(wished, len(wished))
    assert sorted(case.blocked(files(*wished, **NOTHING))) == sorted(case.blocked(files(*shuffled, **NOTHING)))


@given(WISHES)
def test_counts_of_all_are_the_sum_of_those_of_each(wishes: list[str]) -> None:
    """Nothing is counted twice, nor hidden by what is beside it."""

    def counted(chosen: list[str]) -> dict[str, int]:
        case, wished = everything(chosen)
        hints = (hint.partition("=") for _, hint in case.blocked(files(*wished, **NOTHING)))
        return {name: int(number) for name, _, number in hints}

    total: dict[str, int] = {}
    for index, wish in enumerate(wishes):
        alone = ["keep"] * len(wishes)
        alone[index] = wish
        for name, number in counted(alone).items():
            total[name] = total.get(name, 0) + number
    assert counted(wishes) == total


@given(WISHES)
def test_the_overrides_of_all_hints_let_a_plan_pass_and_no_fewer(wishes: list[str]) -> None:
    case, wished = everything(wishes)
    asked = files(*wished, **NOTHING)
    numbers = {name: int(n) for name, _, n in (hint.partition("=") for _, hint in case.blocked(asked))}
    assert case.blocked(asked, numbers) == []
    for name in numbers:
        short = {**numbers, name: numbers[name] - 1}
        assert [rule for rule, _ in case.blocked(asked, short)] == [f"guard.{name}"]


def test_what_is_taken_is_counted_with_the_limits_in_force_whether_or_not_it_blocks() -> None:
    """Once: the report tells the very numbers that were judged."""
    case = Case()
    for key in "abc":
        case.pool(key, acme=8)
    wished = files(tombstone("a"), tombstone("b"), entry("c", offers=offers(acme=8)), maxArchives=5, maxWithdrawals=7)
    live = case.live()
    plan = make(wished, live, Asked(base=Base("main", None, files(entry("a"), maxArchives=2, maxArchivePercent=100))))
    found = guards.guarded(Consequences(plan, live), Override({}), NOW)
    assert [(tally.name, tally.number, tally.limit) for tally in found.taken] == [
        ("archives", 2, 1),
        ("withdrawals", 2, 7),
        ("gpusWithdrawn", 16, 256),
    ]
    assert [problem.rule for problem in found.problems if problem.severity == "error"] == ["guard.archives"]
