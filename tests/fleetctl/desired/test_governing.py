"""Guards, checks, prices, expected differences and previous callers: what they become, and why they are refused."""

from __future__ import annotations

import pytest

from better_compute.domain.problems import Source
from fleetctl.desired import Freeze, Guards
from fleetctl.desired.inputs import canonical_inputs
from tests.reading import HEAD, POOL, desired, refusal, refused

POOLS = f"pools:\n{POOL}"
CHECK = "{name: %s, severity: deny, expr: 'true', message: all is well}"
DAY = 86_400_000
CHRISTMAS = 1_797_724_800_000
"""2026-12-20 in UTC."""


def root(text: str) -> str:
    """A fleet of one pool; the text begins on line 4."""
    return f"{HEAD}{text}\n{POOLS}"


def test_a_fleet_without_guards_has_the_defaults() -> None:
    made = desired(root("guards: {}"))
    assert made.guards == desired(HEAD + POOLS).guards == Guards()
    assert (made.checks, made.prices, made.expected, made.previous_callers, made.allow_empty) == ((), {}, (), (), False)


def test_each_guard_that_is_left_out_keeps_its_default() -> None:
    assert desired(root("guards: {maxArchives: 0}")).guards == Guards(max_archives=0)


def test_guards_are_what_they_say() -> None:
    text = (
        "guards: {maxArchives: 3, maxArchivePercent: 12.5, maxWithdrawals: 0, maxGpusWithdrawn: 64, maxOversell: 1.5,"
        " allowBelowUse: true, allowArchiveInUse: true, allowModelChange: true, protect: [b, a, b],"
        " freeze: [{from: 2026-12-20T02:00+02:00, to: 2026-12-21T00:00:00.000Z, reason: holidays}]}"
    )
    assert desired(root(text)).guards == Guards(
        max_archives=3,
        max_archive_percent=12.5,
        max_withdrawals=0,
        max_gpus_withdrawn=64,
        max_oversell=1.5,
        allow_below_use=True,
        allow_archive_in_use=True,
        allow_model_change=True,
        protect=frozenset({"a", "b"}),
        freeze=(Freeze(CHRISTMAS, CHRISTMAS + DAY, "holidays"),),
    )


def test_no_limit_on_overselling_may_be_written_as_null() -> None:
    assert desired(root("guards: {maxOversell: null}")).guards.max_oversell is None


def test_checks_of_all_documents_are_united_in_the_order_of_their_names() -> None:
    made = desired(root(f"checks: [{CHECK % 'b'}]"), f"checks: [{CHECK % 'a'}]", "checks: []")
    assert [(c.name, c.severity, c.expr, c.each, c.message) for c in made.checks] == [
        ("a", "deny", "true", None, "all is well"),
        ("b", "deny", "true", None, "all is well"),
    ]
    assert made.checks[0].place.source("name") == Source("1.yaml", 1, 17)
    assert made.files == {"0.yaml", "1.yaml", "2.yaml"}


def test_a_check_may_be_written_over_several_lines() -> None:
    expr = "    expr: |\n      pool.siteId != ''\n      && true\n"
    text = f"checks:\n  - name: a\n    severity: warn\n    each: pool\n{expr}    message: m"
    (check,) = desired(root(text)).checks
    assert (check.expr, check.each, check.severity) == ("pool.siteId != ''\n&& true\n", "pool", "warn")


def test_prices_expected_differences_and_previous_callers_are_what_they_say() -> None:
    made = desired(
        root(
            "prices: {H100: 2.10, L40S: 0}\npreviousCallers: [sa_b, sa_a]\nallowEmpty: true\n"
            "expected: [{key: b, reason: moving}, {key: a, path: policy.x, until: 2026-12-20T00:00Z, reason: test}]"
        )
    )
    assert (made.prices, made.previous_callers, made.allow_empty) == ({"H100": 2.1, "L40S": 0}, ("sa_b", "sa_a"), True)
    assert [(e.key, e.path, e.until, e.reason) for e in made.expected] == [
        ("a", "policy.x", CHRISTMAS, "test"),
        ("b", None, None, "moving"),
    ]
    assert made.expected[0].place.source("key") == Source("0.yaml", 7, 44)


@pytest.mark.parametrize(
    ("field", "here", "there"),
    [
        ("guards", "{maxArchives: 1}", "{maxArchives: 2}"),
        ("prices", "{H100: 2}", "{H100: 3}"),
        ("expected", "[]", "[{key: a, reason: b}]"),
        ("previousCallers", "[a]", "[b]"),
    ],
)
def test_what_the_whole_fleet_has_agrees_in_all_documents(field: str, here: str, there: str) -> None:
    problem = refusal(root(f"{field}: {here}"), f"{field}: {there}")
    assert (problem.rule, problem.source) == ("fleet.agree", Source("1.yaml", 1, len(field) + 3))
    assert desired(root(f"{field}: {here}"), f"{field}: {here}").entries


@pytest.mark.parametrize(
    ("text", "rule", "path", "other"),
    [
        (f"checks: [{CHECK % 'a'}, {CHECK % 'a'}]", "fleet.twice", "checks[a].name", "0.yaml:4:17"),
        ("previousCallers: [sa_a, sa_a]", "fleet.twice", "previousCallers[1]", "0.yaml:4:19"),
        ("previousCallers: [sa_fleet]", "fleet.contradiction", "previousCallers[0]", "0.yaml:3:9"),
        ("expected: [{key: a, reason: x}, {key: a, reason: y}]", "fleet.twice", "expected[1].key", "0.yaml:4:18"),
    ],
)
def test_what_stands_twice_is_refused_with_both_places(text: str, rule: str, path: str, other: str) -> None:
    problem = refusal(root(text))
    assert (problem.rule, problem.path) == (rule, path)
    assert other in problem.message


def test_a_check_stands_once_in_whatever_documents() -> None:
    problem = refusal(root(f"checks: [{CHECK % 'a'}]"), f"checks: [{CHECK % 'a'}]")
    assert (problem.rule, problem.source) == ("fleet.twice", Source("1.yaml", 1, 17))


def test_one_pool_may_differ_at_several_paths() -> None:
    text = "expected: [{key: a, path: x, reason: r}, {key: a, path: y, reason: r}, {key: a, reason: r}]"
    assert len(desired(root(text)).expected) == 3


@pytest.mark.parametrize("until", ["2026-12-20T00:00Z", "2026-12-19T23:00-01:00", "2026-12-19T23:00Z"])
def test_a_window_ends_after_it_begins(until: str) -> None:
    problem = refusal(root(f"guards: {{freeze: [{{from: 2026-12-20T00:00Z, to: '{until}', reason: r}}]}}"))
    assert (problem.rule, problem.path) == ("guard.freeze", "guards.freeze[0].to")


@pytest.mark.parametrize(
    ("time", "hint"),
    [
        ("2026-12-20", "write 2026-12-20T00:00Z"),
        ("2026-12-20T08:30", "write 2026-12-20T08:30Z"),
        ("2026-12-20 08:30", "write 2026-12-20T08:30Z"),
        ("2026-12-20T08:30z", "write 2026-12-20T08:30Z"),
        ("2026-02-30T00:00Z", "no calendar has this day, or no clock this time"),
        ("2026-12-20T25:00Z", "no calendar has this day, or no clock this time"),
        ("20.12.2026", ""),
        ("tomorrow", ""),
        ("12345", ""),
        ('""', ""),
        ('"2026-12-20T00:00Z\\n"', "write 2026-12-20T00:00Z"),
        ("[2026]", ""),
    ],
)
def test_a_time_is_exact_with_its_offset(time: str, hint: str) -> None:
    problem = refusal(root(f"expected: [{{key: a, until: {time}, reason: r}}]"))
    assert (problem.rule, problem.path, problem.hint) == ("fleet.type", "expected[0].until", hint)
    assert "a time with its offset, such as 2026-12-20T00:00Z" in problem.message


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("guards:", "guards", "write {} for none here"),
        ("guards: []", "guards", "a map of maxArchives"),
        ("guards: {maxArchives: }", "guards.maxArchives", "leave it out"),
        ("guards: {maxArchives: '3'}", "guards.maxArchives", "write 3, without quotes"),
        ("guards: {maxArchives: 1.5}", "guards.maxArchives", "write 1 or 2"),
        ("guards: {maxArchives: -1}", "guards.maxArchives", "the least is 0"),
        ("guards: {maxArchives: true}", "guards.maxArchives", "not true"),
        ("guards: {maxArchivePercent: 10%}", "guards.maxArchivePercent", "write 10, without quotes or a unit"),
        ("guards: {maxArchivePercent: 101}", "guards.maxArchivePercent", "write 100"),
        ("guards: {maxArchivePercent: false}", "guards.maxArchivePercent", "not false"),
        ("guards: {maxOversell: -1}", "guards.maxOversell", "write 0"),
        ("guards: {maxOversell: none}", "guards.maxOversell", "a number from 0 to 1000000, or null"),
        ("guards: {allowBelowUse: yes}", "guards.allowBelowUse", "write true"),
        ("guards: {protect: }", "guards.protect", "write [] to protect none here"),
        ("guards: {protect: a}", "guards.protect", "put it in brackets"),
        ("guards: {protect: [a b]}", "guards.protect[0]", "write a-b"),
        ("guards: {protect: ['']}", "guards.protect[0]", "not empty"),
        ("guards: {freeze: }", "guards.freeze", "write [] for no window"),
        ("guards: {freeze: {}}", "guards.freeze", "a list of windows"),
        ("guards: {freeze: [{}]}", "guards.freeze[0].from", "it is missing"),
        ("guards: {maxArchive: 1}", "guards.maxArchive", 'did you mean "maxArchives"?'),
        ("guards: {freze: []}", "guards.freze", 'did you mean "freeze"?'),
        ("guards: {from: 2026}", "guards.from", "a field of its freeze[]"),
        (
            f"checks: [{CHECK % 'a'}]".replace("severity: deny, ", ""),
            "checks[a].severity",
            "it is missing: What follows",
        ),
        ("guards: {keyPrefix: fra}", "guards.keyPrefix", "a field of the document, one level further out"),
        ("maxArchives: 1", "maxArchives", "a field of its guards"),
        ("severity: deny", "severity", "a field of its checks[]"),
        ("checks:", "checks", "write [] for none here"),
        ("checks: {a: 'true'}", "checks", "a list of checks"),
        ("checks: ['true']", "checks[0]", "a map of name, severity"),
        (f"checks: [{CHECK % 'a b'}]", "checks[0].name", "write a-b"),
        (f"checks: [{CHECK % 'a'}]".replace("deny", "den"), "checks[a].severity", 'did you mean "deny"?'),
        (f"checks: [{CHECK % 'a'}]".replace("deny", "error"), "checks[a].severity", "deny or warn"),
        (f"checks: [{CHECK % 'a'}]".replace("'true'", "true"), "checks[a].expr", 'in quotes it is text: "true"'),
        (f"checks: [{CHECK % 'a'}]".replace("'true'", "' '"), "checks[a].expr", "an expression in CEL"),
        (f"checks: [{CHECK % 'a'}]".replace("'true'", ""), "checks[a].expr", "it is null"),
        (f"checks: [{CHECK % 'a'}]".replace("expr", "epxr"), "checks[a].epxr", 'did you mean "expr"?'),
        (f"checks: [{CHECK % 'a, each: pools'}]", "checks[a].each", 'did you mean "pool"?'),
        (f"checks: [{CHECK % 'a, each: '}]", "checks[a].each", "leave it out"),
        ("prices:", "prices", "write {} for none here"),
        ("prices: [2]", "prices", "such as {H100: 2.10}"),
        ("prices: {h100: 2}", "prices.h100", "write H100"),
        ("prices: {NVIDIA H100: 2}", "prices.NVIDIA H100", "write H100"),
        ("prices: {NVIDIA H100 80GB HBM3: 2}", "prices.NVIDIA H100 80GB HBM3", "write H100"),
        ("prices: {H100: -2}", "prices.H100", "write 0"),
        ("prices: {H100: -0.0}", "prices.H100", "write 0"),
        ("prices: {H100: -.0}", "prices.H100", "write 0"),
        ("prices: {H100: -1e-400}", "prices.H100", "write 0"),
        ('prices: {"H100":-0}', "prices.H100", "write 0"),
        ("prices: {H100: +2.1}", "prices.H100", "write 2.1"),
        ("prices: {H100: 1e300}", "prices.H100", "write 1000000"),
        ("prices: {H100: 1.7976931348623157e308}", "prices.H100", "it must be a number from 0 to 1000000"),
        ("prices: {H100: '1_000.5'}", "prices.H100", "it must be a number from 0 to 1000000"),
        ("prices: {H100: 1_000}", "prices.H100", "write 1000"),
        ("guards: {maxOversell: 1e300}", "guards.maxOversell", "write 1000000"),
        ("guards: {maxOversell: +1}", "guards.maxOversell", "without a sign"),
        ("guards: {maxArchives: +1}", "guards.maxArchives", "write 1"),
        ("guards: {maxArchives: -0}", "guards.maxArchives", "write 0"),
        ("guards: {maxGpusWithdrawn: 1_000}", "guards.maxGpusWithdrawn", "write 1000"),
        ("guards: {maxArchivePercent: +10}", "guards.maxArchivePercent", "without a sign"),
        ("defaults: {offer: {priority: +3}}", "defaults.offer.priority", "write 3"),
        ("defaults: {offer: {priority: -0}}", "defaults.offer.priority", "write 0"),
        ("prices: {H100: '2.10'}", "prices.H100", "write 2.1, without quotes"),
        ("prices: {H100: true}", "prices.H100", "not true"),
        ("prices: {H100: }", "prices.H100", "not null"),
        ("expected:", "expected", "write [] for none here"),
        ("expected: {key: a}", "expected", "a list of differences"),
        ("expected: [a]", "expected[0]", "a map of key, path, until, reason"),
        ("expected: [{key: a}]", "expected[0].reason", "it is missing"),
        ("expected: [{reason: a}]", "expected[0].key", "it is missing"),
        ("expected: [{key: a, reason: ''}]", "expected[0].reason", "not empty"),
        ("expected: [{key: a, reason: r, until: }]", "expected[0].until", "leave it out"),
        ("expected: [{key: a, reason: r, path: 3}]", "expected[0].path", 'in quotes it is text: "3"'),
        ("expected: [{key: a, reson: r}]", "expected[0].reson", 'did you mean "reason"?'),
        ("previousCallers:", "previousCallers", "write [] for none here"),
        ("previousCallers: sa_a", "previousCallers", "put it in brackets"),
        ("previousCallers: [3]", "previousCallers[0]", 'in quotes it is text: "3"'),
        ("previousCaller: [sa_a]", "previousCaller", 'did you mean "previousCallers"?'),
        ("policys: {}", "policys", 'did you mean "policies"?'),
    ],
)
def test_what_is_wrong_is_refused_with_what_to_write(text: str, path: str, words: str) -> None:
    found = [problem for problem in refused(root(text)) if problem.path == path]
    assert len(found) == 1
    assert words in f"{found[0].message} {found[0].hint}"
    assert found[0].source
    assert found[0].source.line == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("guards: {}", "guards: {maxArchives: 1, maxOversell: null, freeze: []}"),
        ("guards: {maxArchivePercent: 10.0, protect: [a, b]}", "guards: {protect: [b, a, a]}"),
        (
            "guards: {freeze: [{from: 2026-12-20T00:00Z, to: 2026-12-21T00:00Z, reason: r}]}",
            "guards: {freeze: [{reason: r, from: 2026-12-20T01:00:00+01:00, to: 2026-12-20T23:00-01:00}]}",
        ),
        (f"checks: [{CHECK % 'a'}, {CHECK % 'b'}]", f"checks: [{CHECK % 'b'}, {CHECK % 'a'}]"),
        ("prices: {H100: 2}", "expected: [{key: a, reason: b}]"),
        ("allowEmpty: false", "previousCallers: []"),
    ],
)
def test_fleets_that_wish_the_same_have_the_same_inputs(one: str, other: str) -> None:
    assert canonical_inputs(desired(root(one))) == canonical_inputs(desired(root(other)))


@pytest.mark.parametrize(
    "text",
    [
        "guards: {maxArchives: 2}",
        "guards: {maxOversell: 1}",
        "guards: {protect: [a]}",
        "guards: {freeze: [{from: 2026-12-20T00:00Z, to: 2026-12-21T00:00Z, reason: r}]}",
        f"checks: [{CHECK % 'a'}]",
        "previousCallers: [sa_a]",
        "allowEmpty: true",
    ],
)
def test_what_a_plan_is_judged_by_shows_in_its_inputs(text: str) -> None:
    assert canonical_inputs(desired(root(text))) != canonical_inputs(desired(root("x-a: 1")))
