"""A plan: frozen, ordered, with a digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.problems import INVALID_STATE, Problem
from better_compute.domain.values import Json
from fleetctl.comparison.compare import NOTHING, Asked, Comparison, compared
from fleetctl.desired import Desired
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.history import Reader, nothing_known
from fleetctl.live import Live
from fleetctl.order import GivenUp, Ordering, arrange
from fleetctl.plan import expecting
from fleetctl.plan.digest import Scope, content, inputs_digest, operation_digest, plan_digest
from fleetctl.plan.findings import findings
from fleetctl.plan.operation import Operation, Reason
from fleetctl.plan.operations import operations
from fleetctl.words import short


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be done, in `operations`' order or any that their `depends_on` admits, and what was found on the way.

    A finding of severity `error` blocks the whole plan. `comparison` is what the plan was made from; its `desired` has
    each entry under the id of its pool.
    """

    scope: Scope
    comparison: Comparison
    operations: tuple[Operation, ...]
    findings: tuple[Problem, ...]
    digest: str
    inputs: str
    sequence: int

    @property
    def blocked(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def with_findings(self, findings: Sequence[Problem]) -> Plan:
        return replace(self, findings=(*self.findings, *findings))


def make(desired: Desired, live: Live, asked: Asked = NOTHING, read_history: Reader = nothing_known) -> Plan:
    """The plan that brings `live` to `desired`, the files as they are written; for the rest, and what is raised, see
    `compare.compared`."""
    return _of(compared(desired, live, asked, read_history), live, desired)


def scope_of(desired: Desired, live: Live) -> Scope:
    """Whose a plan of these files at this control plane is."""
    return Scope(
        derivation=live.instance.derivation,
        instance_id=live.instance.id,
        fleet=desired.fleet,
        tenant_id=desired.tenant_id,
        caller=desired.caller or "",
    )


def _of(comparison: Comparison, live: Live, written: Desired) -> Plan:
    """Inputs are of the files as they are `written`: which pools they mean is no part of what was reviewed."""
    diff, settled = comparison.diff, comparison.desired
    scope = scope_of(settled, live)
    key = live.instance.digest_key
    undoes = comparison.asked.undoes
    unordered, taken_back = operations(diff, settled.tenant_id), tuple[Problem, ...]()
    if undoes is not None:
        reason = Reason("undo", f"it takes back what the apply {short(undoes)} did")
        unordered = [replace(operation, reason=reason) for operation in unordered]
    else:
        unordered, taken_back = expecting.told(unordered, settled, live.instance.now)
    heirs = {pool.entry.pool_id: pool.heir.pool_id for pool in diff.pools if pool.heir}
    ordering = arrange([operation.command for operation in unordered], live.pools, heirs)
    contents = [content(operation, key) for operation in unordered]
    ordered = _ordered(unordered, ordering, [operation_digest(scope, each) for each in contents])
    return Plan(
        scope=scope,
        comparison=comparison,
        operations=ordered,
        findings=(*findings(comparison, live), *taken_back, *_cycles(ordering, unordered)),
        digest=plan_digest(scope, contents),
        inputs=inputs_digest(_inputs(comparison, written), key),
        sequence=live.sequence,
    )


def _inputs(comparison: Comparison, written: Desired) -> Json:
    """All that a plan is made from besides live state: also the base, whose guards hold, and the part of the fleet."""
    base, selected = comparison.asked.base, comparison.asked.selected
    return {
        "files": canonical_inputs(written),
        "base": canonical_inputs(base.desired) if base and base.desired else None,
        "hasBase": base is not None,
        "prune": comparison.asked.prune,
        "only": [selector.text for selector in selected.only],
        "except": [selector.text for selector in selected.exclude],
    }


def _ordered(unordered: list[Operation], ordering: Ordering, digests: list[str]) -> tuple[Operation, ...]:
    numbers = {index: n for n, index in enumerate(ordering.sequence, 1)}
    lost: dict[int, list[tuple[str, int]]] = {}
    for given_up in ordering.given_up:
        told = _sentence(given_up, unordered), numbers[given_up.first]
        lost.setdefault(given_up.then, []).append(told)
    return tuple(
        replace(
            unordered[index],
            n=numbers[index],
            depends_on=tuple(sorted(numbers[other] for other in ordering.depends_on[index])),
            effects=(*unordered[index].effects, *(sentence for sentence, _ in lost.get(index, ()))),
            meanwhile=tuple(lost.get(index, ())),
            digest=digests[index],
        )
        for index in ordering.sequence
    )


def _sentence(given_up: GivenUp, unordered: list[Operation]) -> str:
    """What is missing or too much for a moment, for the one who reads the plan."""
    first, then, resource = unordered[given_up.first], unordered[given_up.then], given_up.resource
    # What is left of an unlimited row is no number that says anything.
    unlimited = any(UNLIMITED in _limits(o, resource) for o in (first, then))
    amount = f"any number of {resource}" if unlimited else f"{given_up.amount} {resource}"
    match given_up.kind:
        case "gap":
            return f"nobody holds the pool between {given_up.tenant_id} and its next tenant"
        case "below":
            less = f"{given_up.tenant_id} holds {amount} less until {first.name} is done"
            return f"{less}: these wishes wait for each other"
        case "above":
            return f"{amount} more than before or after are promised until {first.name} is done"


def _limits(operation: Operation, resource: str) -> list[int]:
    """The limits of a resource before and after an operation."""
    sides = [side for side in (operation.before, operation.after) if side]
    return [side[name].get(resource, 0) for side in sides for name in ("quota", "ownerQuota") if name in side]


def _cycles(ordering: Ordering, unordered: list[Operation]) -> list[Problem]:
    return [
        Problem(
            INVALID_STATE,
            "fleet.order",
            f"no order is legal: {', '.join(f'{unordered[i].action} {unordered[i].name}' for i in cycle)} each wait"
            " for another",
            hint="make the change in two steps",
            source=unordered[cycle[0]].source,
        )
        for cycle in ordering.cycles
    ]
