"""Reports of an apply and of drift, and the small ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from better_compute.domain.ids import DERIVATION
from better_compute.domain.policy.secrets import SENSITIVE
from better_compute.domain.problems import VERSION_CONFLICT, Problem, Source
from fleetctl.apply.journal import Outcome, Status
from fleetctl.comparison.compare import compared
from fleetctl.diff import ABSENT, Change
from fleetctl.drift import Drift, Drifted
from fleetctl.plan import Plan
from fleetctl.report.of_apply import of_apply
from fleetctl.report.of_drift import of_drift
from fleetctl.report.of_id import of_id
from fleetctl.report.of_validate import of_validate
from fleetctl.report.problems import of_problems
from tests.builders import NOW
from tests.fleetctl.report.world import World, a_header, wished

ENTRIES = """\
  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 8}}, {toTenantId: globex, quota: {gpu: 8}}]}
  - {idempotencyKey: fra1-b, offers: []}
"""


@pytest.fixture
def plan() -> Plan:
    return World().plan(ENTRIES)


def test_an_apply_tells_the_four_ends_apart(plan: Plan) -> None:
    first, *rest = plan.operations
    statuses: tuple[Status, ...] = ("failed", "blocked", "notStarted")
    conflict = Problem(VERSION_CONFLICT, "", "the pool moved")
    outcomes = [
        Outcome(first, "done", found=True, attempts=2),
        *(
            Outcome(operation, status, problem=conflict if status == "failed" else None, waits_for=(1,))
            for operation, status in zip(rest, statuses, strict=True)
        ),
    ]
    report = of_apply(plan, outcomes, a_header(), "plan", "SIGTERM")
    assert [len(report[s]) for s in ("done", "failed", "blocked", "notStarted")] == [1, 1, 1, 1]
    counts = {"operations": 4, "done": 1, "failed": 1, "blocked": 1, "notStarted": 1}
    files = {"entries": 2, "offers": 2, "unchanged": 0, "removed": [], "waiting": []}
    assert report["summary"] == {**counts, **files}
    assert report["selection"] is None
    assert (report["done"][0]["found"], report["done"][0]["attempts"]) == (True, 2)
    assert report["failed"][0]["problem"] is not None
    assert report["failed"][0]["problem"]["code"] == VERSION_CONFLICT
    assert report["blocked"][0]["waitsFor"] == [1]
    assert (report["interrupted"], report["digest"]) == ("SIGTERM", plan.digest)


def test_what_was_given_up_for_a_moment_is_told_where_the_run_ended_in_it(plan: Plan) -> None:
    first, then, *_ = plan.operations
    first = replace(first, meanwhile=(("nobody holds the pool", then.n),))

    def told(*statuses: Status) -> list[list[str]]:
        outcomes = [Outcome(o, status) for o, status in zip((first, then), statuses, strict=True)]
        report = of_apply(plan, outcomes, a_header(), "plan", None)
        return [o["meanwhile"] for s in ("done", "failed", "notStarted") for o in report[s]]

    assert told("done", "failed") == told("done", "notStarted") == [["nobody holds the pool"], []]
    assert told("done", "done") == told("failed", "notStarted") == [[], []]


def test_drift_says_since_when_by_whom_and_through_which_change() -> None:
    drifted = Drifted(
        kind="changed",
        pool_id="pool_1",
        key="fra1-a",
        to_tenant_id="acme",
        what="the offer differs",
        changes=(Change(("quota", "gpu"), 64, ABSENT),),
        source=Source("fleet.yaml", 8, 5),
        since=NOW,
        actor_id="sa_ops",
        event_type="pool.offered",
        via={"fleet": "other", "token": "hunter2-example", "reason": "see https://u:pw-example@host/"},
    )
    differences = compared(wished(ENTRIES), World().live())
    found = Drift(comparison=differences, found=(drifted,), outside=0, remarks=())
    report = of_drift(found, a_header())
    (one,) = report["drift"]
    assert (one["since"], one["actorId"], one["eventType"]) == (NOW, "sa_ops", "pool.offered")
    assert one["changes"] == [{"path": "quota.gpu", "before": 64}]
    assert one["via"] == {"fleet": "other", "token": SENSITIVE, "reason": f"see https://{SENSITIVE}@host/"}
    counts = {"changed": 1, "pending": 0, "removed": 0, "expected": 0}
    assert report["summary"] == {**counts, "entries": 2, "offers": 2, "waiting": []}
    assert "example" not in json.dumps(one)


def test_a_validation_counts_and_an_error_makes_it_invalid() -> None:
    warning = Problem("INVALID_INPUT", "policy.secret", "a secret", severity="warning")
    error = Problem("INVALID_INPUT", "pool.class", "no such class")
    assert of_validate([warning], wished(ENTRIES))["valid"]
    report = of_validate([warning, error], wished(ENTRIES))
    assert not report["valid"]
    assert [p["severity"] for p in report["problems"]] == ["error", "warning"]
    assert report["summary"] == {"entries": 2, "offers": 2, "errors": 1, "warnings": 1, "unchecked": 0}


def test_a_problem_holds_no_user_part_of_a_url() -> None:
    url = "https://u:pw-example@host/"
    report = of_problems([Problem("UNAVAILABLE", "", f"no answer from {url}", f"policy.{url}", f"try {url}")])
    assert "pw-example" not in json.dumps(report)


def test_an_id_says_what_it_derives_from() -> None:
    report = of_id("root", [("fra1-a", "sa_fleet")])
    assert report["derivedFrom"] == {
        "derivation": DERIVATION,
        "kind": "pool",
        "tenantId": "root",
        "caller": "sa_fleet",
        "key": "fra1-a",
    }
