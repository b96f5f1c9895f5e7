"""A clock that is set back or stands still: times of a reservation never run backwards, and hours are counted once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from better_compute.domain.usage import HOUR
from better_compute.reconcilers.admission import admit_all
from better_compute.reconcilers.placer import place_all
from tests.better_compute.plane import CARD, START, Plane
from tests.better_compute.service.test_usage import active, forget_models, usage
from tests.invariants import broken

TIMES = ("createdAt", "placedAt", "activatedAt", "endedAt")


def times(plane: Plane, reservation_id: str) -> list[int]:
    """Those that it shows, in the order of its steps; its events are of the same times."""
    shown = plane.ask("sa_acme", "reservations/get", reservationId=reservation_id).data
    found = [shown[name] for name in TIMES if name in shown]
    told = [e for e in plane.events(types=["reservation.*"]) if e["data"]["after"]["reservationId"] == reservation_id]
    assert [e["time"] for e in told] == (found if told[0]["type"] == "reservation.pending" else found[1:])
    return found


def hours(plane: Plane) -> dict[str, str]:
    return {row["meter"]: row["hours"] for row in usage(plane)}


def remodel(plane: Plane, pool_id: str, model: str) -> None:
    """The pool is of another model, under what runs in it."""
    plane.store.transact(lambda tx: forget_models(tx, pool_id))
    assert plane.ask("sa_fleet", "pools/update", poolId=pool_id, gpuModel=model).code == "OK"


def assert_whole(plane: Plane) -> None:
    """Every invariant holds but what the rollup says, of which `remodel` made a lie."""
    said = plane.store._database.read(broken)  # type: ignore[attr-defined]
    assert [what for what in said if not what.startswith("rollup")] == []


@pytest.mark.parametrize("back", [0, 1, HOUR])
def test_each_step_is_at_the_time_of_the_one_before_while_the_clock_is_behind_it(either: Plane, back: int) -> None:
    """With a clock that stands still, all of them are within one millisecond."""
    pool_id = either.hosts_pool()
    made = either.reserve(pool_id)["id"]
    for step in (
        lambda: either.join(pool_id, CARD),
        lambda: place_all(either.service),
        lambda: admit_all(either.service),
        lambda: either.end(made),
    ):
        either.time.now -= back
        step()
    assert times(either, made) == [START] * 4
    assert usage(either) == []
    assert_whole(either)


@pytest.mark.parametrize("last", ["placed", "active", "ended"])
def test_a_step_behind_which_the_clock_is_set_back_keeps_its_time(either: Plane, last: str) -> None:
    pool_id = either.hosts_pool()
    made = either.reserve(pool_id)["id"]
    either.join(pool_id, CARD)
    steps: dict[str, Callable[[], object]] = {
        "placed": lambda: place_all(either.service),
        "active": lambda: admit_all(either.service),
        "ended": lambda: either.end(made),
    }
    for state, step in steps.items():
        either.time.now += HOUR if state != last else -HOUR // 2
        step()
    found = times(either, made)
    assert found == sorted(found)
    behind = {"placed": [0, 0, HOUR // 2, HOUR * 3 // 2], "active": [0, HOUR, HOUR, HOUR * 3 // 2]}
    assert [time - START for time in found] == behind.get(last, [0, HOUR, 2 * HOUR, 2 * HOUR])
    assert_whole(either)


@pytest.mark.parametrize("end", ["fails", "ends"])
def test_what_waits_fails_or_ends_no_earlier_than_it_was_asked_for(either: Plane, end: str) -> None:
    pool_id = either.hosts_pool()
    made = either.reserve(pool_id)["id"]
    either.time.now -= HOUR
    if end == "fails":
        either.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme")
        assert place_all(either.service) == {"failed": 1}
    else:
        either.end(made)
    assert times(either, made) == [START, START]


def test_what_waits_longer_than_it_may_fails_by_the_servers_clock_alone(either: Plane) -> None:
    """A clock that is set back lets it wait longer, and no pending time is ever negative."""
    pool_id = either.hosts_pool(policy={"maxPending": "30m"})
    made = either.reserve(pool_id)["id"]
    for now, failed in ((START - HOUR, 0), (START, 0), (START + HOUR // 2, 0), (START + HOUR // 2 + 1, 1)):
        either.time.now = now
        assert place_all(either.service)["failed"] == failed
    assert times(either, made) == [START, START + HOUR // 2 + 1]


def test_hours_that_are_over_stay_counted_when_the_clock_is_set_back(either: Plane) -> None:
    pool_id = either.hosts_pool(2)
    over, runs = active(either, pool_id)["id"], active(either, pool_id)["id"]
    either.time.now += 2 * HOUR
    either.end(over)
    assert hours(either) == {"gpu.h100.hours": "4.000000"}
    either.time.now -= HOUR
    assert hours(either) == {"gpu.h100.hours": "3.000000"}, "what runs is counted until now, as the clock has it"
    either.time.now -= 2 * HOUR
    assert hours(either) == {"gpu.h100.hours": "2.000000"}, "what begins later by the clock is not counted yet"
    either.time.now += 2 * HOUR
    either.end(runs)
    assert hours(either) == {"gpu.h100.hours": "3.000000"}


def test_a_meter_that_changes_while_the_clock_is_behind_neither_loses_nor_doubles_hours(either: Plane) -> None:
    pool_id = either.hosts_pool(2)
    early = active(either, pool_id)["id"]
    either.time.now = START + HOUR
    remodel(either, pool_id, "H200")
    late = active(either, pool_id)["id"]
    either.time.now = START + HOUR // 2
    remodel(either, pool_id, "L40S")
    assert_whole(either)
    either.end(early)
    assert times(either, early) == [START, START, START, START + HOUR]
    assert hours(either) == {"gpu.h100.hours": "1.000000"}, "it ran for an hour before the clock was set back"
    either.time.now = START + 3 * HOUR
    either.end(late)
    assert hours(either) == {"gpu.h100.hours": "1.000000", "gpu.l40s.hours": "2.000000"}
    assert_whole(either)


def test_meters_that_change_within_a_millisecond_leave_the_last(either: Plane) -> None:
    pool_id = either.hosts_pool(1)
    made = active(either, pool_id)["id"]
    for model in ("H200", "H100", "L40S", "H200"):
        remodel(either, pool_id, model)
    assert_whole(either)
    either.time.now += HOUR
    for model in ("H100", "H200", "H100"):
        remodel(either, pool_id, model)
    either.end(made)
    assert hours(either) == {"gpu.h200.hours": "1.000000"}
    assert_whole(either)


@pytest.mark.parametrize("number", range(3))
def test_whatever_the_clock_does_no_time_runs_backwards_and_meters_are_whole(either: Plane, number: int) -> None:
    chance = Random(number)
    pool_id = either.hosts_pool(2, 2, policy={"maxPending": "3h"})
    models, made = {"H100", "H200", "L40S"}, []
    for _ in range(80):
        either.time.now += chance.choice((0, 0, 1, HOUR, 2 * HOUR, -1, -HOUR // 2, -HOUR))
        what = chance.choice(("book", "book", "place", "admit", "admit", "end", "end", "model"))
        if what == "book":
            made.append(either.reserve(pool_id, resources={"gpu": chance.choice((1, 2))})["id"])
        elif what == "model":
            remodel(either, pool_id, chance.choice(sorted(models - {either.get(pool_id)["gpuModel"]})))
        elif what == "end" and made:
            either.end(chance.choice(made))
        else:
            (place_all if what == "place" else admit_all)(either.service)
        assert_whole(either)
    found = [times(either, reservation_id) for reservation_id in made]
    assert found == [sorted(each) for each in found]
    assert any(len(each) == 4 and each[3] > each[2] for each in found), "none ran for a while"
