"""How much an expression may ask of the machine that judges it. The engine counts the steps of its loops, and not what
they pile up: each `+` of two texts may double what the one before it made, and so may each `[a, a]` in a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fleetctl.checks.engine import LOOPS
from fleetctl.checks.fields import code
from fleetctl.checks.words import Said

SUMS = 6
"""So many `+`, and mentions of loops' variables after the first in a list or map, may stand in an expression: they make
at most 2 to the power of that times what it sees. What mentions no such variable grows with the text alone."""
DEEP = 5
"""So many loops may stand in each other, or go over each other's results."""

_SPLIT = "split it into several checks"
_TOKEN = re.compile(
    rf"(?P<loop>\.\s*(?:{'|'.join(LOOPS)})\s*\()"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<more>\.\s*\w+)|(?P<sum>\+)|(?P<name>\w+)|\S"
)


@dataclass(slots=True)
class _Level:
    """Inside one pair of parentheses: loops around it, those that the operand at hand goes through, the most so far."""

    around: int
    operand: int
    most: int


@dataclass(slots=True)
class _Copies:
    """What makes copies in the tokens so far: each `+`, and within a list or map each mention of a loop's variable but
    the first. `inside` is how deep in lists and maps the token at hand is. Of each outermost one, and of what is
    between them, the larger number of the two counts, since a `+` in a list adds up mentions; `before` is the sum of
    those that ended."""

    bound: set[str] = field(default_factory=set)
    naming: bool = False
    inside: int = 0
    before: int = 0
    sums: int = 0
    mentions: int = 0

    def take(self, kind: str | None, text: str) -> int:
        """The number of them with this token."""
        match kind:
            case "loop":
                self.naming = True
            case "name" if self.naming:
                self.bound.add(text)
                self.naming = False
            case "name":
                self.mentions += self.inside > 0 and text in self.bound
            case "sum":
                self.sums += 1
        if text in ("[", "]", "{", "}"):
            self.inside += 1 if text in ("[", "{") else -1
            if self.inside == 0 or (self.inside == 1 and kind == "open"):
                self.before, self.sums, self.mentions = self._all(), 0, 0
        return self._all()

    def _all(self) -> int:
        return self.before + max(self.sums, self.mentions - 1)


def excess(expr: str) -> tuple[Said, int] | None:
    """What is too much in a sound expression, and its line; None where nothing is."""
    for message, hint, offset in _found(code(expr)):
        before = expr[:offset]
        return Said(message, hint, offset - before.rfind("\n")), before.count("\n") + 1
    return None


def _found(text: str) -> Iterator[tuple[str, str, int]]:
    copies, levels = _Copies(), [_Level(0, 0, 0)]
    for token in _TOKEN.finditer(text):
        level = levels[-1]
        if copies.take(token.lastgroup, token[0]) > SUMS:
            yield f"it has more than {SUMS} +, or copies of a loop's variable in lists", _SPLIT, token.start()
        match token.lastgroup:
            case "loop":
                deep = level.operand + 1
                if deep > DEEP:
                    yield f"more than {DEEP} loops depend on each other", _SPLIT, token.start()
                levels.append(_Level(deep, deep, deep))
            case "open":
                levels.append(_Level(level.around, level.around, level.around))
            case "close" if len(levels) > 1:
                inner = levels.pop()
                levels[-1].operand = max(levels[-1].operand, inner.most)
                levels[-1].most = max(levels[-1].most, levels[-1].operand)
            case "more":
                pass
            case _:
                level.operand = level.around
