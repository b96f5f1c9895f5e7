"""Values of flags, read from what somebody wrote."""

from __future__ import annotations

import math
import re

import click

from better_compute.domain.escape import CONTROL
from better_compute.domain.problems import did_you_mean

_LONGEST_REASON = 200
"""UTF-16 units. JSON spells each in 6 bytes at most, so that a reason fits into the header of every call."""


def lifetime(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | None:
    """`--expires` in milliseconds; None where it is not given."""
    from better_compute.domain.policy import values  # not at the top: `--help` reads no duration

    length = None if text is None else values.seconds(text)
    if text is not None and length is None:
        raise click.UsageError("--expires takes a duration such as 90s, 30m, 24h or 7d, of 90 days at most")
    return None if length is None else length * 1000


def allowable(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """What begins so of what `--allow` takes."""
    from fleetctl.override import ALLOWABLE  # not at the top, like the rest of it

    return [f"{name}=" for name in ALLOWABLE if name.startswith(begun)]


def allowed(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """`--allow`, by name. Raises click.BadParameter."""
    numbers: dict[str, int] = {}
    for text in given:
        name, number = _one_allowed(text)
        if name in numbers:
            raise click.BadParameter(f"{name} is given twice")
        numbers[name] = number
    return numbers


def _one_allowed(text: str) -> tuple[str, int]:
    from fleetctl.override import ALLOWABLE

    name, _, number = text.partition("=")
    if name not in ALLOWABLE:
        near = did_you_mean(name, ALLOWABLE)
        shown = text if "@" in text else name  # a part of a URL no longer shows that it is one
        raise click.BadParameter(f"there is no {shown!r}; {near or 'there are ' + ', '.join(ALLOWABLE)}")
    if not re.fullmatch("[0-9]{1,15}", number):  # sums of unlimited rows are long
        raise click.BadParameter(f"{name}=N takes a whole number of at most 15 digits, such as {name}=3")
    return name, int(number)


def digest(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    """A plan's digest, whole. Raises click.BadParameter."""
    if text is not None and not re.fullmatch("[0-9a-f]{64}", text):
        raise click.BadParameter("a digest is 64 hexadecimal digits, as the last line of a plan shows it")
    return text


def reason(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    """`--reason`, as events can keep it. Raises click.BadParameter."""
    if text is None:
        return None
    if not text.strip():
        raise click.BadParameter("it is blank")
    try:
        length = len(text.encode("utf-16-le")) // 2
    except UnicodeEncodeError:
        raise click.BadParameter("it is no Unicode text") from None
    if re.search(f"[{CONTROL}]", text):  # no event keeps one: the first write would be refused
        raise click.BadParameter("it holds control characters")
    if length > _LONGEST_REASON:
        raise click.BadParameter(f"it has {length} characters, and {_LONGEST_REASON} may be")
    return text


def seconds(_ctx: click.Context, _param: click.Parameter, given: float) -> float:
    """`--timeout`. Raises click.BadParameter."""
    if math.isnan(given):  # it passes every comparison with a range
        raise click.BadParameter("it is no number")
    return given
