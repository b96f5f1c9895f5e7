"""Guards of what runs: quotas below use, pools in use, another GPU model."""

from __future__ import annotations

from collections.abc import Iterator

from better_compute.domain.state import PoolState
from fleetctl.guards.tally import Case, Tally
from fleetctl.words import count, listed


def tallies(case: Case) -> Iterator[Tally]:
    yield from _below_use(case)
    yield from _archives_in_use(case)
    yield from _model_changes(case)


def _below_use(case: Case) -> Iterator[Tally]:
    rows = [(grant, *row) for grant in case.grants for row in grant.below_use()]
    if rows:
        told = [f"{r} of {g.tenant_id} in {g.operation.name} ({limit} of {used} in use)" for g, r, used, limit in rows]
        yield Tally(
            name="belowUse",
            number=len(rows),
            limit=None if case.guards.allow_below_use else 0,
            says=f"{count(len(rows), 'quota row')} would drop below what is in use: {listed(told, 'row')}",
            may="none may, by allowBelowUse",
            first=rows[0][0].operation,
        )


def _archives_in_use(case: Case) -> Iterator[Tally]:
    archives = [operation for operation in case.plan.operations if operation.action == "archive"]
    found = [(o, use) for o in archives if (use := _use(case.live.pools[o.pool_id]))]
    if found:
        told = listed([f"{operation.name} ({use})" for operation, use in found], "pool")
        yield Tally(
            name="archiveInUse",
            number=len(found),
            limit=None if case.guards.allow_archive_in_use else 0,
            says=f"{count(len(found), 'pool')} to be archived in use: {told}",
            may="none may be, by allowArchiveInUse",
            first=found[0][0],
        )


def _use(state: PoolState) -> str:
    """What runs in a pool: reservations that are placed or active, or else quota that is in use; empty where nothing
    does."""
    running = sum(work.placed + work.active for work in state.rollup.work.values())
    if running:
        return count(running, "reservation")
    used = {resource for rows in state.quotas.values() for resource, row in rows.items() if row.used}
    return f"{listed(sorted(used), 'resource')} booked" if used else ""


def _model_changes(case: Case) -> Iterator[Tally]:
    changes = [(o, case.pools.of(o.pool_id)) for o in case.plan.operations if o.action == "update"]
    found = [(operation, facts) for operation, facts in changes if facts.changes_model]
    if found:
        told = listed([f"{o.name} ({facts.gpu_model} to {facts.new_model})" for o, facts in found], "pool")
        yield Tally(
            name="modelChange",
            number=len(found),
            limit=None if case.guards.allow_model_change else 0,
            says=f"{count(len(found), 'pool')} would get another GPU model: {told}",
            may="none may, by allowModelChange",
            first=found[0][0],
        )
