"""A plan: frozen, ordered, with a digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.problems import INVALID_STATE, UNCHECKED, Problem
from fleetctl.desired import Desired, PoolEntry
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.diff import Diff, compare
from fleetctl.live import ORIGIN, Live
from fleetctl.order import GivenUp, Ordering, arrange
from fleetctl.plan.digest import Scope, content, inputs_digest, operation_digest, plan_digest
from fleetctl.plan.operation import Operation
from fleetctl.plan.operations import operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be done, in `operations`' order or any that their `depends_on` admits, and what was found on the way.

    A finding of severity `error` blocks the whole plan. Counts are of entries.
    """

    scope: Scope
    operations: tuple[Operation, ...]
    findings: tuple[Problem, ...]
    digest: str
    inputs: str
    sequence: int
    entries: int
    changed_pools: int
    unchanged: int
    """Entries that are as wished: those that are neither changed nor kept from it by a finding."""
    removed: tuple[str, ...]
    foreign: int

    @property
    def blocked(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def with_findings(self, findings: Sequence[Problem]) -> Plan:
        return replace(self, findings=(*self.findings, *findings))


def make(desired: Desired, live: Live) -> Plan:
    """The plan that brings `live` to `desired`. Raises ValueError when the files name no caller: ids derive from it."""
    if desired.caller is None:
        raise ValueError("a plan needs a caller")
    diff = compare(desired, live.pools)
    scope = Scope(
        derivation=live.instance.derivation,
        instance_id=live.instance.id,
        fleet=desired.fleet,
        tenant_id=desired.tenant_id,
        caller=desired.caller,
    )
    key = live.instance.digest_key
    unordered = operations(diff, desired.tenant_id)
    ordering = arrange([operation.command for operation in unordered], live.pools)
    contents = [content(operation, key) for operation in unordered]
    ordered = _ordered(unordered, ordering, [operation_digest(scope, each) for each in contents])
    return Plan(
        scope=scope,
        operations=ordered,
        findings=(*_findings(diff, live), *_cycles(ordering, unordered)),
        digest=plan_digest(scope, contents),
        inputs=inputs_digest(canonical_inputs(desired), key),
        sequence=live.sequence,
        entries=len(desired.entries),
        changed_pools=len({operation.pool_id for operation in ordered}),
        unchanged=len(desired.entries) - len(diff.pools),
        removed=tuple(pool.idempotency_key or pool.id for pool in diff.removed),
        foreign=diff.foreign,
    )


def _ordered(unordered: list[Operation], ordering: Ordering, digests: list[str]) -> tuple[Operation, ...]:
    numbers = {index: n for n, index in enumerate(ordering.sequence, 1)}
    lost: dict[int, list[str]] = {}
    for given_up in ordering.given_up:
        lost.setdefault(given_up.then, []).append(_sentence(given_up, unordered))
    return tuple(
        replace(
            unordered[index],
            n=numbers[index],
            depends_on=tuple(sorted(numbers[other] for other in ordering.depends_on[index])),
            effects=(*unordered[index].effects, *lost.get(index, ())),
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


def _findings(diff: Diff, live: Live) -> list[Problem]:
    found = [
        replace(problem, source=pool.entry.place.source(problem.path), path=_named(pool.entry, problem.path))
        for pool in diff.pools
        for problem in pool.problems
    ]
    for entry in diff.gone:
        message = f"{_named(entry)} never existed: there is nothing to archive"
        source = entry.place.source("archived")
        found.append(Problem(INVALID_STATE, "fleet.tombstone", message, severity="warning", source=source))
    for removed in diff.removed:
        name = removed.idempotency_key or removed.id
        message = f"{name} is live, this fleet made it, and no entry names it: it is left as it is"
        hint = f"to archive it, write `- {{idempotencyKey: {name}, archived: true}}`"
        found.append(Problem(INVALID_STATE, "fleet.removed", message, name, hint, severity="warning"))
    if ORIGIN not in live.instance.capabilities:
        message = "this server does not say who made a pool, so pools that left the files cannot be told from others"
        found.append(Problem(UNCHECKED, "fleet.removed", message, severity="unchecked"))
    return found


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


def _named(entry: PoolEntry, path: str = "") -> str:
    """A path that starts with the entry's key, as people look for it."""
    name = f"pools[{entry.key or entry.pool_id}]"
    return f"{name}.{path}" if path else name
