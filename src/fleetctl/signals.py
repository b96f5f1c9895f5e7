"""SIGINT and SIGTERM while writing: nothing new is started, calls in flight are finished and reported."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from types import FrameType


@dataclass(slots=True)
class Caught:
    """The name of the signal that came, None when there was none."""

    name: str | None = None


@contextmanager
def interruptible(stop: Event) -> Iterator[Caught]:
    """The first signal sets `stop`; a second one of the same kind does what it always did."""
    caught = Caught()

    def handle(number: int, _: FrameType | None) -> None:
        caught.name = caught.name or signal.Signals(number).name
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, handle)
    try:
        yield caught
    finally:
        for number in numbers:
            signal.signal(number, before[number])
