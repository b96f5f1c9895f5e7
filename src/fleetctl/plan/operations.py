"""From differences to operations: commands with preconditions, reasons, effects and inverses; not yet in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from better_compute.domain.atoms import DEFAULT_OWNER_QUOTA
from better_compute.domain.commands import ArchivePool, CreatePool, OfferPool, SetQuota, UnofferPool, UpdatePool
from better_compute.domain.state import Pool, PoolState, Terms
from better_compute.domain.values import Json
from fleetctl.comparison import naming
from fleetctl.desired.inputs import spec_json, terms_json
from fleetctl.diff import CAUSES, Cause, Change, ChangeCause, Diff, OfferDiff, PoolDiff
from fleetctl.plan import effects
from fleetctl.plan.operation import Inverse, Operation, Reason, Severity

SPENT = Inverse(None, why="an archived pool is not revived, and its key is spent")


def operations(diff: Diff, tenant_id: str) -> list[Operation]:
    """The operations that make the differences go away, in the order of the pools' ids."""
    return [operation for pool in diff.pools for operation in _of_pool(pool, tenant_id)]


def _of_pool(diff: PoolDiff, tenant_id: str) -> Iterator[Operation]:
    """None for a pool that cannot become as wished: half of a change is not a change."""
    if any(problem.severity == "error" for problem in diff.problems):
        return
    live, wish = diff.live, diff.entry.pool
    if diff.archives and live is not None and live.pool is not None:
        yield _archive(diff, live, live.pool)
        return
    if live is None and wish is not None:
        yield _create(diff, wish)
    if live is not None and live.pool is not None and wish is not None:
        if diff.changes:
            yield _update(diff, live, live.pool, wish)
        if diff.owner_quota:
            yield _set_quota(diff, live, wish)
    for offer in diff.offers:
        yield _offer(diff, offer, tenant_id) if offer.after else _unoffer(diff, offer, tenant_id)


def _key(diff: PoolDiff) -> str | None:
    return naming.key(diff.live.pool if diff.live else None, diff.entry)


def _create(diff: PoolDiff, wish: CreatePool) -> Operation:
    owner_quota = DEFAULT_OWNER_QUOTA if wish.owner_quota is None else wish.owner_quota
    spec = {name: value for name, value in spec_json(wish).items() if value is not None}
    return Operation(
        command=wish,
        key=_key(diff),
        before=None,
        after={**spec, "ownerQuota": dict(owner_quota)},
        changes=(),
        reason=Reason("new", "the files have it and the server has not"),
        inverse=Inverse("archive", {"archived": True}, "which spends the key"),
        place=diff.place,
        causes=_causes((), diff.cause),
    )


def _update(diff: PoolDiff, live: PoolState, pool: Pool, wish: CreatePool) -> Operation:
    model = wish.gpu_model if wish.gpu_model != pool.gpu_model else None
    policy = wish.policy if any(c.at != ("gpuModel",) for c in diff.changes) else None
    before: dict[str, Json] = {}
    after: dict[str, Json] = {}
    if model is not None:
        before["gpuModel"], after["gpuModel"] = pool.gpu_model, model
    if policy is not None:
        before["policy"], after["policy"] = dict(pool.policy), dict(policy)
    return Operation(
        command=UpdatePool(
            tenant_id=wish.tenant_id, pool_id=pool.id, policy=policy, gpu_model=model, expected_version=pool.version
        ),
        key=_key(diff),
        before=before,
        after=after,
        changes=diff.changes,
        reason=Reason("changed", "the server has it otherwise than the files"),
        inverse=Inverse("update", before),
        place=diff.place,
        effects=effects.of_update(live, pool, replace(pool, gpu_model=wish.gpu_model, policy=wish.policy)),
        severity="lowers" if model else "safe",
        causes=_causes(diff.changes),
    )


def _set_quota(diff: PoolDiff, live: PoolState, wish: CreatePool) -> Operation:
    before = live.limits(wish.tenant_id)
    quota = _exact(wish.owner_quota or {}, before)
    return Operation(
        command=SetQuota(
            tenant_id=wish.tenant_id,
            pool_id=wish.pool_id,
            to_tenant_id=wish.tenant_id,
            quota=quota,
            expected_version=live.pool.owner_quota_version if live.pool else None,
        ),
        key=_key(diff),
        before={"quota": before},
        after={"quota": quota},
        changes=diff.owner_quota,
        reason=Reason("changed", "the owner's quota is otherwise than the files say"),
        inverse=Inverse("setQuota", {"quota": _exact(before, quota)}),
        place=diff.owner_place,
        effects=effects.of_limits(live, wish.tenant_id, quota),
        severity=_severity(before, quota),
        causes=_causes(diff.owner_quota),
    )


def _offer(diff: PoolDiff, offer: OfferDiff, tenant_id: str) -> Operation:
    """Every wished row is named, and those to go are named with 0: offering again lets unnamed rows stay."""
    wish = offer.after or Terms({})
    before = offer.before
    quota = _exact(wish.quota, before.quota if before else {})
    held = diff.live.offers.get(offer.tenant_id) if diff.live else None
    rows = diff.live.rows(offer.tenant_id) if diff.live else {}
    # A first offer sets the rows whole, also those that a withdrawal left because they were in use.
    set_to = quota if before else {**dict.fromkeys(rows, 0), **quota}
    return Operation(
        command=OfferPool(
            tenant_id=tenant_id,
            pool_id=diff.entry.pool_id,
            to_tenant_id=offer.tenant_id,
            quota=quota,
            priority=wish.priority,
            include_descendants=wish.include_descendants,
            expected_version=held.version if held else 0,
        ),
        key=_key(diff),
        before=terms_json(before) if before else None,
        after=terms_json(Terms(quota, wish.priority, wish.include_descendants)),
        changes=offer.changes,
        reason=Reason("changed", "the server has it otherwise") if before else Reason("new", "a new offer"),
        inverse=Inverse("offer", _restored(before, quota)) if before else Inverse("unoffer"),
        place=diff.offer_place(offer),
        effects=effects.of_limits(diff.live, offer.tenant_id, set_to),
        severity=_severity(before.quota, quota) if before else "safe",
        causes=_causes(offer.changes, None if before else offer.cause),
    )


def _restored(before: Terms, quota: Mapping[str, int]) -> Json:
    """The offer that brings the old terms back: rows that are new since are named with 0, as above."""
    return terms_json(replace(before, quota=_exact(before.quota, quota)))


def _unoffer(diff: PoolDiff, offer: OfferDiff, tenant_id: str) -> Operation:
    before = offer.before or Terms({})
    held = diff.live.offers.get(offer.tenant_id) if diff.live else None
    return Operation(
        command=UnofferPool(
            tenant_id=tenant_id,
            pool_id=diff.entry.pool_id,
            to_tenant_id=offer.tenant_id,
            expected_version=held.version if held else 0,
        ),
        key=_key(diff),
        before=terms_json(before),
        after=None,
        changes=offer.changes,
        reason=Reason("unstated", "the files state this pool's offers and this one is not among them"),
        inverse=Inverse("offer", terms_json(before)),
        place=diff.offer_place(offer),
        effects=effects.of_unoffer(diff.live or PoolState(), offer.tenant_id),
        severity="withdraws",
        causes=_causes((), offer.cause),
    )


def _archive(diff: PoolDiff, live: PoolState, pool: Pool) -> Operation:
    return Operation(
        command=ArchivePool(
            tenant_id=pool.owner_id,
            pool_id=pool.id,
            expected_version=pool.version,
            expected_offers_version=pool.offers_version,
        ),
        key=_key(diff),
        before={"archived": False},
        after={"archived": True},
        changes=(),
        reason=_why(diff, pool),
        inverse=SPENT,
        place=diff.place,
        effects=effects.of_archive(live, pool),
        severity="irreversible",
        causes=_causes((), diff.cause),
        heir=diff.heir.pool_id if diff.heir else None,
    )


def _why(diff: PoolDiff, pool: Pool) -> Reason:
    """The key that an archive spends is told where the pool goes by another one."""
    made = (
        f"; it was made under the key {pool.idempotency_key}" if pool.idempotency_key not in (None, _key(diff)) else ""
    )
    match diff.archives:
        case "replaced" if diff.heir is not None:
            name = diff.heir.key or diff.heir.pool_id
            return Reason("replaced", f"{name} takes its place, and no reservation is in it or waits for it{made}")
        case "removed":
            return Reason("removed", f"no entry names it any more; it stood at {diff.entry.place.source()}{made}")
    return Reason("tombstone", f"the files mark it archived{made}")


def _causes(changes: Iterable[Change], whole: ChangeCause | None = None) -> tuple[Cause, ...]:
    """What moved since the base; the changes tell of an object that is there on both sides, else `whole` does."""
    found = {change.cause for change in changes} | {whole}
    return tuple(cause for cause in CAUSES if cause in found or "both" in found)


def _exact(wished: Mapping[str, int], live: Mapping[str, int]) -> dict[str, int]:
    """The wished rows, and a 0 for every live one that is to go."""
    return {resource: 0 for resource, limit in live.items() if limit and resource not in wished} | dict(wished)


def _severity(before: Mapping[str, int], after: Mapping[str, int]) -> Severity:
    return "lowers" if any(after.get(r, limit) < limit for r, limit in before.items()) else "safe"
