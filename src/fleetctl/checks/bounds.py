"""How much an expression may ask of the machine that judges it. The engine counts the steps of its loops, and not what
they pile up: each `+` of two texts may double what the one before it made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fleetctl.checks.fields import code
from fleetctl.checks.words import Said

SUMS = 6
"""So many `+` may stand in an expression: what it makes is at most 2 to the power of that times what it sees."""
DEEP = 5
"""So many loops may stand in each other, or go over each other's results."""

_TOKEN = re.compile(
    r"(?P<loop>\.\s*(?:all|exists|exists_one|existsOne|filter|map)\s*\()"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<more>\.\s*\w+)|(?P<sum>\+)|\w+|\S"
)


@dataclass(slots=True)
class _Level:
    """Inside one pair of parentheses: loops around it, those that the operand at hand goes through, the most so far."""

    around: int
    operand: int
    most: int


def excess(expr: str) -> tuple[Said, int] | None:
    """What is too much in a sound expression, and its line; None where nothing is."""
    for message, hint, offset in _found(code(expr)):
        before = expr[:offset]
        return Said(message, hint, offset - before.rfind("\n")), before.count("\n") + 1
    return None


def _found(text: str) -> Iterator[tuple[str, str, int]]:
    sums, levels = 0, [_Level(0, 0, 0)]
    for token in _TOKEN.finditer(text):
        level = levels[-1]
        match token.lastgroup:
            case "loop":
                deep = level.operand + 1
                if deep > DEEP:
                    yield f"more than {DEEP} loops depend on each other", "split it into several checks", token.start()
                levels.append(_Level(deep, deep, deep))
            case "open":
                levels.append(_Level(level.around, level.around, level.around))
            case "close" if len(levels) > 1:
                inner = levels.pop()
                levels[-1].operand = max(levels[-1].operand, inner.most)
                levels[-1].most = max(levels[-1].most, levels[-1].operand)
            case "more":
                pass
            case kind:
                level.operand = level.around
                sums += kind == "sum"
                if sums > SUMS:
                    yield f"it has more than {SUMS} +", "split it into several checks", token.start()
