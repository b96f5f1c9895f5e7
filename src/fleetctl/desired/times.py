"""Times in fleet files: ISO 8601, to the minute at least, with the offset they are meant at."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})$"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]?([0-9]{2}:[0-9]{2}(?::[0-9]{2})?))?")


def milliseconds(text: str) -> int:
    """A time as milliseconds since the epoch. Raises ValueError where it is none."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError("no time")
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def checked(text: str) -> str:
    """The same text. Raises ValueError where no calendar or clock has it."""
    milliseconds(text)
    return text


def hint(value: object) -> str:
    """What is meant by a day, or by a time without an offset."""
    found = _DAY.match(value) if isinstance(value, str) else None
    if found is None:
        return ""
    meant = f"{found[1]}T{found[2] or '00:00'}Z"
    try:
        milliseconds(meant)
    except ValueError:
        return "no calendar has this day, or no clock this time"
    return f"write {meant}"
