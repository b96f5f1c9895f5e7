"""The guard that nothing lifts: what is protected loses nothing."""

from __future__ import annotations

from collections.abc import Sequence

from better_compute.domain.problems import BLOCKED, INVALID_INPUT, Problem
from fleetctl.comparison.naming import names
from fleetctl.desired.nearest import Nearest
from fleetctl.guards.tally import Case
from fleetctl.plan import Operation
from fleetctl.words import count, listed

_HINT = "take them out of `protect` in a change of its own first: no override lets this pass"
_REPAIR = "in a change of its own first, write a key or id that the pool has, or take the name away"


def problems(case: Case) -> list[Problem]:
    """Operations that archive a protected pool, withdraw an offer of it, or lower a GPU quota of it to 0. A protected
    name that is nobody's may be that of any pool: beside it, no such operation passes."""
    protected = case.guards.protect
    if not protected:
        return []
    taking = {grant.operation.n for grant in case.grants if grant.takes_all}
    takes = [o for o in case.plan.operations if o.action in ("archive", "unoffer") or o.n in taking]
    taken = [operation for operation in takes if not protected.isdisjoint(_names(case, operation.pool_id))]
    found = _unused(case, takes)
    if taken:
        told = listed([_told(case, operation) for operation in taken], "operation")
        message = f"{count(len(taken), 'operation')} would take from what is protected: {told}"
        found.append(Problem(BLOCKED, "guard.protect", message, hint=_HINT, source=taken[0].source))
    return found


def _names(case: Case, pool_id: str) -> frozenset[str]:
    state = case.live.pools.get(pool_id)
    before = (was.entries.get(pool_id) for was in case.plan.comparison.guarding)
    return names(state.pool if state else None, case.desired.entries.get(pool_id), *before)


def _told(case: Case, operation: Operation) -> str:
    facts = case.pools.of(operation.pool_id)
    match operation.action:
        case "archive":
            return f"archive {operation.name}"
        case "unoffer":
            return f"withdraw {operation.name} from {operation.to_tenant_id}"
        case "update":
            return f"make {operation.name} a pool of {facts.new_model}, no longer of {facts.gpu_model}"
    return f"leave {operation.to_tenant_id} no {facts.gpu_model} in {operation.name}"


def _unused(case: Case, takes: Sequence[Operation]) -> list[Problem]:
    """Names that are nobody's protect nothing, and whoever wrote them believes otherwise: a warning, and an error where
    the plan takes anything."""
    known: dict[str, None] = {}
    fleets = (case.desired, *case.plan.comparison.guarding)
    for entry in (entry for fleet in fleets for entry in fleet.entries.values()):
        known.update(dict.fromkeys(name for name in (entry.pool_id, entry.key, entry.previously) if name))
    for state in case.live.pools.values():
        if state.pool is not None:
            known.update(dict.fromkeys(name for name in (state.pool.id, state.pool.idempotency_key) if name))
    nearest = Nearest()
    return [
        _unknown(case, name, takes, nearest.hint(name, known)) for name in sorted(case.guards.protect - known.keys())
    ]


def _unknown(case: Case, name: str, takes: Sequence[Operation], near: str) -> Problem:
    own, place = name in case.desired.guards.protect, case.desired.places.get("guards")
    message = (
        f"{name} is protected{'' if own else ' at the base'}, and neither an entry nor a live pool has this key or id"
    )
    hint = near
    if takes:
        message += (
            f": it may be meant for what this plan takes, {listed([_told(case, one) for one in takes], 'operation')}"
        )
        hint = f"{near}; {_REPAIR}" if near else _REPAIR
    return Problem(
        BLOCKED if takes else INVALID_INPUT,
        "guard.protect",
        message,
        "guards.protect",
        hint,
        severity="error" if takes else "warning",
        source=place.source("protect") if place and own else None,
    )
