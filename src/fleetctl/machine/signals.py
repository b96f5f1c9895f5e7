"""SIGINT and SIGTERM while writing: nothing new is started, calls in flight are finished and reported."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread

_AT_ONCE = b"""\
STOPPED: a second signal came: what was under way may have been carried out, and is not reported
Hint: the same command again finds out
"""
_CLEAR = b"\r\x1b[K"
"""A line of progress may stand there."""


@dataclass(slots=True)
class Caught:
    """The name of the first signal that came, None when there was none."""

    name: str | None = None


@contextmanager
def killable() -> Iterator[None]:
    """For work that no handler can interrupt, since it never comes back to Python while it lasts, and that changes
    nothing: the first signal ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interruptible(stop: Event) -> Iterator[Caught]:
    """The first signal sets `stop`. A second one of the same kind ends the process there and then: calls in flight are
    waited for no longer, and what is not known is said."""
    caught = Caught()
    came: set[int] = set()

    def handle(number: int) -> None:
        caught.name = caught.name or signal.Signals(number).name
        if number in came:
            # What prints may be in the middle of a line, and threads of calls would be waited for: neither is asked.
            with suppress(OSError):
                os.write(2, (_CLEAR if os.isatty(2) else b"") + _AT_ONCE)
            os._exit(128 + signal.Signals[caught.name])
        came.add(number)
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    with _heard(lambda number: handle(number) if number in numbers else None):
        for number in numbers:
            signal.signal(number, lambda *_: None)
        try:
            yield caught
        finally:
            for number in numbers:
                signal.signal(number, before[number])


@contextmanager
def _heard(handle: Callable[[int], None]) -> Iterator[None]:
    """Every signal is told in a thread of its own. A handler of Python's runs in the main thread alone, and not before
    that comes back to Python: a signal that comes just as it begins to wait for a call would be held up with it, and
    the next one taken for the same."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def listen() -> None:
        while number := ours.recv(1):
            handle(number[0])

    listener = Thread(target=listen, daemon=True)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()
        listener.join()
        ours.close()
