"""The report of an apply: what was done, what failed, what waited in vain, what was not begun."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from better_compute.domain.policy.secrets import mask_text
from better_compute.domain.problems import Problem
from fleetctl.apply.journal import Outcome, Status
from fleetctl.apply.saved import SavedPlan
from fleetctl.history import LastEvent
from fleetctl.plan import Plan
from fleetctl.report import forms, parts, problems
from fleetctl.report.of_undo import of_undo
from fleetctl.report.parts import Header
from fleetctl.spelling import checksum, seal
from fleetctl.undo import Back


def of_apply(
    plan: Plan,
    outcomes: Sequence[Outcome],
    header: Header,
    approved_by: forms.ApprovedBy,
    interrupted: str | None,
    back: Back | None = None,
    saved: SavedPlan | None = None,
) -> forms.ApplyReport:
    """The outcomes in the plan's order. `interrupted` is the signal that ended the run early, `back` the apply that the
    plan takes back, `saved` the plan file that this one is the rest of, or all."""
    by_status: dict[Status, list[forms.Outcome]] = {"done": [], "failed": [], "blocked": [], "notStarted": []}
    done = {outcome.operation.n for outcome in outcomes if outcome.status == "done"}
    before = [] if saved is None else _before(saved, plan)
    for outcome in outcomes:
        by_status[outcome.status].append(of_outcome(outcome, _lasting(outcome, done)))
    report: forms.ApplyReport = {
        **parts.headed(header),
        "kind": "apply",
        "sequence": saved.sequence if saved and before else plan.sequence,
        "digest": plan.digest,
        "checksum": "",
        "seal": "",
        "commit": header.commit,
        "allow": dict(header.allow),
        "reason": None if header.reason is None else mask_text(header.reason),
        "selection": parts.selection(plan.comparison, plan.comparison.differs_outside),
        "approvedBy": approved_by,
        "interrupted": interrupted,
        "refused": None,
        "before": before,
        "done": by_status["done"],
        "failed": by_status["failed"],
        "blocked": by_status["blocked"],
        "notStarted": by_status["notStarted"],
        "undo": None if back is None else of_undo(back),
        "summary": _summary(plan, by_status),
    }
    return _sealed(report, header)


def of_refused(saved: SavedPlan, done: Collection[str], plan: Plan, header: Header, why: Problem) -> forms.ApplyReport:
    """The report of a run of a plan file that may not go on: what earlier runs `done` by it, by digests, is told all
    the same, so that it can be taken back. `plan` is the one that was made instead."""
    report = of_apply(replace(plan, operations=()), (), header, "plan", None)
    operations = saved.report["operations"]
    rest = [_of_saved(one, "notStarted") for one in operations if one["digest"] not in done]
    report |= {
        "sequence": saved.sequence,
        "digest": saved.digest,
        "commit": saved.commit,
        "refused": problems.problem(why),
        "before": [_of_saved(one, "done") for one in operations if one["digest"] in done],
        "notStarted": rest,
        "summary": {**report["summary"], "operations": len(rest), "notStarted": len(rest)},
    }
    return _sealed(report, header)


def _sealed(report: forms.ApplyReport, header: Header) -> forms.ApplyReport:
    report["seal"] = seal(report, header.digest_key)
    report["checksum"] = checksum(report)
    return report


def _before(saved: SavedPlan, plan: Plan) -> list[forms.Outcome]:
    """What earlier runs of a plan file did: all that is not to be done now, since this is the rest of it."""
    rest = {operation.digest for operation in plan.operations}
    return [_of_saved(one, "done") for one in saved.report["operations"] if one["digest"] not in rest]


def _of_saved(one: Mapping[str, Any], status: Status) -> forms.Outcome:
    """What became of an operation of a plan file otherwise than by this run."""
    return {
        "n": one["n"],
        "action": one["action"],
        "poolId": one["poolId"],
        "key": one["key"],
        "toTenantId": one["toTenantId"],
        "digest": one["digest"],
        "status": status,
        "found": False,
        "note": "",
        "problem": None,
        "waitsFor": [],
        "attempts": 0,
        "meanwhile": [],
        "inverse": one["inverse"],
        "source": one["source"],
    }


def _lasting(outcome: Outcome, done: Collection[int]) -> list[str]:
    """What was given up for a moment that goes on, since the run ended before what ends it."""
    if outcome.status != "done":
        return []
    return [sentence for sentence, end in outcome.operation.meanwhile if end not in done]


def of_outcome(outcome: Outcome, lasting: Sequence[str] = ()) -> forms.Outcome:
    operation = outcome.operation
    told: forms.Outcome = {
        "n": operation.n,
        "action": operation.action,
        "poolId": operation.pool_id,
        "key": operation.key,
        "toTenantId": operation.to_tenant_id,
        "digest": operation.digest,
        "status": outcome.status,
        "found": outcome.found,
        "note": outcome.note,
        "problem": problems.problem(outcome.problem) if outcome.problem else None,
        "waitsFor": list(outcome.waits_for),
        "attempts": outcome.attempts,
        "meanwhile": [mask_text(sentence) for sentence in lasting],
        "inverse": parts.inverse(operation.inverse),
        "source": problems.source(operation.source),
    }
    if outcome.moved_by:
        told["movedBy"] = _mover(outcome.moved_by)
    return told


def _mover(event: LastEvent) -> forms.Mover:
    return {
        "actorId": event.actor_id,
        "fleet": event.of_change("fleet"),
        "digest": event.of_change("digest"),
        "commit": event.of_change("commit"),
    }


def _summary(plan: Plan, by_status: Mapping[Status, Sequence[forms.Outcome]]) -> forms.ApplySummary:
    return {
        **parts.compared(plan.comparison),
        "operations": sum(map(len, by_status.values())),
        "done": len(by_status["done"]),
        "failed": len(by_status["failed"]),
        "blocked": len(by_status["blocked"]),
        "notStarted": len(by_status["notStarted"]),
    }
