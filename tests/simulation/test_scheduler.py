"""One thing at a time, in an order of the seed's."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulation.scheduler import Scheduler, SimulatedEvent, StuckError, Workers

Log = list[tuple[float, int]]


def course(seed: int) -> Log:
    """When which of three workers, each of which sleeps three times, went on."""
    scheduler, log = Scheduler(Random(seed), 100.0), Log()
    workers = Workers(scheduler)

    def work(number: int) -> None:
        for seconds in (0.0, 1.0, 1.0):
            scheduler.sleep(seconds)
            log.append((scheduler.now, number))

    left = [workers.submit(work, number) for number in range(3)]
    while left:
        left = scheduler.wait(left).not_done
    return log


def test_a_seed_has_one_course_of_events_and_others_have_others() -> None:
    assert course(1) == course(1)
    assert len({tuple(course(seed)) for seed in range(10)}) > 5


def test_the_clock_jumps_to_what_is_due() -> None:
    assert sorted({now for now, _ in course(1)}) == [100.0, 101.0, 102.0]


def test_a_wait_ends_with_the_first_or_when_its_time_is_over() -> None:
    scheduler = Scheduler(Random(1), 0.0)
    slow = Workers(scheduler).submit(scheduler.sleep, 5.0)
    assert scheduler.wait([slow], timeout=2.0).not_done == [slow]
    assert scheduler.now == 2.0
    assert scheduler.wait([slow], timeout=20.0).done == [slow]
    assert scheduler.now == 5.0


def test_what_is_due_is_done_whoever_runs_then() -> None:
    scheduler, done = Scheduler(Random(1), 0.0), Log()
    scheduler.after(3.0, lambda: done.append((scheduler.now, scheduler.who)))
    assert not SimulatedEvent(scheduler).wait(2.0)
    assert done == []
    scheduler.sleep(2.0)
    assert done == [(3.0, 0)]


def test_who_waits_for_an_event_goes_on_once_it_is_set() -> None:
    scheduler = Scheduler(Random(1), 0.0)
    event = SimulatedEvent(scheduler)
    scheduler.after(3.0, event.set)
    assert event.wait(5.0)
    assert scheduler.now == 3.0


def test_what_a_worker_raises_is_its_futures() -> None:
    scheduler = Scheduler(Random(1), 0.0)
    future = Workers(scheduler).submit(int, "x")
    scheduler.wait([future])
    assert isinstance(future.exception(), ValueError)


def test_nobody_waits_for_ever() -> None:
    scheduler = Scheduler(Random(1), 0.0)
    with pytest.raises(StuckError, match="nothing is due"):
        scheduler.wait([Workers(scheduler).submit(scheduler.wait, [])])
