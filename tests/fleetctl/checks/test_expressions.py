"""What is wrong with an expression is told where it stands in the file, with the nearest that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from better_compute.domain.problems import Problem
from fleetctl import checks
from fleetctl.desired.load import assemble
from fleetctl.files import read_text

ROOT = """\
apiVersion: fleet/v1
tenantId: root
caller: sa_fleet
allowEmpty: true
checks:
"""
"""Line 6 is the first check's."""


def problems(written: str) -> list[Problem]:
    return checks.mistakes(assemble(read_text((ROOT + written).encode(), "fleet.yaml"), Path()).checks)


def told(expr: str, each: str = "") -> tuple[str, str]:
    """Message and hint of the one problem of an expression."""
    kind = f"each: {each}, " if each else ""
    quoted = expr.replace("'", "''")
    [problem] = problems(f"  - {{name: x, severity: deny, {kind}expr: '{quoted}', message: m}}\n")
    assert (problem.rule, problem.severity) == ("check.x", "error")
    return problem.message.removeprefix("the check x cannot be read: "), problem.hint


@pytest.mark.parametrize(
    ("expr", "each", "message", "hint"),
    [
        ("pols.all(p, true)", "", "there is no variable pols", 'did you mean "pools"?'),
        ("xyz == 1", "", "there is no variable xyz", "it sees pools, offers, operations, capacity"),
        (
            "pool.sharing == 'mig'",
            "",
            "there is no variable pool",
            "write `each: pool`, or ask for all of pools, offers, operations, capacity",
        ),
        ("pools.all(p, true)", "pool", "there is no variable pools", "with `each: pool` it sees pool alone"),
        ("offer.priority == 0", "pool", "there is no variable offer", "with `each: pool` it sees pool alone"),
        (
            "pool.gpuModle == 'H100'",
            "pool",
            "there is no field gpuModle in what it looks at",
            'did you mean "gpuModel"?',
        ),
        (
            "!has(pool.ownerQouta)",
            "pool",
            "there is no field ownerQouta in what it looks at",
            'did you mean "ownerQuota"?',
        ),
        (
            "offers.all(o, o.tenant == 'acme')",
            "",
            "there is no field tenant in what it looks at",
            'did you mean "toTenantId"?',
        ),
        (
            "pool.siteId.startWith('x')",
            "pool",
            "there is no function startWith",
            'did you mean "startsWith"?',
        ),
        ("pools.all(true)", "", "all does not take these arguments", ""),
        ("pool.siteId.startsWith(1)", "pool", "startsWith does not take (dyn, int)", ""),
        ("1 + 'a' == 'b'", "", "+ does not take (int, string)", ""),
        (
            "pool.siteId = 'x'",
            "pool",
            "it is no CEL from here on: token recognition error at: '='",
            "write ==",
        ),
        *(
            (expr, "", f"it is no CEL from here on: token recognition error at: '{half}'", f"write {half * 2}")
            for half in "&|"
            for expr in (f"true {half}", f"true {half}true", f"true {half} true")
        ),
        (
            "pool.protect and pool.protect",
            "pool",
            "it is no CEL from here on: mismatched input 'and' expecting <EOF>",
            "write &&",
        ),
        ("not pool.protect", "pool", "it is no CEL from here on: mismatched input 'pool' expecting <EOF>", "write !"),
        ("pools.all(p, true", "", "it ends too early: missing ')'", ""),
        ("true ||", "", "it ends too early: something is missing", ""),
        ("(" * 60 + "true" + ")" * 60, "", "it is nested too deeply", "split it into several checks"),
        (
            "[1]" + ".map(x, [x])" * 40 + " == []",
            "",
            "it is nested too deeply",
            "split it into several checks",
        ),
        ("size(pools)", "", "it comes to a value of type int, not to true or false", "compare it with something"),
        ("pools.siteId == 'x'", "", "it asks for a field of something that has none", "of a list: pools.all(p, …)"),
    ],
)
def test_a_mistake_is_told_with_what_is_meant(expr: str, each: str, message: str, hint: str) -> None:
    assert told(expr, each) == (message, hint)


def test_half_an_operator_at_the_end_of_a_line_is_told_like_one_inside_it() -> None:
    [problem] = problems("  - name: x\n    severity: deny\n    message: m\n    expr: |\n      true &\n      true\n")
    assert problem.message.endswith("token recognition error at: '&'")
    assert problem.hint == "write &&"


@pytest.mark.parametrize(
    ("expr", "each"),
    [
        ("true", ""),
        ("pools.all(p, p.gpuModel != 'H100' || p.policy.acceptance.exists(a, a.kind == 'diag.nvml'))", ""),
        ("pool.siteId != 'site_fra1' || pool.sharing != 'timeslice'", "pool"),
        ("'pool.nothing' != pool.id", "pool"),
        ("pool.policy.anything", "pool"),
        ("pool.offers.all(pool, pool.nothing)", "pool"),
        ("pools.all(p, offers.exists(p, p.anything))", ""),
        ("tenant.atoms.all(a, a.after <= 64)", "tenant"),
        ("!has(operation.before) || operation.before.quota.gpu <= operation.after.quota.gpu", "operation"),
        ("capacity.all(c, !has(c.oversellAfter) || c.oversellAfter <= 1.5)", ""),
    ],
)
def test_what_is_right_is_let_alone(expr: str, each: str) -> None:
    kind = f"each: {each}, " if each else ""
    quoted = expr.replace("'", "''")
    assert problems(f"  - {{name: x, severity: deny, {kind}expr: '{quoted}', message: m}}\n") == []


CHECK = "  - name: x\n    severity: deny\n    each: pool\n    message: m\n"


@pytest.mark.parametrize(
    ("written", "line", "column"),
    [
        ("    expr: pool.siteId == foo\n", 10, 26),
        ("    expr:    'pool.siteId == foo'\n", 10, 30),
        ("    expr: 'pool.siteId == ''a'' && foo'\n", 10, 36),
        ('    expr: "pool.siteId == \\"a\\" && foo"\n', 10, 36),
        ("    expr: |\n      pool.siteId == 'a' &&\n        foo\n", 12, 9),
        ("    expr: >-  # why\n      pool.siteId == 'a' &&\n\n      foo\n", 13, 7),
        ("    expr: pool.siteId == 'a' &&\n      foo\n", 11, 7),
        ("    expr: 'pool.siteId == ''a'' &&\n\n      foo'\n", 12, 7),
        ("    expr: |\n      pool.siteId == 'é' && pool.foo\n", 11, 34),
        ("    expr: pool.offers.all(o, true) && foo(pool)\n", 10, 39),
        ("    expr: &a pool.siteId == foo\n", 10, 11),
        ('    expr: "pool.siteId == \\u0066oo"\n', 10, 11),
    ],
)
def test_a_mistake_is_found_however_yaml_writes_the_expression(written: str, line: int, column: int) -> None:
    """Behind an anchor, or an escape of a letter, it is the expression as a whole."""
    [problem] = problems(CHECK + written)
    assert problem.source is not None
    assert (problem.source.line, problem.source.column) == (line, column)


def test_lines_that_end_as_on_windows_have_the_same_places() -> None:
    written = (ROOT + CHECK + "    expr: |\n      true &&\n        foo\n").replace("\n", "\r\n")
    [problem] = checks.mistakes(assemble(read_text(written.encode(), "fleet.yaml"), Path()).checks)
    assert problem.source is not None
    assert (problem.source.line, problem.source.column) == (12, 9)


def test_every_check_is_told() -> None:
    written = "".join(f"  - {{name: c{n}, severity: warn, expr: foo, message: m}}\n" for n in range(3))
    assert [problem.rule for problem in problems(written)] == ["check.c0", "check.c1", "check.c2"]
