"""How many calls are under way, and from when on: halved where the control plane has too much to do, then regained."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.apply.journal import Outcome
from fleetctl.apply.pace import Pace
from tests.e2e.edge import Asked, Bend
from tests.e2e.homes import Home, entry
from tests.fleetctl.apply.timed import Stage

# The pace by itself.


def test_one_burst_halves_once() -> None:
    pace = Pace(10)
    assert [pace.refused(0) for _ in range(10)] == [True] + [False] * 9
    assert pace.limit == 5


def test_a_refusal_of_what_began_after_the_halving_halves_again() -> None:
    pace = Pace(10)
    limits = []
    for burst in range(6):
        pace.refused(burst)
        limits.append(pace.limit)
    assert limits == [5, 2, 1, 1, 1, 1]


def test_it_is_never_less_than_one_and_then_is_no_slower() -> None:
    pace = Pace(1)
    assert pace.refused(0) is False
    assert pace.limit == 1


def test_after_as_many_answers_as_may_be_under_way_one_more_may() -> None:
    pace = Pace(4)
    pace.refused(0)
    limits = []
    for _ in range(12):
        pace.answered(1)
        limits.append(pace.limit)
    assert limits == [2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4]


def test_answers_to_what_began_before_the_halving_regain_nothing() -> None:
    pace = Pace(4)
    pace.refused(0)
    for _ in range(100):
        pace.answered(0)
    assert pace.limit == 2


def test_of_two_moments_that_are_asked_for_the_later_counts() -> None:
    pace = Pace(4)
    pace.hold(5.0)
    pace.hold(3.0)
    assert pace.not_before == 5.0


@given(most=st.integers(1, 64), said=st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=80))
def test_it_stays_between_one_and_the_most_and_moves_by_halves_and_ones(
    most: int, said: list[tuple[bool, int]]
) -> None:
    pace = Pace(most)
    for is_busy, age in said:
        before, burst = pace.limit, pace.burst - age
        (pace.refused if is_busy else pace.answered)(burst)
        is_old = age > 0
        assert 1 <= pace.limit <= most
        assert pace.limit in ((before,) if is_old else (max(1, before // 2),) if is_busy else (before, before + 1))


# The pace of an apply.


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def many(home: Home, number: int) -> Home:
    home.wish(*(entry(f"k{n:03}", []) for n in range(number)))
    return home


def busy(status: int = 503, **headers: str) -> httpx.Response:
    code = "RATE_LIMITED" if status == 429 else "UNAVAILABLE"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"error": {"code": code, "message": "too much"}}, headers=named)


def is_write(asked: Asked) -> bool:
    return asked.operation.startswith("pools/") and asked.operation != "pools/get"


def slower(journal: BytesIO) -> list[int]:
    """The limits that a journal tells of."""
    lines = [json.loads(line) for line in journal.getvalue().splitlines()]
    return [line["limit"] for line in lines if line["event"] == "slower"]


def limited(stage: Stage, most: int, each: float = 1.0) -> Bend:
    """A server that takes so many writes in each second, and says when to come again."""
    taken: dict[int, int] = {}

    def bend(asked: Asked) -> httpx.Response:
        window = math.floor(stage.now / each)
        taken[window] = taken.get(window, 0) + 1
        return asked.forward() if taken[window] <= most else busy(429, Retry_After="1")

    return bend


def done(outcomes: tuple[Outcome, ...]) -> bool:
    return {o.status for o in outcomes} == {"done"}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("signed", [True, False], ids=["control plane", "gateway"])
def test_a_burst_of_refusals_halves_what_is_under_way_once(home: Home, stage: Stage, status: int, signed: bool) -> None:
    journal, calls = BytesIO(), 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        refused = busy(status) if signed else httpx.Response(status, content=b"<html>")
        return refused if calls <= 8 else asked.forward()

    assert done(stage.applied(many(home, 16), bend, parallelism=8, journal=journal))
    assert slower(journal) == [4]
    most = [n for moment, n in stage.begun if moment >= stage.seconds]
    assert max(most[:8]) == 4
    assert max(most) > 4


@pytest.mark.parametrize("answer", [502, 504, 500, 409])
def test_what_says_nothing_of_too_much_to_do_halves_nothing(home: Home, stage: Stage, answer: int) -> None:
    journal, calls = BytesIO(), 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        return asked.forward() if calls > 4 else httpx.Response(answer, content=b"no")

    stage.applied(many(home, 8), bend, journal=journal)
    assert slower(journal) == []


def test_nothing_begins_while_the_control_plane_wants_no_call(home: Home, stage: Stage) -> None:
    """What it says to one call holds for all others too: those that were refused without a word, and those to come."""
    calls = 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        return asked.forward() if calls > 2 else busy(Retry_After="7") if calls == 2 else busy()

    assert done(stage.applied(many(home, 12), bend))
    assert [moment for moment, _ in stage.begun if stage.seconds <= moment < 7.0 + stage.seconds] == []
    assert stage.begun[4][0] == pytest.approx(7.0 + stage.seconds)


def test_a_wait_is_a_little_longer_than_asked_by_chance(home: Home, stage: Stage) -> None:
    calls = 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        return asked.forward() if calls > 1 else busy(Retry_After="10")

    assert done(stage.applied(many(home, 1), bend, random=0.5))
    assert stage.begun[1][0] == pytest.approx(10.5 + stage.seconds)


@pytest.mark.parametrize("most", [1, 3, 5])
def test_a_server_that_limits_the_rate_gets_everything_in_the_end(home: Home, stage: Stage, most: int) -> None:
    outcomes = stage.applied(many(home, 30), limited(stage, most), parallelism=10)
    assert done(outcomes)
    assert home.is_settled()
    assert sum(o.attempts for o in outcomes) == len(stage.begun)


def test_it_goes_back_to_as_many_as_it_may_and_never_beyond(home: Home, stage: Stage) -> None:
    calls = 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        return busy(429) if calls == 1 else asked.forward()

    assert done(stage.applied(many(home, 60), bend, parallelism=6))
    under_way = [n for _, n in stage.begun]
    assert max(under_way) == 6
    assert max(under_way[-10:]) == 6


def test_one_call_at_a_time_is_made_where_the_control_plane_takes_no_more(home: Home, stage: Stage) -> None:
    calls: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        calls.append(asked.operation)
        return busy() if stage.under_way > 1 else asked.forward()

    assert done(stage.applied(many(home, 6), bend, parallelism=4))


def test_what_is_asked_again_comes_before_what_is_new(home: Home, stage: Stage) -> None:
    asked_for: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        asked_for.append(asked.body["idempotencyKey"])
        return busy(Retry_After="1") if len(asked_for) <= 2 else asked.forward()

    assert done(stage.applied(many(home, 5), bend, parallelism=2))
    assert asked_for[2:4] == asked_for[:2]
    assert len(asked_for) == 7


def test_a_wait_that_is_too_long_ends_the_run_and_says_so(home: Home, stage: Stage) -> None:
    outcomes = stage.applied(many(home, 6), lambda _: busy(Retry_After="86400"), parallelism=2)
    assert [o.status for o in outcomes] == ["failed"] * 2 + ["notStarted"] * 4
    assert outcomes[0].problem is not None
    assert "the server asks to wait 86400 s, longer than 60 s: gave up" in outcomes[0].problem.message
    assert {o.note for o in outcomes[2:]} == {"the server asks to wait 86400 s"}
    assert stage.now < 1


# Signals.


def stopped_at(stage: Stage, moment: float) -> None:
    stage.at(moment, stage.stop.set)


def test_a_signal_ends_it_while_the_pace_holds_everything_back(home: Home, stage: Stage) -> None:
    stopped_at(stage, 5.0)
    told: list[Outcome] = []
    outcomes = stage.applied(many(home, 9), lambda _: busy(Retry_After="40"), progress=told.append)
    assert [o.status for o in outcomes] == ["failed"] * 4 + ["notStarted"] * 5
    assert {o.attempts for o in outcomes[:4]} == {1}
    assert stage.now == 5.0
    assert len(told) == 4


def test_a_signal_lets_what_is_under_way_end_and_waits_for_nothing_else(home: Home) -> None:
    stage, calls = Stage(seconds=2.0), 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        return busy(Retry_After="3") if calls <= 4 else asked.forward()

    stopped_at(stage, 5.5)  # two of the four are asked again from 5.0 on
    outcomes = stage.applied(many(home, 9), bend)
    assert sorted(o.status for o in outcomes) == ["done"] * 2 + ["failed"] * 2 + ["notStarted"] * 5
    assert stage.now == 7.0


# Planted faults.


def laws(home: Home) -> None:
    """What this file holds of an apply's pace, in short."""
    stage, journal, calls = Stage(), BytesIO(), 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal calls
        calls += 1
        asks = {"Retry_After": "2"} if calls == 1 else {}
        return busy(429, **asks) if calls <= 8 else asked.forward()

    assert done(stage.applied(many(home, 40), bend, parallelism=8, journal=journal))
    assert slower(journal) == [4]
    assert [moment for moment, _ in stage.begun if stage.seconds <= moment < 2.0 + stage.seconds] == []
    under_way = [n for moment, n in stage.begun if moment >= 2.0]
    assert max(under_way[:8]) == 4
    assert max(under_way) == 8


def test_the_laws_hold(home: Home) -> None:
    laws(home)


def _each_halves(pace: Pace, _: int) -> bool:
    pace.limit = max(1, pace.limit // 2)
    return True


FAULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "each refusal of a burst halves": ("refused", _each_halves, r"\[4, 2, 1, .* == \[4\]"),
    "nothing halves": ("refused", lambda *_: False, r"\[\] == \[4\]"),
    "what was asked for one call holds for that one alone": ("hold", lambda *_: None, r"\[0.1, .* == \[\]"),
    "what was lost is not regained": ("answered", lambda *_: None, "4 == 8"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pace_that_is_wrong_breaks_the_laws(home: Home, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, planted, seen = FAULTS[fault]
    monkeypatch.setattr(Pace, name, planted)
    with pytest.raises(AssertionError, match=seen):
        laws(home)
