"""Fields that no object has, found before an expression runs: `has` of a misspelt one would never be true."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleetctl.desired import Check
from fleetctl.desired.variables import LISTS, VARIABLES

_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_BINDS = re.compile(r"(?<![\w.])(\w+)\s*\.\s*(?:all|exists|exists_one|filter|map)\s*\(\s*(\w+)\s*,")
_BOUND = re.compile(r"\(\s*(\w+)\s*,")


def unknown(check: Check) -> Iterator[tuple[str, int, int]]:
    """Field, line and column of each that is asked of a variable, or of what runs through a list, and is none of its
    fields. A name that is bound twice may stand for anything, and is not looked at."""
    expr = _TEXT.sub(lambda text: " " * len(text[0]), check.expr)
    for name, kind in _kinds(expr, check).items():
        for found in re.finditer(rf"(?<![\w.]){name}\s*\.\s*([A-Za-z_]\w*)(?!\w|\s*\()", expr):
            if found[1] not in VARIABLES[kind]:
                before = expr[: found.start(1)]
                yield found[1], before.count("\n") + 1, found.start(1) - before.rfind("\n")


def _kinds(expr: str, check: Check) -> dict[str, str]:
    """What the names of the expression stand for, as far as that is certain."""
    bound = [found[1] for found in _BOUND.finditer(expr)]
    if check.each is not None:
        return {} if check.each in bound else {check.each: check.each}
    pairs = [(found[2], LISTS[found[1]]) for found in _BINDS.finditer(expr) if found[1] in LISTS]
    return {name: kind for name, kind in pairs if bound.count(name) == 1}
