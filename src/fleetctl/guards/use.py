"""Guards of what runs: quotas below use, pools in use, another GPU model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from better_compute.domain.state import PoolState
from fleetctl.guards.tally import Case, Tally
from fleetctl.override import Allowable
from fleetctl.plan import Operation
from fleetctl.words import count, listed


def tallies(case: Case) -> Iterator[Tally]:
    yield from _below_use(case)
    yield from _archives_in_use(case)
    yield from _model_changes(case)


def _below_use(case: Case) -> Iterator[Tally]:
    rows = [(grant, *row) for grant in case.grants for row in grant.below_use()]
    told = [
        (g.operation, f"{r} of {g.tenant_id} in {g.operation.name} ({limit}, with {u} in use)")
        for g, r, u, limit in rows
    ]
    says = f"{count(len(told), 'quota row')} would drop below what is in use"
    yield from _tally("belowUse", told, "row", says, case.guards.allow_below_use)


def _archives_in_use(case: Case) -> Iterator[Tally]:
    """The files do not allow it for an undo, which brings in no other pool for those that use this one; those that
    wait in it count there too."""
    archives = [operation for operation in case.plan.operations if operation.action == "archive"]
    is_undo = case.plan.comparison.asked.undoes is not None
    told = [(o, f"{o.name} ({use})") for o in archives if (use := _use(case.live.pools[o.pool_id], waits=is_undo))]
    says = f"{count(len(told), 'pool')} would be archived in use"
    for tally in _tally("archiveInUse", told, "pool", says, case.guards.allow_archive_in_use and not is_undo):
        yield replace(tally, may="none may where an apply is taken back") if is_undo else tally


def _model_changes(case: Case) -> Iterator[Tally]:
    changes = [(o, case.pools.of(o.pool_id)) for o in case.plan.operations if o.action == "update"]
    told = [(o, f"{o.name} ({facts.gpu_model} to {facts.new_model})") for o, facts in changes if facts.changes_model]
    says = f"{count(len(told), 'pool')} would get another GPU model"
    yield from _tally("modelChange", told, "pool", says, case.guards.allow_model_change)


def _tally(
    name: Allowable, told: Sequence[tuple[Operation, str]], what: str, says: str, allowed: bool
) -> Iterator[Tally]:
    """None of what is `told` may be, unless the files allow all of it."""
    if told:
        yield Tally(
            name=name,
            number=len(told),
            limit=None if allowed else 0,
            says=f"{says}: {listed([sentence for _, sentence in told], what)}",
            may=f"none may, by allow{name[0].upper()}{name[1:]}",
            first=told[0][0],
        )


def _use(state: PoolState, *, waits: bool) -> str:
    """What runs in a pool: reservations that are placed or active, with those that are pending where what `waits`
    counts, or else quota that is in use; empty where nothing does."""
    work = state.rollup.total_work
    if reservations := work.running + (work.pending if waits else 0):
        return count(reservations, "reservation")
    return f"{listed(sorted(state.booked), 'resource')} booked" if state.booked else ""
