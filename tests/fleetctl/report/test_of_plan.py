"""The report of a plan: whole, exact, and without a secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.policy.secrets import SENSITIVE
from fleetctl.override import Override
from fleetctl.report.forms import Operation, PlanReport
from tests.fleetctl.report.world import World

OFFER = "  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: %s}}]}\n"


def only(report: PlanReport) -> Operation:
    (operation,) = report["operations"]
    return operation


def test_it_has_every_field_of_the_contract() -> None:
    report = World().report(OFFER % 8)
    named = """formatVersion fleet tenantId caller reader server sequence base commit selection inputs digest checksum
        createdAt expiresAt operations findings drift capacity summary"""
    assert set(named.split()) <= set(report)
    of_operation = """n action poolId key toTenantId before after changes reason effects severity dependsOn precondition
        inverse source"""
    assert all(set(of_operation.split()) <= set(operation) for operation in report["operations"])


def test_an_operation_names_its_place_and_what_it_waits_for() -> None:
    create, offer = World().report(OFFER % 8)["operations"]
    assert (create["source"], create["before"], create["dependsOn"]) == (
        {"file": "fleet.yaml", "line": 8, "column": 5},
        None,
        [],
    )
    assert (offer["toTenantId"], offer["dependsOn"], offer["precondition"]) == ("acme", [1], {"offerVersion": 0})


def test_the_header_says_as_whom_where_and_under_which_override() -> None:
    report = World().report(
        OFFER % 8, Override({"archives": 2}, "site closes"), reader="sa_ci", server_overridden=True, commit="abc"
    )
    assert (report["caller"], report["reader"], report["commit"]) == ("sa_fleet", "sa_ci", "abc")
    assert report["server"]["overridden"] is True
    assert (report["allow"], report["reason"]) == ({"archives": 2}, "site closes")


def test_a_tenant_loses_the_gpus_of_a_pool_that_gets_another_model() -> None:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 8, "vcpu": 4}, "globex": {"gpu": 0}}, {"acme": 4})
    kept = "offers: [{toTenantId: acme, quota: {gpu: 8, vcpu: 4}}, {toTenantId: globex, quota: {gpu: 0}}]"
    report = world.report(f"  - {{idempotencyKey: fra1-a, gpuModel: H200, {kept}}}\n")
    assert [(loss["tenantId"], loss["sentence"], loss["operations"]) for loss in report["losses"]] == [
        ("acme", "loses 8 H100 GPUs in fra1-a", [1])
    ]
    assert [(row["gpuModel"], row["before"], row["after"]) for row in report["capacity"]["shares"]] == [
        ("H100", 8, 0),
        ("H200", 0, 8),
    ]


class TestSecrets:
    LIVE: dict[str, Any] = {
        "registry": {"user": "ci", "password": "hunter2-example"},
        "webhook": "https://u:pw-example@hooks.example/x",
    }
    FILES = """\
  - idempotencyKey: fra1-a
    policy:
      registry: {user: bot, password: hunter3-example}
      webhook: https://u:px-example@hooks.example/x
"""

    def test_stand_nowhere_in_the_report(self) -> None:
        world = World()
        world.pool("fra1-a", policy=self.LIVE)
        for report in (world.report(self.FILES), World().report(self.FILES)):
            text = json.dumps(report)
            assert "hunter" not in text
            assert "pw-example" not in text
            assert "px-example" not in text

    def test_carry_a_mark_where_they_change(self) -> None:
        world = World()
        world.pool("fra1-a", policy=self.LIVE)
        changes = {change["path"]: change for change in only(world.report(self.FILES))["changes"]}
        assert changes["policy.registry.password"] == {
            "path": "policy.registry.password",
            "before": SENSITIVE,
            "after": SENSITIVE,
            "sensitive": True,
        }
        shown = f"https://{SENSITIVE}@hooks.example/x"
        assert changes["policy.webhook"] == {
            "path": "policy.webhook",
            "before": shown,
            "after": shown,
            "sensitive": True,
        }
        assert changes["policy.registry.user"] == {"path": "policy.registry.user", "before": "ci", "after": "bot"}

    def test_that_are_new_leave_the_other_side_out(self) -> None:
        world = World()
        world.pool("fra1-a")
        (change, *_) = only(world.report("  - {idempotencyKey: fra1-a, policy: {apiToken: s3cret}}\n"))["changes"]
        assert change == {"path": "policy.apiToken", "after": SENSITIVE, "sensitive": True}

    @pytest.mark.parametrize("name", ["api.key", "x.password", "a password of mine"])
    def test_are_hidden_under_names_that_hold_the_paths_own_signs(self, name: str) -> None:
        world = World()
        world.pool("fra1-a", policy={name: "hunter2-example"})
        report = world.report("  - {idempotencyKey: fra1-a, policy: {%s: hunter3-example}}\n" % json.dumps(name))  # noqa: UP031
        assert only(report)["changes"]
        assert "hunter" not in json.dumps(report)

    def test_that_are_not_kept_cannot_be_brought_back(self) -> None:
        world = World()
        world.pool("fra1-a", policy=self.LIVE)
        assert only(world.report(self.FILES))["inverse"] == {
            "action": None,
            "after": None,
            "why": "its old value is sensitive and is not kept",
        }

    def test_in_the_servers_url_are_hidden(self) -> None:
        report = World().report(OFFER % 8, server_url="https://u:pw-example@compute.example.com")
        assert report["server"]["url"] == f"https://{SENSITIVE}@compute.example.com"


class TestNothingIsNotZero:
    def test_a_missing_side_is_left_out_and_null_is_a_value(self) -> None:
        world = World()
        world.pool("fra1-a", policy={"gone": None, "kept": ""})
        changes = only(world.report("  - {idempotencyKey: fra1-a, policy: {kept: 0}}\n"))["changes"]
        assert changes == [{"path": "policy.gone", "before": None}, {"path": "policy.kept", "before": "", "after": 0}]

    def test_no_row_zero_and_unlimited_are_three(self) -> None:
        entries = """\
  - idempotencyKey: fra1-a
    offers:
      - {toTenantId: acme, quota: {gpu: 0}}
      - {toTenantId: globex, quota: {vcpu: 64}}
      - {toTenantId: initech, quota: {gpu: 2147483647}}
"""
        after = {o["toTenantId"]: o["after"]["quota"] for o in World().report(entries)["operations"] if o["toTenantId"]}
        assert after == {"acme": {"gpu": 0}, "globex": {"vcpu": 64}, "initech": {"gpu": UNLIMITED}}


class TestLosses:
    def test_a_lowered_quota_is_one(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        report = world.report(OFFER % 16)
        assert report["losses"] == [
            {"tenantId": "acme", "sentence": "loses 16 H100 GPUs in fra1-a", "operations": [only(report)["n"]]}
        ]

    def test_a_raised_quota_is_none(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        assert world.report(OFFER % 64)["losses"] == []

    def test_a_withdrawn_offer_counts_with_all_its_rows(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32, "vcpu": 64}})
        (loss,) = world.report("  - {idempotencyKey: fra1-a, offers: []}\n")["losses"]
        assert loss["sentence"] == "loses 32 H100 GPUs, 64 vcpu and 1 offer in fra1-a"

    def test_an_archive_takes_the_offers_of_every_tenant(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}, "globex": {"gpu": 8}})
        losses = world.report("  - {idempotencyKey: fra1-a, archived: true}\n")["losses"]
        assert [(loss["tenantId"], loss["sentence"]) for loss in losses] == [
            ("acme", "loses 32 H100 GPUs and 1 offer in fra1-a"),
            ("globex", "loses 8 H100 GPUs and 1 offer in fra1-a"),
            ("root", "loses the pool fra1-a"),
        ]

    def test_an_unlimited_row_is_lost_in_words(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": UNLIMITED}})
        assert world.report(OFFER % 16)["losses"][0]["sentence"] == "loses its unlimited H100 GPUs in fra1-a"

    def test_the_owner_loses_too(self) -> None:
        world = World()
        world.pool("fra1-a", owner_quota={"gpu": 64})
        (loss,) = world.report("  - {idempotencyKey: fra1-a, ownerQuota: {gpu: 8}}\n")["losses"]
        assert (loss["tenantId"], loss["sentence"]) == ("root", "loses 56 H100 GPUs in fra1-a")

    def test_are_gross_over_pools_and_name_a_few(self) -> None:
        world, entries = World(), ""
        for number in range(5):
            world.pool(f"fra1-{number}", {"acme": {"gpu": 32}})
            entries += f"  - {{idempotencyKey: fra1-{number}, offers: [{{toTenantId: acme, quota: {{gpu: 24}}}}]}}\n"
        entries += "  - {idempotencyKey: fra1-new, offers: [{toTenantId: acme, quota: {gpu: 100}}]}\n"
        (loss,) = world.report(entries)["losses"]
        assert loss["sentence"].startswith("loses 40 H100 GPUs in fra1-")
        assert loss["sentence"].endswith(" and 3 more pools")
        assert len(loss["operations"]) == 5


class TestCapacity:
    def rows(self, report: PlanReport) -> list[tuple[str, str, int, int, int]]:
        return [
            (r["gpuModel"], r["tenantId"], r["before"], r["after"], r["inUse"]) for r in report["capacity"]["shares"]
        ]

    def test_is_over_all_pools_of_a_model(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, used={"acme": 20})
        world.pool("fra1-b", {"acme": {"gpu": 100}}, used={"acme": 7})
        entries = OFFER % 16 + "  - {idempotencyKey: fra1-b, offers: unmanaged}\n"
        assert self.rows(world.report(entries)) == [("H100", "acme", 132, 116, 27)]

    def test_leaves_out_the_owner_and_who_is_not_concerned(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 8}}, owner_quota={"gpu": 4})
        entries = """\
  - idempotencyKey: fra1-a
    ownerQuota: {gpu: 2}
    offers: [{toTenantId: acme, quota: {gpu: 9}}, {toTenantId: globex, quota: {gpu: 8}}]
"""
        assert self.rows(world.report(entries)) == [("H100", "acme", 8, 9, 0)]

    def test_shows_what_moves_between_pools(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        world.pool("fra1-b", {"acme": {"gpu": 8}})
        entries = OFFER % 4 + (OFFER % 12).replace("fra1-a", "fra1-b")
        assert self.rows(world.report(entries)) == [("H100", "acme", 16, 16, 0)]

    def test_knows_archived_pools_and_new_ones(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}}, used={"acme": 3})
        world.pool("fra1-old", {"acme": {"gpu": 99}}, archived_at=1)
        entries = """\
  - {idempotencyKey: fra1-a, archived: true}
  - {idempotencyKey: fra1-n, gpuModel: H200, offers: [{toTenantId: acme, quota: {gpu: 5}}]}
"""
        assert self.rows(world.report(entries)) == [("H100", "acme", 8, 0, 3), ("H200", "acme", 0, 5, 0)]

    def test_follows_a_pool_to_its_new_model(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 2}})
        entries = """\
  - idempotencyKey: fra1-a
    gpuModel: H200
    offers: [{toTenantId: acme, quota: {gpu: 8}}, {toTenantId: globex, quota: {gpu: 3}}]
"""
        assert self.rows(world.report(entries)) == [
            ("H100", "acme", 8, 0, 0),
            ("H100", "globex", 2, 0, 0),
            ("H200", "acme", 0, 8, 0),
            ("H200", "globex", 0, 3, 0),
        ]

    def test_unlimited_stays_unlimited_whatever_is_added(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": UNLIMITED}})
        world.pool("fra1-b", {"acme": {"gpu": 8}})
        entries = OFFER % 4 + (OFFER % UNLIMITED).replace("fra1-a", "fra1-b")
        assert self.rows(world.report(entries)) == [("H100", "acme", UNLIMITED, UNLIMITED, 0)]

    def test_is_in_the_atom_of_the_pool(self) -> None:
        entries = """\
  - {idempotencyKey: fra1-m, sharing: mig, ownerQuota: {gpu.mig: 7},
     offers: [{toTenantId: acme, quota: {gpu.mig: 7, gpu: 1}}]}
"""
        (row,) = World().report(entries)["capacity"]["shares"]
        assert (row["atom"], row["after"]) == ("gpu.mig", 7)


class TestSummary:
    def test_counts_actions_entries_and_findings(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        world.pool("fra1-gone")
        world.pool("other", created_by="sa_other")
        summary = world.report(OFFER % 8 + "  - {idempotencyKey: fra1-n, gpuModel: B200, offers: []}\n")["summary"]
        assert summary["actions"] == {"create": 1, "update": 0, "offer": 0, "setQuota": 0, "unoffer": 0, "archive": 0}
        assert (summary["entries"], summary["offers"], summary["changedPools"], summary["unchanged"]) == (2, 1, 1, 1)
        assert (summary["removed"], summary["foreign"], summary["blocked"]) == (["fra1-gone"], 1, False)

    def test_what_a_finding_keeps_from_its_wish_is_neither_changed_nor_unchanged(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        world.pool("fra1-b")
        summary = world.report("  - {idempotencyKey: fra1-a}\n  - {idempotencyKey: fra1-b}\n")["summary"]
        assert (summary["entries"], summary["changedPools"], summary["unchanged"], summary["errors"]) == (2, 0, 1, 1)

    def test_says_that_a_guard_blocks(self) -> None:
        world, entries = World(), ""
        for number in range(2):
            world.pool(f"fra1-{number}")
            entries += f"  - {{idempotencyKey: fra1-{number}, archived: true}}\n"
        report = world.report(entries)
        assert report["summary"]["blocked"]
        assert report["findings"][0]["rule"] == "guard.archives"
        assert not world.report(entries, Override({"archives": 2}, "site closes"))["summary"]["blocked"]

    def test_errors_come_before_warnings(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}})
        found = world.report("  - {idempotencyKey: fra1-never, archived: true}\n  - {idempotencyKey: fra1-a}\n")
        assert [f["severity"] for f in found["findings"]] == ["error", "warning"]


def test_a_pool_that_a_rule_refuses_is_reported_all_the_same() -> None:
    report = World().report("  - {idempotencyKey: fra1-a, sharing: shared, offers: []}\n")
    assert report["operations"][0]["atom"] is None
    assert report["summary"]["blocked"]
