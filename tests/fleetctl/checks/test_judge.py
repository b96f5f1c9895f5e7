"""Checks held against plans: what they see, what they say, and what becomes of those that cannot be judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.problems import Problem
from fleetctl import checks
from fleetctl.base.bases import Base
from fleetctl.checks import apart
from fleetctl.checks.objects import Objects
from fleetctl.comparison.compare import Asked
from fleetctl.consequences import Consequences
from fleetctl.desired import Desired
from fleetctl.desired.model import Each
from fleetctl.desired.variables import LISTS, VARIABLES, Kind, described
from fleetctl.plan import make
from tests.fleetctl.guards.case import Case, entry, offers, pool_id, tombstone
from tests.model import desired, fleet
from tests.timing import times_as_long

MIG: dict[str, Any] = {"gpu": {"mig": {"devices": {"3g.40gb": 2}}}}
TIMES = [*range(90)]


def rule(expr: str, each: str | None = None, severity: str = "deny", name: str = "x") -> dict[str, Any]:
    written = {"name": name, "severity": severity, "expr": expr, "message": "as it should be"}
    return {**written, "each": each} if each else written


def judged(
    case: Case, *entries: dict[str, Any], rules: list[dict[str, Any]], base: Desired | None = None
) -> list[Problem]:
    live, files = case.live(), desired(fleet(*entries, checks=rules))
    plan = make(files, live, Asked(base=Base("main", None, base) if base else None))
    return checks.problems(Consequences(plan, live))


def holds(expr: str, each: str | None, case: Case, *entries: dict[str, Any]) -> bool:
    """Whether it is true of everything that it sees; that it can be judged is taken for granted."""
    problems = judged(case, *entries, rules=[rule(expr, each)])
    assert not any("cannot" in problem.message for problem in problems), problems
    return problems == []


class TestWhatIsSaid:
    def test_one_that_denies_is_an_error_and_one_that_warns_a_warning(self) -> None:
        for severity, expected in (("deny", "error"), ("warn", "warning")):
            [problem] = judged(Case(), entry("a"), rules=[rule("pools.size() > 1", severity=severity)])
            assert (problem.code, problem.rule, problem.severity) == ("BLOCKED", "check.x", expected)
            assert problem.message == "as it should be"

    def test_those_for_which_it_is_false_are_named_with_their_places_and_counted(self) -> None:
        entries = [entry(f"k{n}", siteId="site_ams1" if n % 2 else "site_fra1") for n in range(10)]
        [problem] = judged(Case(), *entries, rules=[rule("pool.siteId == 'site_fra1'", "pool")])
        assert problem.message.startswith("as it should be: k")
        assert problem.message.endswith("and 3 more pools")
        assert problem.message.count("(fleet.yaml:1)") == 2
        assert problem.hint == "the check x stands at fleet.yaml:1"

    def test_the_place_is_that_of_the_first(self) -> None:
        case = Case()
        case.pool("a", acme=8)
        wished = entry("a", offers=offers(acme=8, globex=99))
        [problem] = judged(case, wished, rules=[rule("offer.quota.gpu < 9", "offer")])
        assert problem.message == "as it should be: globex in a (fleet.yaml:1)"
        source = desired(fleet(wished)).entries[pool_id("a")].offer_places["globex"].source()
        assert problem.source is not None
        assert problem.source.line == source.line

    def test_checks_are_told_in_the_order_of_the_files(self) -> None:
        rules = [rule("false", None if n % 2 else "pool", name=f"c{n}") for n in range(4)]
        assert [p.rule for p in judged(Case(), entry("a"), rules=rules)] == [f"check.c{n}" for n in range(4)]

    def test_a_fleet_without_checks_is_not_looked_at(self) -> None:
        assert judged(Case(), entry("a"), rules=[]) == []


class TestWhatCannotBeJudged:
    @pytest.mark.parametrize("severity", ["deny", "warn"])
    @pytest.mark.parametrize(
        ("expr", "each", "message", "hint"),
        [
            ("pools.all(p, pools.all(q, pools.all(r, true)))", None, "it takes more than 9,999 steps", "with `each`"),
            (
                "pool.providerAccountId == 'x'",
                "pool",
                "there is no field providerAccountId",
                "has(….providerAccountId)",
            ),
            ("pool.policy.acceptence == 1", "pool", "there is no field acceptence", 'did you mean "acceptance"?'),
            ("pool.policy.maxPending > 3", "pool", "does not take what it is given: >(string, int64)", ""),
            ("pool.policy.maxPending", "pool", "it comes to a value of type string", "compare it"),
            ("offers[7].priority == 0", None, "an item that a list has not", "size()"),
            ("1 / (pools.size() - 30) == 1", None, "it divides by zero", ""),
            ("pool.offers.x == 1", "pool", "", ""),
            ("foo", None, "there is no variable foo", ""),
        ],
    )
    def test_it_blocks_whatever_its_severity(
        self, expr: str, each: str | None, message: str, hint: str, severity: str
    ) -> None:
        entries = [entry(f"k{n:02}", policy={"maxPending": "6h"}) for n in range(30)]
        [problem] = judged(Case(), *entries, rules=[rule(expr, each, severity)])
        assert (problem.rule, problem.severity) == ("check.x", "error")
        assert "cannot be" in problem.message
        assert message in problem.message
        assert hint in problem.hint
        assert problem.source is not None

    @pytest.mark.parametrize(("pools", "blocks"), [(9999, False), (10_000, True)])
    def test_as_many_steps_as_the_contract_says_are_taken(self, pools: int, blocks: bool) -> None:
        entries = [entry("a", policy={"numbers": [1] * pools})]
        problems = judged(Case(), *entries, rules=[rule("pools[0].policy.numbers.all(n, n == 1)")])
        assert [("9,999 steps" in problem.message) for problem in problems] == ([True] if blocks else [])

    def test_each_object_has_steps_of_its_own(self) -> None:
        entries = [entry(f"k{n}", policy={"numbers": [1] * 6000}) for n in range(4)]
        assert judged(Case(), *entries, rules=[rule("pool.policy.numbers.all(n, n == 1)", "pool")]) == []

    @pytest.mark.parametrize(
        "expr",
        [
            "pool.policy.token.matches('^(' + pool.policy.token)",
            "'x'.matches('(' + pool.policy.token)",
            "{'a': 1}[pool.policy.token] == 1",
            "duration(pool.policy.token) == duration('1h')",
            "timestamp(pool.policy.token) == timestamp('2026-01-01T00:00:00Z')",
            "int(pool.policy.token) == 1",
            "pool.policy.token",
            "pool.policy.token > 3",
            "[1][pool.policy.token] == 1",
            "pool.policy.token == ''",
        ],
    )
    def test_secrets_are_seen_and_never_told(self, expr: str) -> None:
        secret = "hunter2-very-secret"
        wished = entry("a", policy={"token": secret})
        [problem] = judged(Case(), wished, rules=[rule(expr, "pool")])
        assert "hunter2" not in f"{problem.message} {problem.hint} {problem.path}"

    def test_one_that_takes_too_much_memory_hides_no_other(self) -> None:
        expr = f"pools.all(p, {TIMES}.all(a, {TIMES}.all(b, ({' + '.join(['p.policy.note'] * 7)}).size() > 3)))"
        rules = [rule(expr, name="a"), rule("false", "pool", name="b")]
        first, second = judged(Case(), entry("a", policy={"note": "x" * 60_000}), rules=rules)
        assert first.message == "the check a cannot be judged: it takes more than 1 GiB of memory"
        assert (second.rule, second.message.partition(":")[0]) == ("check.b", "as it should be")

    @pytest.mark.parametrize("test", ["!p.policy.note.matches('(x{1,100}){1,9}y')", "p.policy.more == p.policy.more"])
    def test_one_that_takes_too_long_is_named_and_blocks(self, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(apart, "SECONDS", 1)
        rules = [
            rule("true", name="a"),
            rule(f"pools.all(p, {TIMES}.all(a, {TIMES}.all(b, {' && '.join([test] * 20)})))", name="b"),
        ]
        wished = entry("a", policy={"note": "x" * 2_000, "more": [[n] for n in range(8_000)]})
        [problem] = judged(Case(), wished, rules=rules)
        assert (problem.code, problem.rule, problem.severity) == ("BLOCKED", "check.b", "error")
        assert "all checks may take 30 seconds and 1 GiB together" in problem.message

    def test_one_that_cannot_be_judged_hides_no_other(self) -> None:
        rules = [
            rule("pool.providerAccountId == 'x'", "pool", name="a"),
            rule("false", "pool", name="b"),
            rule("foo", name="c"),
        ]
        assert [p.rule for p in judged(Case(), entry("a"), rules=rules)] == ["check.a", "check.b", "check.c"]

    def test_one_that_fails_after_it_warned_is_no_warning(self) -> None:
        rules = [rule("pool.policy.maxPending == '1h'", "pool", "warn")]
        for fails in (0, 1):
            entries = [entry(f"k{n}", policy={} if n % 2 == fails else {"maxPending": "6h"}) for n in range(6)]
            [problem] = judged(Case(), *entries, rules=rules)
            assert problem.severity == "error"
            assert "cannot be judged" in problem.message


class TestTheBase:
    def test_its_checks_count_too(self) -> None:
        base = desired(fleet(entry("a"), checks=[rule("pool.siteId != 'site_fra1'", "pool")]))
        [problem] = judged(Case(), entry("a", siteId="site_fra1"), rules=[], base=base)
        assert (problem.rule, problem.severity) == ("check.x", "error")
        assert problem.hint == "a check of the base: this change cannot remove it"

    def test_a_check_that_is_the_same_is_held_once(self) -> None:
        base = desired(fleet(entry("a"), checks=[rule("false", "pool")]))
        assert len(judged(Case(), entry("a"), rules=[rule("false", "pool")], base=base)) == 1

    def test_one_that_was_loosened_or_tightened_holds_in_both_ways(self) -> None:
        base = desired(fleet(entry("a"), checks=[rule("pool.siteId != 'site_fra1'", "pool")]))
        for site, denied in (("site_fra1", 1), ("site_ams1", 1), ("site_waw1", 0)):
            rules = [rule("pool.siteId != 'site_ams1'", "pool")]
            assert len(judged(Case(), entry("a", siteId=site), rules=rules, base=base)) == denied

    def test_its_lines_are_not_taken_for_those_of_the_files(self) -> None:
        base = desired(fleet(entry("a"), checks=[rule("foo")]))
        [problem] = judged(Case(), entry("a"), rules=[], base=base)
        assert problem.source is None


class TestWhatTheySee:
    def test_every_field_is_described_and_what_is_described_is_there(self) -> None:
        case = Case()
        case.pool("a", acme=8, globex=8, gpus=8)
        wished = desired(
            fleet(
                entry("a", policy={"maxPending": "6h"}, ownerQuota={"gpu": 8}, offers=offers(acme=4)),
                entry("p", **{"class": "provider"}, providerAccountId="pa_north", agent="none"),
            )
        )
        live = case.live()
        objects = Objects(Consequences(make(wished, live), live))
        kinds: dict[Kind, list[dict[str, Any]]] = {
            kind: [one.value for one in objects.of(kind)] for kind in get_args(Each)
        }
        kinds["capacity"] = objects.lists()["capacity"]
        assert kinds.keys() == VARIABLES.keys()
        for kind, values in kinds.items():
            assert {name for value in values for name in value} == set(VARIABLES[kind]), kind
        assert set(objects.lists()) == set(LISTS)
        assert all(f"{name}, " in described() for fields in VARIABLES.values() for name in fields)

    def test_pools_that_the_plan_makes_are_as_the_files_wish_them(self) -> None:
        case = Case()
        case.pool("a", policy={"maxPending": "1h"})
        wished = entry("a", policy={"maxPending": "6h"}, protect=True, offers=[])
        assert holds("pool.policy == {'maxPending': '6h'} && pool.protect && pool.agent == 'bcd'", "pool", case, wished)
        assert holds("pool.managed && !has(pool.providerAccountId)", "pool", case, wished)
        assert holds("pool.class == 'metal-host' && pool.idempotencyKey == 'a'", "pool", case, wished)

    def test_pools_that_go_are_not_among_them(self) -> None:
        """A tombstone may hold a key alone, and what goes need not be as it should be."""
        case = Case()
        case.pool("a", acme=8)
        wished = [entry("a", archived=True), entry("c")]
        assert holds("pools.map(p, p.idempotencyKey) == ['c'] && offers == []", None, case, *wished)
        assert holds("pools.map(p, p.idempotencyKey) == ['c']", None, case, tombstone("a"), entry("c"))

    def test_offers_are_those_that_there_will_be(self) -> None:
        case = Case()
        case.pool("a", acme=8, globex=16)
        assert holds("offers.map(o, o.toTenantId) == ['acme']", None, case, entry("a", offers=offers(acme=8)))
        unmanaged = entry("a", offers="unmanaged")
        assert holds("offers.map(o, o.toTenantId) == ['acme', 'globex']", None, case, unmanaged)
        assert holds("pools[0].offers == offers && offers[1].quota.gpu == 16", None, case, unmanaged)

    def test_rows_with_dots_are_asked_for_by_name(self) -> None:
        wished = entry("a", sharing="mig", policy=MIG, offers=offers(acme={"gpu.mig": 4}))
        assert holds("offer.quota['gpu.mig'] == 4 && !('gpu' in offer.quota)", "offer", Case(), wished)

    def test_operations_are_as_the_report_has_them(self) -> None:
        case = Case()
        case.pool("a", acme=8)
        wished = [entry("a", offers=offers(globex=4)), entry("b")]
        actions = "operations.map(o, o.action).filter(a, a == '{}').size() == 1"
        for action in ("create", "offer", "unoffer"):
            assert holds(actions.format(action), None, case, *wished)
        unoffers = "operation.action != 'unoffer' || (operation.severity == 'withdraws' && !has(operation.after)"
        assert holds(f"{unoffers} && operation.before.quota.gpu == 8)", "operation", case, *wished)
        assert holds("has(operation.toTenantId) == (operation.action != 'create')", "operation", case, *wished)

    def test_tenants_see_what_they_had_and_will_have_of_each_model(self) -> None:
        case = Case()
        case.pool("a", acme=8)
        case.pool("b", acme=4, globex=2)
        case.pool("foreign", acme=1)
        wished = [
            entry("a", offers=offers(acme=16)),
            tombstone("b"),
            entry("c", gpuModel="H200", offers=offers(acme=3)),
        ]
        rows = "[{'gpuModel': 'H100', 'atom': 'gpu', 'before': 13, 'after': 17},"
        rows += " {'gpuModel': 'H200', 'atom': 'gpu', 'before': 0, 'after': 3}]"
        assert holds(f"tenant.id != 'acme' || tenant.atoms == {rows}", "tenant", case, *wished)
        gone = "tenant.id != 'globex' || (tenant.atoms[0].after == 0 && tenant.offers == [])"
        assert holds(gone, "tenant", case, *wished)
        [problem] = judged(case, *wished, rules=[rule("tenant.offers.size() < 2", "tenant")])
        assert problem.message == "as it should be: acme (fleet.yaml:1)"

    def test_another_model_moves_what_tenants_hold(self) -> None:
        case = Case()
        case.pool("a", acme=8)
        wished = entry("a", gpuModel="H200", offers=offers(acme=8))
        after = "tenant.atoms.filter(a, a.after == 8).map(a, a.gpuModel) == ['H200']"
        assert holds(after, "tenant", case, wished)

    def test_an_unlimited_quota_is_a_number(self) -> None:
        wished = entry("a", offers=offers(acme=UNLIMITED))
        assert holds(f"offer.quota.gpu == {UNLIMITED}", "offer", Case(), wished)

    def test_what_nobody_knows_of_the_capacity_is_not_there(self) -> None:
        wished = entry("a", offers=offers(acme=8))
        assert holds("capacity.all(c, !has(c.schedulable) && c.after == 8)", None, Case(), wished)
        assert holds("capacity.size() == 1 && capacity[0].siteId == 'site_fra1'", None, Case(), wished)

    def test_tenants_and_the_capacity_are_one_sum(self) -> None:
        """Unlimited and unlimited is unlimited, on both."""
        wished = [entry(key, offers=offers(acme=UNLIMITED)) for key in ("a", "b")]
        assert holds(f"capacity.map(c, c.after) == [{UNLIMITED}]", None, Case(), *wished)
        assert holds(f"tenant.atoms.map(a, a.after) == [{UNLIMITED}]", "tenant", Case(), *wished)

    def test_policies_are_seen_whole(self) -> None:
        policy = {"acceptance": [{"kind": "diag.nvml"}], "own": {"deep": [1, 2.5, None, True]}}
        wished = entry("a", policy=policy)
        expr = "pool.policy.acceptance.exists(a, a.kind == 'diag.nvml') && pool.policy.own.deep == [1, 2.5, null, true]"
        assert holds(expr, "pool", Case(), wished)


def test_many_checks_of_a_large_fleet_cost_no_square() -> None:
    """10 checks of each kind, on up to 960 offers."""
    rules = [rule(f"offer.quota.gpu < {100 + n} && offer.siteId != 'x'", "offer", name=f"e{n}") for n in range(10)]
    rules += [rule(f"offers.all(o, o.quota.gpu < {100 + n})", name=f"a{n}") for n in range(10)]

    def prepared(pools: int) -> Callable[[], object]:
        wished = [entry(f"k{n:02}", offers=offers(**{f"t{m}": 8 for m in range(15)})) for n in range(pools)]
        live = Case().live()
        plan = make(desired(fleet(*wished, checks=rules)), live)
        assert checks.problems(Consequences(plan, live)) == []
        return lambda: checks.problems(Consequences(plan, live))

    assert times_as_long(prepared, 8, 64) < 24, "the square would be 64 times as long"
