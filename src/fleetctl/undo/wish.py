"""What is wished where an apply is taken back: the objects of its operations as they were, and all else as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.problems import Source
from better_compute.domain.state import Pool, PoolState, Terms
from fleetctl.apply.answers import is_as_wished
from fleetctl.comparison import naming
from fleetctl.desired import Desired, Place, PoolEntry
from fleetctl.files import Document
from fleetctl.files.document import Map
from fleetctl.live import Live
from fleetctl.undo.applied import Done


@dataclass(frozen=True, slots=True)
class _Kept(Document):
    """A place that a report names, of files that need not be there any more."""

    at: Source

    def source(self, path: Any, *, key: bool = False) -> Source:  # noqa: ARG002 (all of it is at one place)
        return self.at


def entry_of(one: Done, files: Desired) -> PoolEntry:
    """The entry of an operation's pool; where the files have none, one with its name and the place that it had."""
    place = Place(_Kept(one.source.file, Map(), one.source.line, one.source))
    return files.entries.get(one.pool_id) or PoolEntry(pool_id=one.pool_id, key=one.key, place=place, pool=None)


def desired(files: Desired, live: Live, operations: Iterable[Done], undoing: Iterable[Done]) -> Desired:
    """The fleet, and the pools of these operations of an apply, as they are live; those that are `undoing` are taken
    back. `files` are settled: their guards and checks hold, and what they say of pools does not."""
    meant = {one.pool_id: entry_of(one, files) for one in operations} | dict(files.entries)
    back: dict[str, list[Done]] = {}
    for one in undoing:
        back.setdefault(one.pool_id, []).append(one)
    entries = {}
    for pool_id, entry in meant.items():
        state = live.pools.get(pool_id)
        if entry.released:
            entries[pool_id] = entry
        elif state is not None and state.pool is not None:
            entries[pool_id] = _entry(entry, state, state.pool, back.get(pool_id, ()))
    return replace(files, entries={pool_id: entries[pool_id] for pool_id in sorted(entries)}, expected=())


def is_back(one: Done, state: PoolState | None) -> bool:
    """Whether an operation's object is as its inverse leaves it."""
    pool = state.pool if state else None
    if state is None or pool is None or pool.archived:
        return one.inverse.action in ("archive", "unoffer")
    command = _command(one, pool)
    return command is not None and is_as_wished(command, state)


def _command(one: Done, pool: Pool) -> Command | None:
    """What the inverse asks for; None: there is none."""
    owner, tenant_id, after = pool.owner_id, one.to_tenant_id or "", one.inverse.after
    match one.inverse.action:
        case "archive":
            return ArchivePool(tenant_id=owner, pool_id=pool.id)
        case "update":
            model, policy = after.get("gpuModel"), after.get("policy")
            return UpdatePool(tenant_id=owner, pool_id=pool.id, gpu_model=model, policy=policy)
        case "setQuota":
            return SetQuota(tenant_id=owner, pool_id=pool.id, to_tenant_id=tenant_id, quota=after["quota"])
        case "offer":
            terms = _terms(after)
            return OfferPool(
                tenant_id=owner,
                pool_id=pool.id,
                to_tenant_id=tenant_id,
                quota=terms.quota,
                priority=terms.priority,
                include_descendants=terms.include_descendants,
            )
        case "unoffer":
            return UnofferPool(tenant_id=owner, pool_id=pool.id, to_tenant_id=tenant_id)
    return None


def _entry(entry: PoolEntry, state: PoolState, pool: Pool, undoing: Iterable[Done]) -> PoolEntry:
    """The pool as it is live, with these operations taken back."""
    tenants = (tenant_id for tenant_id in state.offers if tenant_id != pool.owner_id)
    offers = {tenant_id: terms for tenant_id in tenants if (terms := state.terms(tenant_id))}
    wished, archived = _as_live(pool), pool.archived
    for one in undoing:
        after, tenant_id = one.inverse.after, one.to_tenant_id or ""
        match one.inverse.action:
            case "archive":
                archived = True
            case "update":
                model, policy = after.get("gpuModel", wished.gpu_model), after.get("policy", wished.policy)
                wished = replace(wished, gpu_model=model, policy=policy)
            case "setQuota":
                wished = replace(wished, owner_quota=after["quota"])
            case "offer":
                offers[tenant_id] = _terms(after)
            case "unoffer":
                offers.pop(tenant_id, None)
    return PoolEntry(
        pool_id=pool.id,
        key=naming.key(pool, entry),
        place=entry.place,
        pool=wished,
        archived=archived,
        protect=entry.protect,
        offers_are="stated",
        offers=dict(sorted(offers.items())),
        offer_places=entry.offer_places,
    )


def _as_live(pool: Pool) -> CreatePool:
    """The wish that a pool is as it is; its owner's rows are left alone."""
    return CreatePool(
        tenant_id=pool.owner_id,
        pool_id=pool.id,
        site_id=pool.site_id,
        class_=pool.class_,
        gpu_model=pool.gpu_model,
        sharing=pool.sharing,
        agent=pool.agent,
        policy=pool.policy,
        provider_account_id=pool.provider_account_id,
        idempotency_key=pool.idempotency_key,
    )


def _terms(after: Mapping[str, Any]) -> Terms:
    return Terms(after["quota"], after["priority"], after["includeDescendants"])
