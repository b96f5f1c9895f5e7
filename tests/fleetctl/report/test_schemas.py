"""The schemas are those of the forms, and every report keeps to its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from better_compute.domain.problems import Problem
from fleetctl.apply.journal import Outcome
from fleetctl.comparison.compare import compared
from fleetctl.drift import find
from fleetctl.fleet_diff import Side, compare
from fleetctl.formatting import FormattedFile
from fleetctl.history import History
from fleetctl.report import schemas
from fleetctl.report.of_apply import of_apply
from fleetctl.report.of_drift import of_drift
from fleetctl.report.of_fleet_diff import of_fleet_diff
from fleetctl.report.of_format import of_format
from fleetctl.report.of_id import of_id
from fleetctl.report.of_init import of_init
from fleetctl.report.of_validate import of_validate
from fleetctl.starter import Choices, Started
from tests.fleetctl.report.world import World, a_header, wished

ENTRIES = """\
  - {idempotencyKey: fra1-a, policy: {token: new}, offers: [{toTenantId: acme, quota: {gpu: 4}}]}
  - {idempotencyKey: fra1-old, archived: true}
  - {idempotencyKey: fra1-new, offers: [{toTenantId: acme, quota: {gpu: 8}}]}
  - {idempotencyKey: fra1-never, archived: true}
"""
OTHER = """\
  - {idempotencyKey: fra1-a, policy: {token: old}, offers: [{toTenantId: globex, quota: {gpu: 4}}]}
"""


def a_world() -> World:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 8}}, policy={"token": "old"})
    world.pool("fra1-old", {"acme": {"gpu": 8}})
    return world


def an_apply() -> Any:
    plan = a_world().plan(ENTRIES)
    problem = Problem("CONFLICT", "apply.answer", "it is not as wished")
    statuses = ["done", "failed", "blocked", "notStarted"] * len(plan.operations)
    outcomes = [
        Outcome(operation, status, problem=problem if status == "failed" else None)  # type: ignore[arg-type]
        for operation, status in zip(plan.operations, statuses, strict=False)
    ]
    return of_apply(plan, outcomes, a_header(), "hand", "SIGINT")


def a_drift() -> Any:
    found = find(compared(wished(ENTRIES), a_world().live()), lambda *_: History({}), 0)
    return of_drift(found, a_header())


def a_fleet_diff() -> Any:
    before, after = (Side(name, None, wished(entries)) for name, entries in (("a", ENTRIES), ("b", OTHER)))
    return of_fleet_diff(compare(before.desired, after.desired), before, after)


REPORTS: dict[str, Callable[[], Any]] = {
    "plan.v1": lambda: a_world().report(ENTRIES),
    "report.v1": an_apply,
    "drift.v1": a_drift,
    "validation.v1": lambda: of_validate([Problem("INVALID_INPUT", "pool.class", "no")], wished(ENTRIES)),
    "diff.v1": a_fleet_diff,
    "format.v1": lambda: of_format([FormattedFile("a.yaml", "left", "why")], check=True),
    "init.v1": lambda: of_init(
        Started("fleet", ("fleet/a.yaml",), Choices(fleet="f", tenant="r", caller="c", server=None, ci=True), ("a",))
    ),
    "id.v1": lambda: of_id("root", [("fra1-old", "sa_fleet"), ("fra1-a", "sa_fleet")]),
}


@pytest.mark.parametrize("name", schemas.FORMS)
def test_a_schema_is_one_and_says_what_its_parts_are(name: str) -> None:
    schema = schemas.schema(name)
    Draft202012Validator.check_schema(schema)
    assert all(definition["description"] for definition in schema["$defs"].values())


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_keeps_to_its_schema(name: str) -> None:
    report = json.loads(json.dumps(REPORTS[name]()))
    assert list(Draft202012Validator(schemas.schema(name)).iter_errors(report)) == []


@pytest.mark.parametrize("name", REPORTS)
def test_a_field_too_many_or_too_few_is_found(name: str) -> None:
    validator = Draft202012Validator(schemas.schema(name))
    report = REPORTS[name]()
    assert list(validator.iter_errors({**report, "more": 1}))
    assert list(validator.iter_errors({field: value for field, value in report.items() if field != "kind"}))
