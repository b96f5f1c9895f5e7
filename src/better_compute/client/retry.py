"""When a call may be made again, and how long to wait before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

TRANSIENT = frozenset({408, 429, 502, 503, 504})
"""Statuses after which the same call may succeed."""

_READS = frozenset({"list", "get", "listOffers", "check", "whoami", "info"})
"""Methods that change nothing."""

PRECONDITIONS = ("expectedVersion", "expectedOffersVersion")

_DIGITS = 15
"""Of the longest wait that makes sense, in whatever unit: one that a float holds and a line shows."""


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

    def asked(self, headers: Mapping[str, str]) -> float | None:
        """What `Retry-After` asks for, 0 at least; None where it is absent or says nothing that makes sense.

        A date is taken against the answer's own `Date`, so that clocks that differ do not matter.
        """
        value = headers.get("retry-after", "").strip()
        if value.removeprefix("-").isdecimal() and len(value) <= _DIGITS:
            return max(0.0, float(value))
        until = _date(value)
        if until is None:
            return None
        now = _date(headers.get("date", ""))
        return max(0.0, until - (self.clock() / 1000 if now is None else now))


def sensible(wait: object) -> int | None:
    """What an answer's body asks to wait, 0 at least; None where it says nothing that makes sense."""
    return max(0, wait) if type(wait) is int and wait < 10**_DIGITS else None


def _date(value: str) -> float | None:
    """Epoch seconds of an HTTP date, which is always in UTC."""
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(value).replace(tzinfo=UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
