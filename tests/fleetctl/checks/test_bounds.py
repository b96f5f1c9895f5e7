"""What an expression may ask of the machine: its length, loops, sums and copies are bounded before it runs."""

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
from fleetctl.checks.bounds import DEEP, SUMS, excess
from fleetctl.checks.engine import LOOPS, Expression, Mistake, Seen, compiled
from fleetctl.desired.shape import EXPR_MOST
from fleetctl.files import FilesError
from tests.model import desired, fleet

MOST = 2**SUMS
TEXT = "x" * 100
SEEN = {"pools": [{"policy": {"note": TEXT}}]}
Shape = Callable[[tuple[int, ...], str], str]


def refused(expr: str) -> list[Problem]:
    rule = {"name": "x", "severity": "deny", "expr": expr, "message": "as it should be"}
    return checks.mistakes(desired(fleet(allowEmpty=True, checks=[rule])).checks)


def chained(sums: tuple[int, ...], last: str) -> str:
    """A text, and loops over it, each with so many sums; `last` is asked of what comes out."""
    return "pools.map(p, p.policy.note)" + "".join(f".map(a, {'+'.join('a' * (n + 1))})" for n in sums) + f"[0].{last}"


def nested(sums: tuple[int, ...], last: str) -> str:
    """The same, each loop inside the one before."""
    inner = f"a{len(sums)}.{last}"
    for n, number in reversed([*enumerate(sums)]):
        inner = f"[{'+'.join([f'a{n}'] * (number + 1))}].all(a{n + 1}, {inner})"
    return f"[pools[0].policy.note].all(a0, {inner})"


def copied(copies: tuple[int, ...], opened: str = "[", closed: str = "]") -> str:
    """Loops that each put what they go over into a list, and so many copies of it."""
    return "pools.map(p, p.policy.note)" + "".join(
        f".map(a, {opened}{', '.join(['a'] * (n + 1))}{closed})" for n in copies
    )


def holds(expr: str) -> object:
    made = compiled(expr, None)
    assert isinstance(made, Expression), made
    return made.result(Seen(SEEN, None))


def test_every_loop_that_the_engine_has_is_known_and_bounded() -> None:
    for name in LOOPS:
        loops = f"pools.{name}(p, true)" + (".size() == 0" if name in ("filter", "map") else "")
        assert isinstance(compiled(loops, None), Expression)
        assert excess("pools" + f".{name}(p, true)" * (DEEP + 1))
    for name in ("existsOne", "transformList", "transformMap", "transformMapEntry", "sortBy", "optMap", "optFlatMap"):
        assert isinstance(compiled(f"pools.{name}(p, true)", None), Mistake)


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


def test_lists_in_loops_hold_no_more_copies_than_so_many_sums_would_make() -> None:
    splits = [each for each in product(range(SUMS + 1), repeat=DEEP - 2) if sum(each) == SUMS]
    for split in splits:
        expr = copied(split)
        assert refused(f"{expr} != []") == []
        last = compiled(f"dyn({expr})", None)
        assert isinstance(last, Expression)
        assert leaves(last.program.eval(Seen(SEEN, None).activation).plain_value()) <= MOST
    more = (*splits[0][:-1], SUMS + 1)
    [problem] = refused(f"{copied(more)} != []")
    assert "copies of a loop's variable" in problem.message


def leaves(value: object) -> int:
    return sum(map(leaves, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize(
    "expr",
    [
        "[[1]" + f".map(q, [{','.join('q' * 220)}])" * 4 + "].all(r, r == r)",
        copied((2, 2, 3)) + " != []",
        copied((2, 2), "[[", "]]") + ".all(a, [a, a, [a], a] != [])",
        copied((SUMS + 1,), "{1: [", "]}") + " != []",
        f"pools.map(p, {{{', '.join(f'{n}: p' for n in range(SUMS + 2))}}}) != []",
        f"pools.map((p), [{', '.join(['p'] * (SUMS + 2))}]) != []",
        "pools.all(p, [[p, p, p, p].map(q, [q, q, q, q])] != [])",
        f"pools.map(p, [p, p] {'+ [p]' * SUMS}) != []",
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
        f"pools.all(p, p.siteId in [{', '.join(['p.siteId'] * (SUMS + 1))}])",
        "pools.all(p, p.siteId in ['" + "', '".join("abcdefghijkl") + "'] && p.gpuModel in ['p, p, p, p, p, p, p, p'])",
        "pools.all(p, [p.siteId, p.gpuModel] in [['a', 'H100'], ['b', 'H100'], ['c', 'H200'], ['d', 'H200']])",
        f"pools.all(p, [{'+'.join(['p.policy.note'] * (SUMS + 1))}] != [])",
        "pools.all(p, {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8}[p.siteId] > 0)",
        "pools.all(p, [1, 2].exists(n, n == 1 && n < 2 && n < 3 && n < 4 && n < 5 && n < 6 && n < 7 && n < 8))",
        "// a + b + c + d + e + f + g + h\npools.size() < 9",
        " && ".join(f"pools.all(p, p.id != 'x{n}')" for n in range(20)),
        "pools.filter(p, true).all(p, p.policy.acceptance.filter(a, true).map(a, a.kind).exists(k, k == 'x'))",
    ],
)
def test_texts_comments_and_loops_beside_each_other_are_no_sums_no_copies_and_no_depth(expr: str) -> None:
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
