"""A lock that is given in the order in which it was asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from better_compute.storage import fair_lock
from better_compute.storage.fair_lock import FairLock
from tests.waiting import LONG, until


def asking(lock: FairLock, work: Callable[[], object]) -> threading.Thread:
    """A thread that waits for the lock to do some work."""

    def run() -> None:
        assert lock.acquire(LONG)
        work()
        lock.release()

    before = len(lock._waiting)
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: len(lock._waiting) > before)
    return thread


def test_who_asks_first_has_it_first() -> None:
    lock, order = FairLock(), list[int]()
    assert lock.acquire(0)
    threads = [asking(lock, lambda n=n: order.append(n)) for n in range(8)]  # type: ignore[misc]
    lock.release()
    for thread in threads:
        thread.join()
    assert order == list(range(8))
    assert lock.acquire(0)


def test_one_that_takes_it_again_and_again_lets_all_others_have_it_in_between() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire(0)
    threads = [asking(lock, lambda: order.append("other")) for _ in range(3)]
    lock.release()
    assert lock.acquire(LONG)
    order.append("again")
    lock.release()
    for thread in threads:
        thread.join()
    assert order == ["other"] * 3 + ["again"]


def test_one_thread_at_a_time_has_it() -> None:
    lock, inside, most = FairLock(), list[int](), list[int]()

    def work() -> None:
        for n in range(50):
            assert lock.acquire(LONG)
            inside.append(n)
            most.append(len(inside))
            time.sleep(0)
            inside.pop()
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 300


def test_who_waits_too_long_is_not_waited_for() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)
    thread = asking(lock, lambda: order.append("next"))
    lock.release()
    thread.join()
    assert order == ["next"]
    assert lock.acquire(0)


@pytest.mark.parametrize("given", [False, True], ids=["while it waits", "just when it is given the lock"])
def test_one_whose_wait_a_signal_ends_holds_up_nobody(monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    lock = FairLock()
    assert lock.acquire(0)

    class Interrupted:
        """A lock whose wait ends with a signal."""

        def acquire(self, timeout: float | None = None) -> bool:
            if timeout is None:
                return True
            if given:
                lock.release()
            raise KeyboardInterrupt

        def release(self) -> None:
            pass

    monkeypatch.setattr(fair_lock, "Lock", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        lock.acquire(LONG)
    assert not lock._waiting
    if not given:
        lock.release()
    assert lock.acquire(0)
