"""What files expect of drift: differences that may be there for a time, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from fleetctl.desired import Expected
from fleetctl.paths import Path, covers
from fleetctl.words import time

Holding = Mapping[str, Sequence[Expected]]
"""Expectations that hold now, by the key or id that they name."""


def holding(expected: Iterable[Expected], now: int) -> Holding:
    """`now` is the server's clock in epoch milliseconds."""
    found: dict[str, list[Expected]] = {}
    for each in expected:
        if not _is_over(each, now):
            found.setdefault(each.key, []).append(each)
    return found


def why(holds: Holding, names: Iterable[str], paths: Iterable[Path]) -> str | None:
    """Why a pool, or an offer of it, may differ at all of these paths; None where that is not said of one of them, or
    there is none. `names` are all that it goes by."""
    known = [each for name in names for each in holds.get(name, ())]
    reasons = [
        next((each.reason for each in known if each.path is None or covers(each.path, path)), None) for path in paths
    ]
    said = [reason for reason in reasons if reason is not None]
    return "; ".join(dict.fromkeys(said)) if said and len(said) == len(reasons) else None


def expired(expected: Iterable[Expected], now: int, names: Collection[str]) -> Iterator[str]:
    """What to say of those that are over, of `names` that differ still."""
    for each in expected:
        if _is_over(each, now) and each.key in names:
            about = f"{each.key}, {each.path}" if each.path else each.key
            until = time(each.until or 0)
            yield f"{each.place.source()}: {about} was expected to differ until {until}, and counts again"


def _is_over(expected: Expected, now: int) -> bool:
    return expected.until is not None and expected.until <= now
