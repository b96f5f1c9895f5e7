"""Explaining a pool from all sides, and names that messages tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from better_compute.domain.ids import derive
from fleetctl.report import schemas
from tests.fleetctl.cli.runs import ROOT, Fleet, Ran

POLICIES = """\
  - idempotencyKey: fra1-a
    policyRef: std
    policy: {overcommit: 1.5, registry: {password: hunter2-example}}
    ownerQuota: {gpu: 64}
    offers:
      - {toTenantId: acme, quota: {gpu: 8}, priority: 3}
policies:
  std:
    maxPending: 6h
    note: null
checks:
  - {name: whole, severity: deny, each: pool, expr: pool.sharing == 'exclusive', message: only whole GPUs}
"""
OLD = "  - {idempotencyKey: fra1-a, offers: []}\n"


def explained(fleet: Fleet, what: str, *flags: str) -> Any:
    """The report of an explanation that succeeded."""
    ran = explain(fleet, what, *flags, "--format", "json")
    assert ran.code == 0, ran
    report = json.loads(ran.out)
    Draft202012Validator(schemas.schema("explanation.v1")).validate(report)
    return report


def explain(fleet: Fleet, what: str, *flags: str) -> Ran:
    return fleet("explain", what, "--fleet", str(fleet.directory), *flags)


def pool(fleet: Fleet, what: str, *flags: str) -> Any:
    found = explained(fleet, what, *flags)["pool"]
    assert found is not None
    return found


def apply(fleet: Fleet, *flags: str) -> None:
    ran = fleet.on("apply", "--yes", *flags)
    assert ran.code == 0, ran.err


class TestAPool:
    def test_is_told_from_the_files_alone_where_no_server_is_to_be_asked(self, fleet: Fleet) -> None:
        fleet.write(POLICIES)
        found = pool(fleet, "fra1-a", "--offline")
        assert (found["server"], found["live"], found["events"]) == (None, None, [])
        assert not (fleet.directory / ".fleet").exists()
        assert found["poolId"] == derive("pool", "root", "sa_fleet", "fra1-a")
        assert found["entry"]["source"] == {"file": "fleet.yaml", "line": 9, "column": 5}
        assert found["entry"]["pool"]["siteId"] == "site_fra1"
        assert found["entry"]["ownerQuota"] == {"gpu": 64}

    def test_has_a_policy_of_which_every_part_stands_somewhere(self, fleet: Fleet) -> None:
        fleet.write(POLICIES)
        parts = pool(fleet, "fra1-a", "--offline")["entry"]["policy"]
        assert {part["name"]: (part["value"], part["source"]["line"]) for part in parts} == {
            "maxPending": ("6h", 17),
            "note": (None, 18),
            "overcommit": (1.5, 11),
            "registry": ({"password": "(sensitive)"}, 11),
        }

    def test_whose_key_is_a_word_of_reports_is_the_pool(self, fleet: Fleet) -> None:
        assert explained(fleet, "tombstone")["topic"]["kind"] == "word"
        fleet.write("  - {idempotencyKey: tombstone}\n", ROOT.replace("keyPrefix: fra1-\n", ""))
        assert pool(fleet, "tombstone", "--offline")["key"] == "tombstone"

    def test_is_told_live_with_what_each_tenant_has(self, fleet: Fleet) -> None:
        fleet.write(POLICIES.replace("    note: null\n", ""))
        apply(fleet)
        live = pool(fleet, "fra1-a")["live"]
        assert (live["createdBy"], live["archivedAt"], live["version"]) == ("sa_fleet", None, 1)
        assert live["policy"]["registry"] == {"password": "(sensitive)"}
        assert live["machines"]["schedulable"] is None
        assert [(t["tenantId"], t["offered"], t["priority"], t["rows"]) for t in live["tenants"]] == [
            ("root", False, None, [{"resource": "gpu", "max": 64, "used": 0}]),
            ("acme", True, 3, [{"resource": "gpu", "max": 8, "used": 0}]),
        ]

    def test_tells_who_changed_it_last_and_through_what(self, fleet: Fleet) -> None:
        apply(fleet)
        fleet.write("  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 9}}]}\n")
        apply(fleet, "--reason", "one more")
        events = pool(fleet, "fra1-a")["events"]
        assert [(event["type"], event["toTenantId"], event["actorId"]) for event in events] == [
            ("pool.offered", "acme", "sa_fleet"),
            ("pool.offered", "acme", "sa_fleet"),
            ("pool.created", None, "sa_fleet"),
        ]
        assert [event["via"].get("reason") for event in events] == ["one more", None, None]
        assert events[0]["via"]["fleet"] == "demo"

    def test_is_found_by_its_id(self, fleet: Fleet) -> None:
        apply(fleet)
        found = pool(fleet, derive("pool", "root", "sa_fleet", "fra1-a"))
        assert (found["key"], found["entry"] is not None, found["live"] is not None) == ("fra1-a", True, True)

    def test_that_stands_in_no_file_is_found_by_key_and_by_id(self, fleet: Fleet) -> None:
        apply(fleet)
        fleet.write("  - {idempotencyKey: fra1-b}\n")
        for name in ("fra1-a", derive("pool", "root", "sa_fleet", "fra1-a")):
            found = pool(fleet, name)
            assert (found["key"], found["entry"]) == ("fra1-a", None)
            assert found["live"]["key"] == "fra1-a"

    def test_that_is_not_live_says_so(self, fleet: Fleet) -> None:
        fleet.make()
        assert pool(fleet, "fra1-a")["live"] is None
        assert "not at embedded" in explain(fleet, "fra1-a").out

    def test_that_was_renamed_is_the_one_of_its_old_key(self, fleet: Fleet) -> None:
        apply(fleet)
        fleet.write("  - {idempotencyKey: fra1-n, previously: fra1-a, offers: unmanaged}\n")
        for name in ("fra1-n", "fra1-a"):
            found = pool(fleet, name)
            assert (found["key"], found["poolId"]) == ("fra1-n", derive("pool", "root", "sa_fleet", "fra1-a"))
            assert (found["entry"]["says"], found["live"]["key"]) == (["previously: fra1-a"], "fra1-a")

    def test_of_a_previous_caller_is_the_one_that_it_made(self, fleet: Fleet) -> None:
        world = fleet.directory / "world.yaml"
        more = "kind: service}, {id: sa_new, tenantId: root, kind: service}]"
        world.write_text(world.read_text().replace("kind: service}]", more))
        apply(fleet)
        fleet.write(OLD, ROOT.replace("caller: sa_fleet", "caller: sa_new\npreviousCallers: [sa_fleet]"))
        found = pool(fleet, "fra1-a")
        assert (found["poolId"], found["live"]["createdBy"]) == (
            derive("pool", "root", "sa_fleet", "fra1-a"),
            "sa_fleet",
        )

    @pytest.mark.parametrize("maker", ["sa_fleet", "sa_hand"])
    def test_that_is_adopted_by_its_id_is_found_by_the_key_that_it_was_made_under(
        self, fleet: Fleet, maker: str
    ) -> None:
        """Only the live pool knows that key where its maker is none of the fleet's callers."""
        world = fleet.directory / "world.yaml"
        more = "kind: service}, {id: sa_hand, tenantId: root, kind: service}]"
        world.write_text(world.read_text().replace("kind: service}]", more))
        fleet.write(
            "  - {idempotencyKey: gpu-hand, offers: []}\n", ROOT.replace("sa_fleet", maker).replace("fra1-", "gpu-")
        )
        apply(fleet)
        pool_id = derive("pool", "root", maker, "gpu-hand")
        fleet.write(f"  - {{idempotencyKey: fra1-n, id: {pool_id}, offers: unmanaged}}\n")
        for name in ("gpu-hand", "fra1-n", pool_id):
            found = pool(fleet, name)
            assert (found["key"], found["poolId"], found["live"]["key"]) == ("fra1-n", pool_id, "gpu-hand")
            assert found["entry"]["source"]["line"] == 9
        if maker == "sa_fleet":
            assert pool(fleet, "gpu-hand", "--offline")["key"] == "fra1-n"

    def test_that_was_archived_says_since_when(self, fleet: Fleet) -> None:
        fleet.write(OLD)
        apply(fleet)
        fleet.write("  - {idempotencyKey: fra1-a, archived: true}\n  - {idempotencyKey: fra1-b}\n")
        apply(fleet)
        found = pool(fleet, "fra1-a")
        assert found["live"]["archivedAt"] >= found["live"]["createdAt"]
        assert (found["entry"]["pool"], found["entry"]["says"]) == (None, ["archived: true"])
        assert found["events"][0]["type"] == "pool.archived"

    def test_is_shown_in_words(self, fleet: Fleet) -> None:
        fleet.write(POLICIES.replace("    note: null\n", ""))
        apply(fleet)
        ran = explain(fleet, "fra1-a")
        lines = ran.out.splitlines()
        assert lines[0] == "The pool fra1-a"
        for line in (
            "  files    fleet.yaml:9",
            "  maxPending  6h  fleet.yaml:17",
            "  acme  gpu 8, priority 3  fleet.yaml:14",
            "  acme  gpu 0 of 8, priority 3",
            "  machines  none joined",
        ):
            assert line in lines
        assert "hunter2" not in ran.out
        assert any(line.endswith("pool.created by sa_fleet, fleet demo") for line in lines)


class TestAName:
    @pytest.mark.parametrize(
        ("what", "kind", "name"),
        [
            ("guard.archives", "rule", "guard.archives"),
            ("policy.gpu.slots", "rule", "policy.gpu.slots"),
            ("version", "rule", "version"),
            ("archives", "rule", "guard.archives"),
            ("MISMATCH: the plan is stale", "code", "MISMATCH"),
            ("STOPPED", "code", "STOPPED"),
            ("USAGE: No such option", "code", "USAGE"),
            ("drift.changed", "word", "drift.changed"),
            ("tombstone", "word", "tombstone"),
            ("unstated", "word", "unstated"),
            ("INVALID_STATE", "code", "INVALID_STATE"),
            ("CONFLICT: this key belongs to another pool", "code", "CONFLICT"),
            ("fleet.yaml:8:5: a text [x] that must be a number [fleet.type]", "rule", "fleet.type"),
            (" [yaml.tab] ", "rule", "yaml.tab"),
        ],
    )
    def test_of_the_project_needs_neither_files_nor_server(
        self, fleet: Fleet, tmp_path: Path, what: str, kind: str, name: str
    ) -> None:
        ran = fleet("explain", what, "--fleet", str(tmp_path / "nothing"), "--format", "json")
        assert ran.code == 0, ran
        report = json.loads(ran.out)
        assert (report["topic"]["kind"], report["topic"]["name"], report["pool"]) == (kind, name, None)

    def test_is_shown_as_what_it_says_why_and_what_to_do(self, fleet: Fleet) -> None:
        lines = fleet("explain", "yaml.tab").out.splitlines()
        assert lines[0] == "The rule yaml.tab"
        assert [line.split()[0] for line in lines[1:4]] == ["says", "why", "do"]

    def test_of_what_is_pending_leads_both_ways_where_an_undo_took_it_back(self, fleet: Fleet) -> None:
        do = explained(fleet, "pending")["topic"]["act"]
        assert do == "Apply the files; or revert them too, where an undo took the change back."

    def test_of_a_check_is_explained_by_the_files(self, fleet: Fleet) -> None:
        fleet.write(POLICIES)
        topic = explained(fleet, "check.whole")["topic"]
        assert (topic["kind"], topic["says"], topic["source"]["line"]) == ("check", "only whole GPUs", 20)
        assert "pool.sharing == 'exclusive'" in topic["why"]
        assert not (fleet.directory / ".fleet").exists()

    @pytest.mark.parametrize(
        ("what", "says", "near"),
        [
            ("yaml.nubmer", "in these files", "yaml.number"),
            ("INVALID_STAT", "in these files", "INVALID_STATE"),
            ("guard.archive", "in these files", "guard.archives"),
            ("STALE", "in these files", "plan.stale"),
            ("MISMATHC", "in these files", "MISMATCH"),
            ("tombston", "in these files", "tombstone"),
            ("drift.chnged", "in these files", "drift.changed"),
            ("fra1-b", "in these files, nor at", "fra1-a"),
            ("check.hole", "no check hole", "whole"),
            ("no such thing", "in these files", ""),
        ],
    )
    def test_that_is_none_has_the_nearest_beside_it(self, fleet: Fleet, what: str, says: str, near: str) -> None:
        fleet.write(POLICIES)
        ran = explain(fleet, what)
        assert (ran.code, ran.out) == (1, "")
        assert says in ran.err
        assert f'did you mean "{near}"?' in ran.err if near else "Hint: name a pool's key" in ran.err

    def test_of_a_rule_with_a_slip_is_found_also_where_no_fleet_is(self, fleet: Fleet, tmp_path: Path) -> None:
        ran = fleet("explain", "yaml.nubmer", "--fleet", str(tmp_path / "nothing"))
        assert (ran.code, 'did you mean "yaml.number"?' in ran.err) == (1, True)

    def test_of_a_check_may_go_without_its_family(self, fleet: Fleet) -> None:
        fleet.write(POLICIES)
        assert explained(fleet, "whole", "--offline")["topic"] == explained(fleet, "check.whole", "--offline")["topic"]
        assert 'did you mean "whole"?' in explain(fleet, "whoel", "--offline").err

    def test_is_told_also_where_the_fleet_cannot_be_read(self, fleet: Fleet) -> None:
        (fleet.directory / "else.yaml").write_text("tenants: [{id: acme}]\n")
        for what in (
            "undo.left",
            "tombstone",
            "Interrupted by SIGINT",
            "Interrupted by SIGTERM: nothing new was started",
        ):
            assert explain(fleet, what).code == 0, what
        ran = explain(fleet, "STALE")
        assert 'Hint: did you mean "plan.stale"?' in ran.err
        assert "the fleet cannot be read: else.yaml:1:1: this is a world file" in ran.err

    def test_of_a_pool_in_a_broken_fleet_tells_what_is_broken(self, fleet: Fleet) -> None:
        fleet.write("  - {idempotencyKey: fra1-a, offrs: []}\n")
        ran = explain(fleet, "fra1-a")
        assert (ran.code, "[fleet.unknown]" in ran.err) == (1, True)

    def test_that_is_hostile_stays_text(self, fleet: Fleet) -> None:
        ran = explain(fleet, "\x1b[2Jfra1\r\n::error::x")
        assert ran.code == 1
        assert "\x1b" not in ran.err
        assert "\r" not in ran.err


def test_where_there_is_no_fleet_that_is_told_and_how_to_name_one(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = fleet("explain", "gpu-h100", "--fleet", str(tmp_path / "empty"))
    assert ran.code == 1
    assert "there is nothing called gpu-h100 here, and there is no fleet" in ran.err
    assert "--fleet PATH" in ran.err


def test_a_token_file_that_everybody_may_read_is_noted_beside_the_result(fleet: Fleet, tmp_path: Path) -> None:
    fleet.make()
    token = tmp_path / "token"
    token.write_text("bc_one")
    token.chmod(0o644)
    ran = fleet.on("plan", "--token-file", str(token), "--format", "json")
    assert ran.code == 0
    assert "Everybody on this machine may read" in ran.err
    assert "bc_one" not in ran.out + ran.err
