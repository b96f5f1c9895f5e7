"""Every entry against the live pool that it means, and the live pools that no entry means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from better_compute.domain.atoms import DEFAULT_AGENT
from better_compute.domain.commands import CreatePool
from better_compute.domain.problems import CONFLICT, INVALID_STATE, NOT_FOUND, Problem, did_you_mean
from better_compute.domain.state import Pool, PoolState
from fleetctl.desired import Desired, PoolEntry
from fleetctl.diff.fields import offer_changes, owner_changes, policy_changes
from fleetctl.diff.parts import Change, Diff, OfferDiff, PoolDiff, Removed, Waiting
from fleetctl.identity import Settled, is_live
from fleetctl.words import time


def compare(
    settled: Settled, live: Mapping[str, PoolState], *, was: Desired | None = None, prune: bool = False
) -> Diff:
    """Compare every entry with the live pool of its id. `live` holds all pools that the fleet's tenant owns. `was` is
    the fleet of the base, settled on the same pools: it names those that were removed, which `prune` archives.
    """
    pools, gone = [], []
    for pool_id, entry in settled.desired.entries.items():
        state = live.get(pool_id)
        if pool_id in settled.replaced:
            continue  # a tombstone beside the entry that takes its place: that one says when
        if entry.archived and state is None:
            gone.append(entry)
        elif not entry.released and (found := _compare_pool(entry, state)) is not None:
            pools.append(found)
    replaced = [(live[pool_id], heir) for pool_id, heir in settled.replaced.items()]
    pools += [_replaced(state, heir) for state, heir in replaced if not _is_busy(state)]
    removed, foreign = _unnamed(settled, live, was)
    if prune:
        pools += [_pruned(live[one.pool.id], one.entry) for one in removed if one.entry]
    return Diff(
        pools=tuple(sorted(pools, key=lambda pool: pool.entry.pool_id)),
        removed=tuple(removed),
        foreign=tuple(foreign),
        gone=tuple(gone),
        waiting=tuple(Waiting(state, heir) for state, heir in replaced if _is_busy(state)),
    )


def _unnamed(settled: Settled, live: Mapping[str, PoolState], was: Desired | None) -> tuple[list[Removed], list[Pool]]:
    """Live pools that no entry names: those of this fleet, and those of others."""
    removed, foreign = list[Removed](), list[Pool]()
    held = {} if was is None else was.entries
    for pool_id, state in live.items():
        if pool_id in settled.named or state.pool is None or not is_live(state):
            continue
        entry = held.get(pool_id)
        if entry is not None and entry.released:
            entry = None
        if entry is not None or _is_ours(state.pool, settled.desired):
            # One that an entry of today has the key of is not taken for one that left the files.
            removed.append(Removed(state.pool, None if pool_id in settled.aside else entry))
        else:
            foreign.append(state.pool)
    return removed, foreign


def _replaced(state: PoolState, heir: PoolEntry) -> PoolDiff:
    pool_id = state.pool.id if state.pool else ""
    place = heir.place.at("replaces")
    entry = PoolEntry(pool_id=pool_id, key=heir.replaces, place=place, pool=None, archived=True)
    return PoolDiff(entry=entry, live=state, archives="replaced", heir=heir)


def _pruned(state: PoolState, entry: PoolEntry) -> PoolDiff:
    return PoolDiff(entry=entry, live=state, archives="removed")


def _is_busy(state: PoolState) -> bool:
    """Whether a reservation waits for the pool or runs in it."""
    work = state.rollup.total_work
    return bool(work.pending or work.running or state.booked)


def _compare_pool(entry: PoolEntry, state: PoolState | None) -> PoolDiff | None:
    """None when the pool is as wished."""
    if state is None or state.pool is None:
        return _unborn(entry)
    pool = state.pool
    if entry.archived:
        return None if pool.archived else PoolDiff(entry=entry, live=state, archives="tombstone")
    if entry.pool is None:
        return None
    if problems := _check_identity(entry, entry.pool, pool):
        return PoolDiff(entry=entry, live=state, problems=tuple(problems))
    changes = _pool_changes(entry.pool, pool)
    owner = owner_changes(entry.pool, state.limits(entry.pool.tenant_id))
    offers = tuple(_offer_diffs(entry, state, pool.owner_id)) if entry.offers_are == "stated" else ()
    unstated = _check_unstated(entry, state)
    if not (changes or owner or offers or unstated):
        return None
    return PoolDiff(entry=entry, live=state, changes=changes, owner_quota=owner, offers=offers, problems=unstated)


def _unborn(entry: PoolEntry) -> PoolDiff:
    if entry.adopted:
        message = "this id names no pool of the fleet's tenant, and an adopted pool is never created"
        problem = Problem(NOT_FOUND, "fleet.adopt", message, "id", "drop the id to create a pool under the key")
        return PoolDiff(entry=entry, live=None, problems=(problem,))
    offers = tuple(
        OfferDiff(tenant_id=t, before=None, after=terms, changes=offer_changes(None, terms))
        for t, terms in entry.offers.items()
    )
    return PoolDiff(entry=entry, live=None, offers=offers)


def _check_identity(entry: PoolEntry, wish: CreatePool, pool: Pool) -> list[Problem]:
    """What no operation can change: an archived pool is not revived, and five fields are for life. What is nearly the
    live value is taken for a slip before anybody is told to archive a pool."""
    if pool.archived_at is not None:
        when = time(pool.archived_at)
        message = f"this key belongs to a pool that was archived on {when}, and an archived pool is not revived"
        hint = "use a new key, or write archived: true if it is to stay so"
        return [Problem(INVALID_STATE, "pool.key", message, "idempotencyKey", hint)]
    pairs = {
        "siteId": (pool.site_id, wish.site_id),
        "class": (pool.class_, wish.class_),
        "sharing": (pool.sharing, wish.sharing),
        "agent": (pool.agent, wish.agent or DEFAULT_AGENT),
        "providerAccountId": (pool.provider_account_id, wish.provider_account_id),
    }
    name = entry.key or entry.pool_id
    new = (
        f"write the entry under a new key, with `replaces: {entry.key}`"
        if entry.key
        else "archive it, and make another"
    )
    return [
        Problem(
            CONFLICT,
            "pool.key",
            f"{field} of {name} is {had or 'not set'} for life and cannot become {wants or 'unset'}",
            field,
            f"{near} If not, {new}" if (near := did_you_mean(wants or "", [had or ""])) else f"keep it, or {new}",
        )
        for field, (had, wants) in pairs.items()
        if had != wants
    ]


def _pool_changes(wish: CreatePool, pool: Pool) -> tuple[Change, ...]:
    model = () if wish.gpu_model == pool.gpu_model else (Change(("gpuModel",), pool.gpu_model, wish.gpu_model),)
    return model + policy_changes(pool.policy, wish.policy)


def _offer_diffs(entry: PoolEntry, state: PoolState, owner_id: str) -> Iterator[OfferDiff]:
    for tenant_id in sorted(state.offers.keys() | entry.offers.keys()):
        if tenant_id == owner_id:
            continue
        before, after = state.terms(tenant_id), entry.offers.get(tenant_id)
        changes = offer_changes(before, after)
        if changes or before is None or after is None:
            yield OfferDiff(tenant_id=tenant_id, before=before, after=after, changes=changes)


def _check_unstated(entry: PoolEntry, state: PoolState) -> tuple[Problem, ...]:
    """Rule fleet.offersUnstated: silence neither keeps nor withdraws the offers there are."""
    if entry.offers_are != "unstated" or not state.others:
        return ()
    others = sorted(tenant for tenant in state.offers if state.pool and tenant != state.pool.owner_id)
    message = f"the pool is offered to {', '.join(others)}, and the files do not say what should become of that"
    hint = "write them, or `offers: []` to withdraw them all, or `offers: unmanaged` to leave them to others"
    return (Problem(INVALID_STATE, "fleet.offersUnstated", message, "offers", hint),)


def _is_ours(pool: Pool, desired: Desired) -> bool:
    """Whether a pool without an entry is one that this fleet made and let go: its callers and key prefix."""
    if desired.key_prefix is None or pool.created_by not in desired.callers:
        return False
    return pool.idempotency_key is not None and pool.idempotency_key.startswith(desired.key_prefix)
