"""When a call may be made again, and how long to wait before."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

TRANSIENT = frozenset({408, 429, 502, 503, 504})
"""Statuses after which the same call may succeed."""

_READS = frozenset({"list", "get", "listOffers", "check", "whoami", "info"})
"""Methods that change nothing."""

PRECONDITIONS = ("expectedVersion", "expectedOffersVersion")

SPREAD = 0.1
"""Of the wait that a server asks for: so much more is waited at most."""

_DIGITS = 15
"""Of the longest wait that makes sense, in whatever unit: one that a float holds and a line shows."""

_SECONDS = re.compile(rf"-?[0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{1,{_DIGITS}}})?")


def is_read(operation: str) -> bool:
    """Whether a call changes nothing, whatever becomes of it."""
    return operation.rpartition("/")[2] in _READS


def repeatable(operation: str, body: Mapping[str, Any]) -> bool:
    """Whether a call whose answer was lost, and which may have arrived, may be made again: reads, and writes that carry
    their own key or precondition. Any other write could be done twice."""
    return is_read(operation) or any(body.get(name) is not None for name in ("idempotencyKey", *PRECONDITIONS))


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long. Times are seconds; `clock` gives epoch milliseconds, `random` 0 to 1."""

    sleep: Callable[[float], object]
    random: Callable[[], float]
    clock: Callable[[], int]
    attempts: int = 5
    first: float = 0.5
    longest: float = 10.0
    patience: float = 60.0
    """The longest wait that a server may ask for; asked for more, the call gives up."""

    def backoff(self, attempt: int) -> float:
        """Up to twice as long each time, at random, so that many clients do not come back together."""
        return self.random() * min(self.longest, self.first * 2.0 ** (attempt - 1))

    def wait(self, attempt: int, asked: float | None) -> float:
        """How long to wait after an attempt: never less than a server asked for, and a little more at random, so that
        those who were told the same do not come back together. Nothing is added where it asked for none."""
        if asked is None:
            return self.backoff(attempt)
        return asked * (1.0 + SPREAD * self.random())

    def asked(self, headers: Mapping[str, str], body: float | None = None) -> float | None:
        """What an answer asks for, 0 at least; None where it says nothing that makes sense.

        `body` is what it says beside its `Retry-After`, which knows whole seconds alone: where that is no more than the
        same rounded up, `body` counts, else the longer of both.
        """
        header = self._header(headers)
        if header is None or body is None:
            return body if header is None else header
        return body if header <= max(1, ceil(body)) else header

    def _header(self, headers: Mapping[str, str]) -> float | None:
        """What `Retry-After` asks for: the longest, where it was sent more than once.

        A date is taken against the answer's own `Date`, so that clocks that differ do not matter.
        """
        now = next(filter(None, map(_date, _values(headers.get("date", "")))), self.clock() / 1000)
        waits: list[float] = []
        for value in _values(headers.get("retry-after", "")):
            if _SECONDS.fullmatch(value):
                waits.append(float(value))
            elif (until := _date(value)) is not None:
                waits.append(until - now)
        return max(0.0, *waits) if waits else None


def sensible(wait: object) -> int | None:
    """What an answer's body asks to wait, 0 at least; None where it says nothing that makes sense."""
    return max(0, wait) if type(wait) is int and wait < 10**_DIGITS else None


def _values(header: str) -> list[str]:
    """One that was sent twice is joined by commas. A date loses the day of the week, which says nothing."""
    return [value.strip() for value in header.split(",")]


def _date(value: str) -> float | None:
    """Epoch seconds of an HTTP date, which is in UTC where it does not say otherwise."""
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(value)
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
