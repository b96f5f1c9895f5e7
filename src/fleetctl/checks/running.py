"""Expressions run on all that they see, apart from this process: a change that brings a check must not take down the
machine that judges it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from mmap import mmap
from typing import Any

from fleetctl.checks.apart import EndedError, apart
from fleetctl.checks.engine import Expression, Failure, Seen
from fleetctl.desired.model import Each

_SIZE = 8


@dataclass(frozen=True, slots=True)
class Group:
    """Expressions that see the same: one value after the other, each the variables of one run."""

    each: Each | None
    expressions: Sequence[Expression]
    values: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Verdicts:
    """Of one expression: the numbers of the values for which it is false, and of the first at which it came to no
    boolean, with what it came to."""

    denied: list[int] = field(default_factory=list)
    failed: tuple[int, bool | str | Failure] | None = None


def run(groups: Sequence[Group]) -> list[Verdicts] | int:
    """What the expressions of all groups come to, one after the other; the number of the one that was at hand where
    they come to their end first."""
    at = mmap(-1, _SIZE)  # the process that judges tells it here, and need not live for it
    numbers = count()

    def judge() -> list[Verdicts]:
        return [verdicts for group in groups for verdicts in _verdicts(group, numbers, at)]

    try:
        return apart(judge)
    except EndedError:
        return int.from_bytes(at[:], "little")


def _verdicts(group: Group, numbers: Iterator[int], at: mmap) -> list[Verdicts]:
    """Each value is shown to all expressions; one that failed is not asked again."""
    found = [(expression, Verdicts(), next(numbers).to_bytes(_SIZE, "little")) for expression in group.expressions]
    for number, value in enumerate(group.values):
        seen = Seen(value, group.each)
        for expression, verdicts, name in found:
            if verdicts.failed is None:
                at[:] = name
                result = expression.result(seen)
                if result is False:
                    verdicts.denied.append(number)
                elif result is not True:
                    verdicts.failed = number, result
    return [verdicts for _, verdicts, _ in found]
