"""Fields that no object has, found before an expression runs: `has` of a misspelt one would never be true."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleetctl.checks.engine import LOOPS
from fleetctl.desired import Check
from fleetctl.desired.variables import LISTS, VARIABLES, Kind

_TEXT = re.compile(
    r"//[^\n]*"
    r"""|(?<!\w)(?:[bB]?[rR]|[rR][bB])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')"""
    r"""|\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
"""Comments and texts: raw ones, in which a backslash is one, before the others."""
_BINDS = re.compile(rf"(?<![\w.])(\w+)\s*\.\s*(?:{'|'.join(LOOPS)})\s*\(\s*(\w+)\s*,")
_FOREIGN = re.compile(r"""\.\s*`?foreign(?!\w)|\[[\s(]*"foreign"[\s)]*]""")
_NAME = re.compile(r"""[rR]?(["']{1,3})foreign\1""")
_BOUND = re.compile(r"\(\s*(\w+)\s*,")


def code(expr: str) -> str:
    """The expression with blanks in the place of its comments and texts."""
    return _TEXT.sub(lambda text: "".join("\n" if c == "\n" else " " for c in text[0]), expr)


def sees_foreign(check: Check) -> bool:
    """Whether it asks what is foreign, and so sees such pools too."""
    expr = _TEXT.sub(lambda text: '"foreign"' if _NAME.fullmatch(text[0]) else " ", check.expr)
    return _FOREIGN.search(expr) is not None


def unknown(check: Check) -> Iterator[tuple[str, int, int]]:
    """Field, line and column of each that is asked of a variable, or of what runs through a list, and is none of its
    fields. A name that is bound twice may stand for anything, and is not looked at."""
    expr = code(check.expr)
    for name, kind in _kinds(expr, check).items():
        for found in re.finditer(rf"(?<![\w.]){name}\s*\.\s*([A-Za-z_]\w*)(?!\w|\s*\()", expr):
            if found[1] not in VARIABLES[kind]:
                before = expr[: found.start(1)]
                yield found[1], before.count("\n") + 1, found.start(1) - before.rfind("\n")


def _kinds(expr: str, check: Check) -> dict[str, Kind]:
    """What the names of the expression stand for, as far as that is certain."""
    bound = [found[1] for found in _BOUND.finditer(expr)]
    if check.each is not None:
        return {} if check.each in bound else {check.each: check.each}
    pairs = [(found[2], LISTS[found[1]]) for found in _BINDS.finditer(expr) if found[1] in LISTS]
    return {name: kind for name, kind in pairs if bound.count(name) == 1}
