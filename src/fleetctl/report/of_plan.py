"""A plan's report: everything a reader may know of it, with nothing sensitive left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from better_compute.domain.policy.secrets import mask, mask_text
from better_compute.domain.values import Json
from fleetctl.consequences import Consequences
from fleetctl.consequences.grants import PoolFacts
from fleetctl.drift import DriftedOperation, Moved
from fleetctl.guards import Tally
from fleetctl.plan import Operation, Plan
from fleetctl.plan.operation import ACTIONS, Reason
from fleetctl.report import parts, problems, tenants
from fleetctl.report.parts import Header
from fleetctl.spelling import checksum, seal

if TYPE_CHECKING:
    from fleetctl.report import forms
    from fleetctl.together.joint import Together
    from fleetctl.undo import Back

_KEPT = 256
_MOST_FOREIGN = 100
"""Of what is nobody's business here no more are named."""


def of_plan(
    plan: Plan,
    header: Header,
    does: Consequences,
    taken: Iterable[Tally] = (),
    drifted: Sequence[DriftedOperation] = (),
    together: Together | None = None,
    back: Back | None = None,
    rest_of: str | None = None,
) -> forms.PlanReport:
    """The plan as JSON, with what it does to tenants, what guards count of that, what of it is not of this change, what
    it breaks together with others, the apply that it takes `back`, and the plan file that it is the rest of."""
    report: forms.PlanReport = {
        **parts.headed(header),
        **_asked(together, back, rest_of),
        "kind": "plan",
        "sequence": plan.sequence,
        "base": parts.base(plan.comparison),
        "prune": plan.comparison.asked.prune,
        "commit": header.commit,
        "selection": parts.selection(plan.comparison, plan.comparison.differs_outside),
        "inputs": plan.inputs,
        "digest": plan.digest,
        "checksum": "",
        "seal": "",
        "expiresAt": header.expires_at,
        "allow": dict(header.allow),
        "reason": None if header.reason is None else mask_text(header.reason),
        "operations": _operations(plan, does),
        "findings": problems.worst_first(plan.findings),
        "notes": [parts.note(note) for note in plan.comparison.notes],
        "drift": None if plan.comparison.asked.base is None else [_drifted(one) for one in drifted],
        "foreign": [parts.unnamed(pool) for pool in plan.comparison.diff.foreign[:_MOST_FOREIGN]],
        "snapshot": header.snapshot,
        "losses": tenants.losses(does),
        "gains": tenants.gains(does),
        "guards": list(_guards(taken, header)),
        "capacity": tenants.capacity(does.ledger),
        "summary": _summary(plan, drifted),
    }
    return _sealed(report, header)


def _sealed(report: forms.PlanReport, header: Header) -> forms.PlanReport:
    report["seal"] = seal(report, header.digest_key)
    report["checksum"] = checksum(report)
    return report


def _asked(together: Together | None, back: Back | None, rest_of: str | None) -> forms.AskedOfPlan:
    asked: forms.AskedOfPlan = {}
    if together is not None:
        from fleetctl.report.of_together import of_together  # not at the top, nor below: few plans have either

        asked["together"] = of_together(together)
    if back is not None:
        from fleetctl.report.of_undo import of_undo

        asked["undo"] = of_undo(back)
    if rest_of is not None:
        asked["restOf"] = rest_of
    return asked


def _operations(plan: Plan, does: Consequences) -> list[forms.Operation]:
    once = _Once(lru_cache(_KEPT)(_reason), lru_cache(_KEPT)(_precondition))
    return [_operation(operation, does.pools.of(operation.pool_id), once) for operation in plan.operations]


class _Once(NamedTuple):
    """Many operations have few reasons and few preconditions between them: a report, which nobody changes, holds each
    of them once."""

    reason: Callable[[Reason], forms.Reason]
    precondition: Callable[..., dict[str, Json]]


def _operation(operation: Operation, facts: PoolFacts, once: _Once) -> forms.Operation:
    return {
        "n": operation.n,
        "action": operation.action,
        "poolId": operation.pool_id,
        "key": operation.key,
        "toTenantId": operation.to_tenant_id,
        "siteId": facts.site_id,
        "gpuModel": facts.gpu_model,
        "atom": facts.atom,
        "before": mask(operation.before),
        "after": mask(operation.after),
        "changes": [parts.change(change) for change in operation.changes],
        "causes": list(operation.causes),
        "reason": once.reason(operation.reason),
        "effects": [mask_text(effect) for effect in operation.effects],
        "severity": operation.severity,
        "dependsOn": list(operation.depends_on),
        "precondition": once.precondition(*operation.precondition.items()),
        "inverse": parts.inverse(operation.inverse),
        "source": problems.source(operation.source),
        "digest": operation.digest,
    }


def _reason(reason: Reason) -> forms.Reason:
    return {"code": reason.code, "sentence": reason.sentence}


def _precondition(*items: tuple[str, Json]) -> dict[str, Json]:
    return dict(items)


def _drifted(one: DriftedOperation) -> forms.DriftedOperation:
    event = one.event
    fleet, undoes = (event.via.get(name) if event else None for name in ("fleet", "undoes"))
    return {
        "n": one.n,
        "kind": one.kind,
        "since": event.time if event else None,
        "actorId": mask_text(event.actor_id) if event else None,
        "eventType": event.type if event else None,
        "viaFleet": mask_text(fleet) if isinstance(fleet, str) else None,
        "undoes": mask_text(undoes) if isinstance(undoes, str) and undoes else None,
    }


def _guards(taken: Iterable[Tally], header: Header) -> Iterator[forms.GuardCount]:
    """Against the limits in force, or what an override lets pass in their place."""
    for tally in taken:
        limit = header.allow.get(tally.name, tally.limit)
        if limit is not None:
            yield {"guard": cast("Any", tally.name), "number": tally.number, "limit": limit}


def _summary(plan: Plan, drifted: Sequence[DriftedOperation]) -> forms.PlanSummary:
    actions = Counter(operation.action for operation in plan.operations)
    kinds = Counter(one.kind for one in drifted)
    diff, found = plan.comparison.diff, problems.severities(plan.findings)
    return {
        "operations": len(plan.operations),
        "actions": {action: actions[action] for action in ACTIONS.values()},
        **parts.compared(plan.comparison),
        "changedPools": len({operation.pool_id for operation in plan.operations}),
        "foreign": len(diff.foreign),
        "drift": None if plan.comparison.asked.base is None else {kind: kinds[kind] for kind in get_args(Moved)},
        "errors": found["error"],
        "warnings": found["warning"],
        "unchecked": found["unchecked"],
        "blocked": plan.blocked,
    }
