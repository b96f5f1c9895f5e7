"""What operations do to what runs: reservations that fail, bookings that stay, rows below use, meters that move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from better_compute.domain.nodes import atoms_per_gpu, schedulable_atoms
from better_compute.domain.state import Pool, PoolState, QuotaRow, Work
from fleetctl.words import count, joined, listed

_TOLD = 5
"""Tenants that get a line of their own where an operation concerns many."""


def of_archive(live: PoolState, pool: Pool) -> tuple[str, ...]:
    """The dangerous first: pending reservations fail, the others run to their end (rule pool.archive)."""
    held = sorted(tenant_id for tenant_id in live.offers if tenant_id != pool.owner_id)
    return (
        "cannot be undone: no pool can have this key again",
        *([f"withdraws what it offers to {listed(held, 'tenant')}"] if held else ()),
        *_ended(live.rollup.work),
        *booked(live.booked),
    )


def of_unoffer(live: PoolState, tenant_id: str) -> tuple[str, ...]:
    """The same for one tenant (rule unoffer.quota)."""
    work = live.rollup.work
    return (
        f"{tenant_id} no longer sees the pool",
        *_ended({tenant_id: work[tenant_id]} if tenant_id in work else {}),
        *booked({resource: row.used for resource, row in live.rows(tenant_id).items()}),
    )


def of_limits(live: PoolState | None, tenant_id: str, quota: Mapping[str, int]) -> tuple[str, ...]:
    """Rows that will be lower than what is in use: bookings stay, nothing new fits (rule quota.exact). And what waits
    for atoms that there will not be."""
    if live is None:
        return ()
    rows = live.rows(tenant_id)
    below = tuple(
        f"{resource}: {limit} is below the {rows[resource].used} in use; bookings stay, nothing new fits"
        for resource, limit in sorted(quota.items())
        if resource in rows and limit < rows[resource].used
    )
    return (*below, *_waiting(live, tenant_id, quota))


def of_update(live: PoolState, pool: Pool, wished: Pool) -> tuple[str, ...]:
    """`wished` is the pool with the model and the policy that it gets."""
    told = [*_remodelled(live, pool, wished)] if wished.gpu_model != pool.gpu_model else []
    had, has = (atoms_per_gpu(pool.sharing, policy) for policy in (pool.policy, wished.policy))
    if had != has and live.rollup.gpus:
        before, after = schedulable_atoms(pool, live.rollup), schedulable_atoms(wished, live.rollup)
        told.append(f"its machines make {after} {pool.atom} instead of {before}")
        if (used := live.booked.get(pool.atom, 0)) > after:
            told.append(f"{used} {pool.atom} in use stay booked, more than they make then")
    return tuple(told)


def _remodelled(live: PoolState, pool: Pool, wished: Pool) -> Iterator[str]:
    """Meters and authorization are keyed by the model, also those of what runs."""
    yield "meters and authorization follow the new model"
    if used := live.booked.get(pool.atom, 0):
        are = "is" if used == 1 else "are"
        yield f"{used} {pool.atom} in use {are} metered as {_meter(wished)} from then on, no longer as {_meter(pool)}"
    for model, hosts in sorted(live.rollup.models.items()):
        if model != wished.gpu_model:
            yield f"{count(hosts, 'machine')} in it {'has' if hosts == 1 else 'have'} {model}"


def _meter(pool: Pool) -> str:
    return f"gpu.{pool.gpu_model.lower()}.hours"


def _ended(work: Mapping[str, Work]) -> Iterator[str]:
    """What becomes of tenants' reservations when the pool is theirs no more."""
    for tenants, pending in _largest({tenant_id: each.pending for tenant_id, each in work.items()}):
        yield f"{count(pending, 'pending reservation')} of {tenants} will fail with PoolGone"
    running = {tenant_id: each.running for tenant_id, each in work.items()}
    for tenants, number in _largest(running):
        runs = "runs on and charges" if number == 1 else "run on and charge"
        yield f"{count(number, 'placed or active reservation')} of {tenants} {runs}"


def _largest(numbers: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The largest by tenant, and the rest of them together."""
    found = sorted(((number, tenant_id) for tenant_id, number in numbers.items() if number), key=_most_first)
    yield from ((tenant_id, number) for number, tenant_id in found[:_TOLD])
    if rest := found[_TOLD:]:
        yield count(len(rest), "other tenant"), sum(number for number, _ in rest)


def _most_first(found: tuple[int, str]) -> tuple[int, str]:
    return -found[0], found[1]


def booked(used: Mapping[str, int]) -> Iterator[str]:
    """What stays booked of each resource; nothing where nothing is in use."""
    numbers = [(number, resource) for resource, number in sorted(used.items()) if number]
    if numbers:
        amounts = joined([f"{number} {resource}" for number, resource in numbers])
        yield f"{amounts} in use {'stays' if [number for number, _ in numbers] == [1] else 'stay'} booked"


def _waiting(live: PoolState, tenant_id: str, quota: Mapping[str, int]) -> Iterator[str]:
    """Pending reservations of which fewer atoms fit than before."""
    atom, work = live.pool.atom if live.pool else "", live.rollup.work.get(tenant_id, Work())
    row = live.rows(tenant_id).get(atom, QuotaRow(0))
    after = QuotaRow(quota.get(atom, row.max), row.used)
    if after.available < min(row.available, work.pending_atoms):
        asks = "asks" if work.pending == 1 else "ask"
        pending = f"{count(work.pending, 'pending reservation')} of {tenant_id} {asks} for {work.pending_atoms} {atom}"
        yield f"{pending}, and {after.available} will be free"
