"""The report of an apply: what was done, what failed, what waited in vain, what was not begun."""

from __future__ import annotations

from collections.abc import Sequence

from better_compute.domain.policy.secrets import mask_text
from fleetctl.apply.journal import Outcome, Status
from fleetctl.plan import Plan
from fleetctl.report import forms, parts, problems
from fleetctl.report.parts import Header


def of_apply(
    plan: Plan,
    outcomes: Sequence[Outcome],
    header: Header,
    approved_by: forms.ApprovedBy,
    interrupted: str | None,
) -> forms.ApplyReport:
    """The outcomes in the plan's order. `interrupted` is the signal that ended the run early."""
    by_status: dict[Status, list[forms.Outcome]] = {"done": [], "failed": [], "blocked": [], "notStarted": []}
    for outcome in outcomes:
        by_status[outcome.status].append(of_outcome(outcome))
    return {
        **parts.headed(header),
        "kind": "apply",
        "digest": plan.digest,
        "commit": header.commit,
        "allow": dict(header.allow),
        "reason": None if header.reason is None else mask_text(header.reason),
        "selection": parts.selection(plan.comparison, plan.comparison.differs_outside),
        "approvedBy": approved_by,
        "interrupted": interrupted,
        "done": by_status["done"],
        "failed": by_status["failed"],
        "blocked": by_status["blocked"],
        "notStarted": by_status["notStarted"],
        "summary": {
            **parts.compared(plan.comparison),
            "operations": len(outcomes),
            "done": len(by_status["done"]),
            "failed": len(by_status["failed"]),
            "blocked": len(by_status["blocked"]),
            "notStarted": len(by_status["notStarted"]),
        },
    }


def of_outcome(outcome: Outcome) -> forms.Outcome:
    operation = outcome.operation
    return {
        "n": operation.n,
        "action": operation.action,
        "poolId": operation.pool_id,
        "key": operation.key,
        "toTenantId": operation.to_tenant_id,
        "digest": operation.digest,
        "status": outcome.status,
        "note": outcome.note,
        "problem": problems.problem(outcome.problem) if outcome.problem else None,
        "waitsFor": list(outcome.waits_for),
        "attempts": outcome.attempts,
        "source": problems.source(operation.source),
    }
