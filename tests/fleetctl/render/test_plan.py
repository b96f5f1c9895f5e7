"""A plan on a terminal says the dangerous thing first, and each thing once."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.atoms import UNLIMITED
from fleetctl.look import Look
from fleetctl.override import Override
from fleetctl.render import json_, text
from fleetctl.report.forms import PlanReport
from fleetctl.report.saved import file_bytes
from tests.fleetctl.render import reports
from tests.fleetctl.render.formats import lines
from tests.fleetctl.report.world import World


def line_with(report: PlanReport, part: str, **how: Any) -> str:
    found = [line for line in lines(report, **how) if part in line]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture
def report() -> PlanReport:
    """One of each operation."""
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 32}, "globex": {"gpu": 16}}, {"acme": 20}, policy={"maxPending": "6h"})
    world.pool("fra1-old", {"initech": {"gpu": 8}})
    world.pool("fra1-q")
    return world.report("""\
  - idempotencyKey: fra1-new
    policy: {note: a b}
    offers: [{toTenantId: acme, quota: {gpu: 8}, priority: 3, includeDescendants: true}]
  - idempotencyKey: fra1-a
    policy: {maxPending: 12h}
    offers: [{toTenantId: acme, quota: {gpu: 16}, priority: 10}]
  - {idempotencyKey: fra1-q, ownerQuota: {gpu: 4}, offers: []}
  - {idempotencyKey: fra1-old, archived: true}
""")


class TestOperations:
    def test_each_stands_on_a_line_with_before_and_after_its_reason_and_its_place(self, report: PlanReport) -> None:
        shown = [" ".join(line.split()) for line in lines(report)]
        assert "- archive fra1-old live -> archived (fleet.yaml:15)" in shown
        assert "- withdraw fra1-a from globex gpu 16 -> no offer (fleet.yaml:13)" in shown
        assert "~ offer fra1-a to acme quota.gpu 32 -> 16, priority 0 -> 10 (fleet.yaml:13)" in shown
        assert "~ quota fra1-q of root ownerQuota.gpu unlimited (2147483647) -> 4 (fleet.yaml:14)" in shown
        assert "~ update fra1-a policy.maxPending 6h -> 12h (fleet.yaml:12)" in shown
        assert "+ create fra1-new (fleet.yaml:8)" in shown
        assert "+ offer fra1-new to acme gpu 8, priority 3, with descendants (fleet.yaml:10)" in shown

    def test_a_new_pool_is_told_whole(self, report: PlanReport) -> None:
        shown = [line.strip() for line in lines(report)]
        start = next(n for n, line in enumerate(shown) if line.startswith("+ create"))
        assert shown[start + 1 : start + 4] == [
            "H100 exclusive, metal-host at site_fra1, agent bcd",
            "owner quota gpu unlimited (2147483647)",
            'policy {"note": "a b"}',
        ]

    def test_the_dangerous_come_first(self, report: PlanReport) -> None:
        symbols = [line[2] for line in lines(report) if line[:2] == "  " and line[2:4] in ("- ", "~ ", "+ ")]
        assert symbols == ["-", "-", "~", "~", "~", "+", "+"]

    def test_pools_stand_by_their_keys_and_what_waits_below_what_it_waits_for(self) -> None:
        made = [reports.created(n, key, note=key) for n, key in enumerate(("c", "a", "d", "b"), 1)]
        offers = [
            reports.operation(n + 4, "offer", one["key"], "acme", after=reports.terms(gpu=n), dependsOn=[n])
            for n, one in enumerate(made, 1)
        ]
        shown = [line.split()[1:3] for line in lines(reports.a_plan([*made, *offers])) if line.startswith("  + ")]
        assert shown == [[verb, key] for verb in ("create", "offer") for key in "abcd"]

    def test_effects_stand_below_their_operation(self, report: PlanReport) -> None:
        shown = [line.strip() for line in lines(report)]
        archive = next(n for n, line in enumerate(shown) if line.startswith("- archive"))
        assert shown[archive + 1 : archive + 4] == [
            "! cannot be undone: no pool can have this key again",
            "! withdraws what it offers to initech",
            "because the files mark it archived",
        ]

    def test_verbose_says_why_of_each(self, report: PlanReport) -> None:
        because = [line for line in lines(report, verbose=True) if line.strip().startswith("because ")]
        assert len(because) == len(report["operations"])


class TestEqualOperations:
    def a_report(self, live: int, wished: str) -> PlanReport:
        world, entries = World(), ""
        for number in range(12):
            world.pool(f"fra1-{number:02}", {"acme": {"gpu": live}})
            entries += wished.replace("KEY", f"fra1-{number:02}")
        return world.report(entries, Override({"withdrawals": 12, "archives": 12}, "site closes"))

    def test_are_one_line_with_their_number(self) -> None:
        report = self.a_report(8, "  - {idempotencyKey: KEY, offers: [{toTenantId: acme, quota: {gpu: 16}}]}\n")
        line = line_with(report, "~ offer")
        assert "12 pools to acme  quota.gpu 8 -> 16" in line
        assert line.endswith("(fleet.yaml:8 and 11 more)")
        assert line_with(report, "--verbose: all").strip() == "fra1-00, fra1-01 and 10 more pools (--verbose: all)"
        assert "  fra1-07  " not in text.render(report)

    def test_that_stand_at_one_place_are_of_one_place(self) -> None:
        world, base = World(), "{note: a}"
        for number in range(3):
            world.pool(f"fra1-{number}")
        keys = "".join(f"  - {{idempotencyKey: fra1-{number}, policyRef: p, offers: []}}\n" for number in range(3))
        report = world.report(f"{keys}policies: {{p: {base}}}\n")
        assert line_with(report, "~ update").endswith("(fleet.yaml:11)")

    def test_are_named_when_verbose(self) -> None:
        report = self.a_report(8, "  - {idempotencyKey: KEY, offers: [{toTenantId: acme, quota: {gpu: 16}}]}\n")
        assert line_with(report, "  fra1-07  ", verbose=True).split() == ["fra1-07", "#2,", "fleet.yaml:15"]

    def test_that_take_something_away_are_always_named(self) -> None:
        for wished in ("  - {idempotencyKey: KEY, offers: []}\n", "  - {idempotencyKey: KEY, archived: true}\n"):
            report = self.a_report(8, wished)
            assert all(line_with(report, f"  fra1-{number:02}  ") for number in range(12))

    def test_are_not_those_that_only_look_alike_as_far_as_they_are_shown(self) -> None:
        entries = ""
        for number in range(12):
            policy = f"{{note: {'a' * 300}, singleTenant: {'true' if number == 7 else 'false'}}}"
            entries += f"  - {{idempotencyKey: fra1-{number:02}, offers: [], policy: {policy}}}\n"
        shown = [line.strip() for line in lines(World().report(entries)) if line.startswith("  + ")]
        assert [line.partition("  (")[0].split() for line in shown] == [
            ["+", "create", "11", "pools"],
            ["+", "create", "fra1-07"],
        ]

    def test_new_pools_that_differ_by_model_and_site_alone_are_told_once(self) -> None:
        keys = ["ams1-a100", "ams1-b200", "fra1-a100", "fra1-h100", *(f"fra1-a{n}" for n in range(6))]
        made = [reports.created(n, k, f"site_{k[:4]}", k[5:].upper()) for n, k in enumerate(keys, 1)]
        shown = lines(reports.a_plan(made))
        start = next(n for n, line in enumerate(shown) if "create" in line)
        assert [" ".join(line.split()) for line in shown[start : start + 6]] == [
            "+ create 10 pools exclusive, metal-host, agent bcd, owner quota gpu 8 (fra1.yaml:11 and 9 more)",
            "ams1-a100 A100 at site_ams1",
            "ams1-b200 B200 at site_ams1",
            "fra1-a100 A100 at site_fra1",
            "fra1-h100 H100 at site_fra1",
            "fra1-a0 A0 at site_fra1",
        ]

    def test_new_pools_of_one_model_and_site_are_named_as_a_few_of_them(self) -> None:
        keys = [f"fra1-{n}" for n in range(9)]
        made = [reports.created(n, k, model="H200" if n > 4 else "H100") for n, k in enumerate(keys, 1)]
        assert "fra1-0, fra1-1 and 2 more pools (--verbose: all)  H100 at site_fra1" in line_with(
            reports.a_plan(made), "H100 at"
        )
        assert line_with(reports.a_plan(made), "fra1-7  ", verbose=True).split() == [
            "fra1-7",
            "#8,",
            "H200",
            "at",
            "site_fra1,",
            "fra1.yaml:18",
        ]

    def test_two_stand_by_themselves(self) -> None:
        report = World().report("  - {idempotencyKey: fra1-a, offers: []}\n  - {idempotencyKey: fra1-b, offers: []}\n")
        assert line_with(report, "create    fra1-a")
        assert line_with(report, "create    fra1-b")


class TestWhoLoses:
    def test_comes_before_the_operations_one_line_a_tenant_with_its_place(self, report: PlanReport) -> None:
        shown = [" ".join(line.split()) for line in lines(report)]
        start = shown.index("Who loses")
        assert start < shown.index("Operations")
        assert shown[start + 1 : start + 5] == [
            "root loses its unlimited H100 GPUs in fra1-q, and the pool fra1-old fleet.yaml:15 and 1 more",
            "acme loses 16 H100 GPUs in fra1-a fleet.yaml:13",
            "globex loses 16 H100 GPUs and 1 offer in fra1-a fleet.yaml:13",
            "initech loses 8 H100 GPUs and 1 offer in fra1-old fleet.yaml:15",
        ]

    def test_who_gains_stands_below(self, report: PlanReport) -> None:
        shown = [" ".join(line.split()) for line in lines(report)]
        start = shown.index("Who gains")
        assert shown.index("Who loses") < start < shown.index("Operations")
        assert shown[start + 1] == "acme gains 8 H100 GPUs and 1 offer in fra1-new fleet.yaml:10"

    def test_is_not_there_where_nobody_does(self) -> None:
        assert "Who loses" not in text.render(World().report("  - {idempotencyKey: fra1-a, offers: []}\n"))


def test_no_row_zero_and_unlimited_look_different() -> None:
    world = World()
    world.pool("fra1-b", {"acme": {"gpu": 0}, "globex": {"vcpu": 64}})
    report = world.report(f"""\
  - idempotencyKey: fra1-a
    offers:
      - {{toTenantId: acme, quota: {{gpu: 0}}}}
      - {{toTenantId: globex, quota: {{vcpu: 64}}}}
      - {{toTenantId: initech, quota: {{gpu: {UNLIMITED}}}}}
  - idempotencyKey: fra1-b
    offers: [{{toTenantId: acme, quota: {{gpu: 1}}}}, {{toTenantId: globex, quota: {{gpu: 1, vcpu: 64}}}}]
""")
    assert "gpu 0  (" in line_with(report, "fra1-a to acme")
    assert "gpu no row (grants 0), vcpu 64" in line_with(report, "fra1-a to globex")
    assert "gpu unlimited (2147483647)" in line_with(report, "fra1-a to initech")
    assert "quota.gpu 0 -> 1" in line_with(report, "fra1-b to acme")
    assert "quota.gpu no row (grants 0) -> 1" in line_with(report, "fra1-b to globex")


def test_null_blank_missing_empty_and_zero_look_different() -> None:
    world = World()
    world.pool("fra1-a", policy={"a": None, "b": "", "d": {}, "e": 0, "f": "null", "g": "0", "h": []})
    report = world.report("  - {idempotencyKey: fra1-a, policy: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1}}\n")
    shown = {line.split()[0]: line.strip().split(" ", 1)[1] for line in lines(report) if "policy." in line}
    assert list(shown.values()) == [
        "null -> 1",
        '"" -> 1',
        "(absent) -> 1",
        "{} -> 1",
        "0 -> 1",
        '"null" -> 1',
        '"0" -> 1',
        "[] -> 1",
    ]


def test_long_values_are_cut_but_not_where_they_differ() -> None:
    world = World()
    same = "x" * 100
    world.pool("fra1-a", policy={"note": f"{same} old"})
    report = world.report(f'  - {{idempotencyKey: fra1-a, policy: {{note: "{same} new"}}}}\n')
    line = line_with(report, "policy.note")
    assert "x old" in line
    assert "x new" in line
    assert same not in line
    assert same in text.render(report, Look(verbose=True))


class TestHeader:
    def test_says_of_what_the_plan_is(self, report: PlanReport) -> None:
        shown = [" ".join(line.split()) for line in lines(report)]
        assert shown[:7] == [
            "Plan of fleet platform",
            "tenant root",
            "caller sa_fleet",
            "server https://compute.example.com (instance inst_1)",
            "base none: guards of the base not checked",
            "files 4 pools, 2 offers",
            "live as of event 412, 2026-11-30 00:53:20 UTC",
        ]

    def test_says_who_reads_what_overrides_and_when_it_expires(self) -> None:
        override = Override({"archives": 3}, "site closes")
        report = World().report(
            "  - {idempotencyKey: fra1-a, offers: []}\n",
            override,
            reader="sa_ci",
            server_overridden=True,
            commit="0123456789abcdef",
            expires_at=1_796_000_000_000,
        )
        shown = text.render(report)
        assert "sa_fleet, read by sa_ci" in shown
        assert "; --server overrides the files' pin" in shown
        assert "archives=3: site closes" in shown
        assert "commit 0123456789ab\n" in shown
        assert "expires  2026-11-30 00:53:20 UTC" in shown


class TestSummary:
    def test_counts_what_will_be_done(self, report: PlanReport) -> None:
        done = "1 to archive, 1 to withdraw, 2 cuts, 1 to create, 1 to update, 1 new offer"
        assert f"Plan: {done}; 0 of 4 pools unchanged." in lines(report)
        assert lines(report)[-1] == f"Digest: {report['digest']}"

    def test_tells_raises_and_other_terms_apart(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 8}, "initech": {"gpu": 8, "vcpu": 8}})
        shown = lines(
            world.report("""\
  - idempotencyKey: fra1-a
    offers:
      - {toTenantId: acme, quota: {gpu: 16}}
      - {toTenantId: globex, quota: {gpu: 8}, priority: 10}
      - {toTenantId: initech, quota: {gpu: 16, vcpu: 4}}
""")
        )
        assert "Plan: 1 cut, 1 raise, 1 offer on other terms; 0 of 1 pool unchanged." in shown

    def test_says_what_tenants_gain_and_lose_together_and_what_that_costs(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 16}})
        world.pool("fra1-b", {"acme": {"gpu": 8}}, gpu_model="L4")
        entries = """\
  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 10}}, {toTenantId: globex, quota: {gpu: 4}}]}
  - {idempotencyKey: fra1-b, gpuModel: L4, offers: [{toTenantId: acme, quota: {gpu: 16}}]}
"""
        assert "Tenants, net: -10 H100 GPUs, +8 L4 GPUs." in lines(world.report(entries))
        net = "Tenants, net: -10 H100 GPUs, +8 L4 GPUs; cost/h "
        priced = world.report(f"{entries}prices: {{H100: 2, L4: 1}}\n")
        assert f"{net}56.00 before, 44.00 after (-12.00)." in lines(priced)
        in_part = world.report(f"{entries}prices: {{H100: 2}}\n")
        assert f"{net}48.00 before, 28.00 after (-20.00, where a price and a limit are known)." in lines(in_part)

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            ("offers: []", "Not blocked: withdrawals 1, at most 10; GPUs withdrawn 8, at most 256."),
            (
                "archived: true",
                "Not blocked: archives 1, at most 1; withdrawals 1, at most 10; GPUs withdrawn 8, at most 256.",
            ),
            ("offers: [{toTenantId: acme, quota: {gpu: 9}}]", "Not blocked."),
        ],
    )
    def test_says_that_nothing_blocks_and_what_guards_would_still_let_pass(self, entry: str, said: str) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        assert said in lines(world.report(f"  - {{idempotencyKey: fra1-a, {entry}}}\n"))

    def test_what_an_override_lets_pass_is_what_a_guard_is_told_against(self) -> None:
        world, entries = World(), ""
        for key in "ab":
            world.pool(f"fra1-{key}")
            entries += f"  - {{idempotencyKey: fra1-{key}, archived: true}}\n"
        for allowed in (2, 3):
            report = world.report(entries, Override({"archives": allowed}, "site closes"))
            assert f"Not blocked: archives 2, at most {allowed}." in lines(report)
        assert "Not blocked" not in lines(world.report(entries)), "one apply may do 1"

    def test_says_that_nothing_changes(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        report = world.report("  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\n")
        assert "No changes. 1 pool, 1 offer as wished." in lines(report)

    @pytest.mark.parametrize(
        ("keys", "said"),
        [
            ("b", "1 pool of this fleet is in no file, and is left as it is."),
            ("bc", "2 pools of this fleet are in no file, and are left as they are."),
        ],
    )
    def test_counts_the_pools_that_left_the_files(self, keys: str, said: str) -> None:
        world = World()
        for key in ("a", *keys):
            world.pool(f"fra1-{key}")
        assert said in lines(world.report("  - {idempotencyKey: fra1-a}\n"))

    def test_a_blocked_plan_is_shown_whole_and_says_so(self) -> None:
        world = World()
        world.pool("fra1-a")
        world.pool("fra1-b")
        report = world.report(
            "  - {idempotencyKey: fra1-a, archived: true}\n  - {idempotencyKey: fra1-b, archived: true}\n"
        )
        assert line_with(report, "archive   fra1-a")
        assert "Blocked: 1 error (first: fleet.yaml:8). Nothing of this plan can be applied." in lines(report)
        assert line_with(report, "guard.archives").startswith("fleet.yaml:8:")
        assert 'Hint: if that is meant: --allow archives=2 --reason "why"' in text.render(report)

    def test_a_plan_that_finds_errors_and_has_no_operation_does_not_say_that_all_is_as_wished(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        shown = text.render(world.report("  - {idempotencyKey: fra1-a}\n"))
        assert "as wished" not in shown
        assert "Blocked: 1 error (first: fleet.yaml:8)." in shown

    def test_capacity_shows_a_grant_below_use(self, report: PlanReport) -> None:
        row = "H100 GPUs acme 32 -> 24 -8 20 below use by 4"
        assert row in [" ".join(line.split()) for line in lines(report)]
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, {"acme": 20})
        lowered = world.report("  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 16}}]}\n")
        row = "H100 GPUs acme 32 -> 16 -16 20 below use by 4"
        assert " ".join(line_with(lowered, "below use").split()) == row


def test_findings_that_say_the_same_are_counted() -> None:
    entries = "".join(f"  - {{idempotencyKey: fra1-{n}, policy: {{token: x}}, offers: []}}\n" for n in range(9))
    report = World().report(entries)
    assert sum("looks like a secret" in line for line in lines(report)) == 3
    assert line_with(report, "and 7 more (--verbose)")
    assert sum("looks like a secret" in line for line in lines(report, verbose=True)) == 9


def test_colour_is_there_only_when_asked_for(report: PlanReport) -> None:
    plain, coloured = text.render(report), text.render(report, Look(colour=True))
    assert "\x1b" not in plain
    assert "\x1b[31m- archive" in coloured
    assert "\x1b[32m+ create" in coloured


def test_json_is_what_the_plan_file_holds(report: PlanReport) -> None:
    assert json_.render(report).encode() == file_bytes(report)


def test_sites_where_no_machine_joined_are_compared_with_nothing() -> None:
    row = {"gpuModel": "H100", "atom": "gpu", "siteId": "site_fra1", "before": 0, "after": 8, "inUse": 0}
    unknown = {**row, "schedulable": None, "schedulableAfter": None, "oversellBefore": None, "oversellAfter": None}
    report = reports.a_plan([], capacity={"shares": [], "stock": [unknown]})
    assert "site_fra1" not in text.render(report)
    shown = " ".join(line_with(report, "site_fra1", verbose=True).split())
    assert shown == "H100 GPUs site_fra1 0 -> 8 +8 0 unknown unknown"


@pytest.mark.parametrize(
    ("limits", "machines", "ratios", "shown"),
    [
        ((100, 103), (100, 100), (1.0, 1.03), "100 -> 103 +3 0 100 1.00x -> 1.03x newly oversold"),
        ((150, 177), (100, 100), (1.5, 1.77), "150 -> 177 +27 0 100 1.50x -> 1.77x more oversold"),
        ((177, 150), (100, 100), (1.77, 1.5), "177 -> 150 -27 0 100 1.77x -> 1.50x"),
        ((150, 150), (100, 100), (1.5, 1.5), "150 0 0 100 1.50x"),
        ((150, 100), (100, 100), (1.5, 1.0), "150 -> 100 -50 0 100 1.50x -> 1.00x"),
        ((UNLIMITED, 150), (100, 100), (None, 1.5), "unlimited -> 150 less 0 100 unlimited -> 1.50x"),
        ((8, UNLIMITED), (100, 100), (0.08, None), "8 -> unlimited more 0 100 0.08x -> unlimited newly oversold"),
        ((64, 0), (64, 0), (1.0, 0.0), "64 -> 0 -64 0 64 -> 0 1.00x -> nothing sold"),
        ((0, 0), (64, 0), (0.0, 0.0), "0 0 0 64 -> 0 nothing sold"),
        ((64, 8), (64, 0), (1.0, None), "64 -> 8 -56 0 64 -> 0 1.00x -> unknown"),
        ((8, 80), (None, 64), (None, 1.25), "8 -> 80 +72 0 unknown -> 64 unknown -> 1.25x newly oversold"),
    ],
)
def test_a_site_tells_what_is_oversold_and_what_newly_is(limits: Any, machines: Any, ratios: Any, shown: str) -> None:
    row = {"gpuModel": "H100", "atom": "gpu", "siteId": "site_fra1", "before": limits[0], "after": limits[1]}
    row |= {"inUse": 0, "schedulable": machines[0], "schedulableAfter": machines[1]}
    row |= {"oversellBefore": ratios[0], "oversellAfter": ratios[1]}
    report = reports.a_plan([], capacity={"shares": [], "stock": [row]})
    assert " ".join(line_with(report, "site_fra1").split()) == f"H100 GPUs site_fra1 {shown}"


def test_tables_tell_the_largest_loss_first_and_what_is_newly_oversold() -> None:
    shares = [reports.share(f"t{n}", "site_fra1", 8, after) for n, after in enumerate((16, 8, 0, 4, 32))]
    stock = [reports.stock(f"site_{n}", 64, oversellBefore=before) for n, before in enumerate((1.6, 1.2, 0.75))]
    report = reports.a_plan([], capacity={"shares": shares, "stock": stock})
    shown = [line.split()[2] for line in lines(report) if line.startswith("  H100 GPUs")]
    assert shown == ["t2", "t3", "t4", "t0", "t1", "site_2", "site_1", "site_0"]


def test_slots_and_slices_are_called_that() -> None:
    shares = [reports.share("acme", "site_fra1", 8, 16, atom=atom) for atom in ("gpu.slot", "gpu.mig", "gpu.other")]
    shown = text.render(reports.a_plan([], capacity={"shares": shares, "stock": []}))
    assert all(unit in shown for unit in ("H100 slots", "H100 MIG slices", "H100 gpu.other"))


class TestNotes:
    def shown(self, number: int, **how: Any) -> list[str]:
        report = World().report("  - {idempotencyKey: fra1-a, offers: []}\n")
        place: Any = {"file": "fleet.yaml", "line": 12, "column": 3}
        report["notes"] = [
            {"kind": "id", "sentence": f"p{n} adopts pool_{n} by its id", "source": place} for n in range(number)
        ]
        report["notes"].append({"kind": "key", "sentence": "new is the pool that was made as old", "source": place})
        lines = text.render(report, Look(**how)).splitlines()
        return lines[lines.index("Notes") + 1 : lines.index("", lines.index("Notes"))]

    def test_a_few_stand_each_by_itself(self) -> None:
        assert self.shown(3) == [
            *(f"  p{n} adopts pool_{n} by its id  fleet.yaml:12" for n in range(3)),
            "  new is the pool that was made as old  fleet.yaml:12",
        ]

    def test_more_of_a_kind_are_counted_and_others_are_not(self) -> None:
        assert self.shown(60) == [
            "  60 entries adopt pools by their ids (--verbose)",
            "  new is the pool that was made as old  fleet.yaml:12",
        ]

    def test_all_are_told_to_those_who_ask(self) -> None:
        assert len(self.shown(60, verbose=True)) == 61
