"""What an expression may ask of the machine: its length, its loops and its sums are bounded before it runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import product
from math import prod
from pathlib import Path

import pytest

from better_compute.domain.problems import Problem
from fleetctl import checks
from fleetctl.checks.bounds import DEEP, SUMS
from fleetctl.checks.engine import Expression, Seen, compiled
from fleetctl.desired.shape import EXPR_MOST
from fleetctl.files import FilesError
from tests.model import desired, fleet

MOST = 2**SUMS
TEXT = "x" * 100
Shape = Callable[[tuple[int, ...], str], str]


def refused(expr: str) -> list[Problem]:
    rule = {"name": "x", "severity": "deny", "expr": expr, "message": "as it should be"}
    return checks.problems_of(desired(fleet(allowEmpty=True, checks=[rule])).checks)


def chained(sums: tuple[int, ...], last: str) -> str:
    """A text, and loops over it, each with so many sums; `last` is asked of what comes out."""
    return "pools.map(p, p.policy.note)" + "".join(f".map(a, {'+'.join('a' * (n + 1))})" for n in sums) + f"[0].{last}"


def nested(sums: tuple[int, ...], last: str) -> str:
    """The same, each loop inside the one before."""
    inner = f"a{len(sums)}.{last}"
    for n, number in reversed([*enumerate(sums)]):
        inner = f"[{'+'.join([f'a{n}'] * (number + 1))}].all(a{n + 1}, {inner})"
    return f"[pools[0].policy.note].all(a0, {inner})"


def holds(expr: str) -> object:
    made = compiled(expr, None)
    assert isinstance(made, Expression), made
    return made.result(Seen({"pools": [{"policy": {"note": TEXT}}]}, None))


@pytest.mark.parametrize("shape", [chained, nested])
def test_what_passes_makes_no_text_that_is_more_than_so_many_times_what_it_sees(shape: Shape) -> None:
    splits = [sums for sums in product(range(SUMS + 1), repeat=DEEP - 1) if sum(sums) == SUMS]
    for sums in splits:
        times = prod(number + 1 for number in sums)
        expr = shape(sums, f"size() == {times * len(TEXT)}")
        assert refused(expr) == []
        assert holds(expr) is True
        assert times <= MOST
    assert len(splits) > 50


@pytest.mark.parametrize(
    "expr",
    [
        chained((SUMS + 1,), "size() > 0"),
        chained((0,) * DEEP, "size() > 0"),
        nested((0,) * DEEP, "size() > 0"),
        "pools.all(a, " * (DEEP + 1) + "true" + ")" * (DEEP + 1),
        "[" * DEEP + "pools.map(p, p)" + "][0].map(a, a)" * DEEP + " == []",
        f"'''a'b''' == '' || size({'+'.join(['pools[0].policy.note'] * (SUMS + 2))} + '') > 0",
        f"true // '\n && size({'+'.join(['pools[0].policy.note'] * (SUMS + 2))} + '') > 0 // '",
    ],
)
def test_what_piles_up_more_is_refused_at_its_place(expr: str) -> None:
    assert isinstance(compiled(expr, None), Expression)
    [problem] = refused(expr)
    assert problem.rule == "check.x"
    assert f"more than {SUMS} +" in problem.message or f"more than {DEEP} loops" in problem.message
    assert problem.source is not None
    assert problem.source.column > 1


@pytest.mark.parametrize(
    "expr",
    [
        "pools.all(p, p.siteId.matches('^[a-z]+(_[a-z0-9]+)+$') && p.siteId != '+++++++')",
        'pools.all(p, p.siteId != "a\\"+++++++" && p.siteId != r"\\d+++++++")',
        "// a + b + c + d + e + f + g + h\npools.size() < 9",
        " && ".join(f"pools.all(p, p.id != 'x{n}')" for n in range(20)),
        "pools.filter(p, true).all(p, p.policy.acceptance.filter(a, true).map(a, a.kind).exists(k, k == 'x'))",
    ],
)
def test_texts_comments_and_loops_beside_each_other_are_no_sums_and_no_depth(expr: str) -> None:
    assert refused(expr) == []


def test_an_expression_has_a_length_that_people_read() -> None:
    assert refused("true" + " " * (EXPR_MOST - 4)) == []
    with pytest.raises(FilesError, match="2,000 characters at most"):
        refused("true" + " " * (EXPR_MOST - 3))


_MEASURED = """
from pathlib import Path
from fleetctl.checks.engine import Seen, compiled
def most(): return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
expr, text = {expr!r}, "x" * 1_000_000
made, seen = compiled(expr, None), Seen({{"pools": [{{"policy": {{"note": text}}}}]}}, None)
before = most()
assert made.result(seen) is True
print((most() - before) / len(text))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the most that a process had")
def test_the_memory_of_the_worst_that_passes_is_a_multiple_of_what_it_sees() -> None:
    expr = chained((2, 2, 1, 1), "size() > 0")
    assert refused(expr) == []
    program = _MEASURED.format(expr=expr)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 10 < float(ran.stdout) < 4 * MOST
