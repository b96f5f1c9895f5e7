"""A server's answers as the domain's types: what `views` spell, read back.

What is missing or of another kind raises ValueError, with its place in the answer where it has one
(`$.data.items[2].version`). Fields that this client does not know are left alone: a server may be newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct

from better_compute.domain.atoms import ATOMS, CLASSES
from better_compute.domain.policy.general import DEEPEST, INTEGER, check_json
from better_compute.domain.state import Offer, Pool, PoolState, Provided, QuotaRow, Rollup, Work
from better_compute.wire.views import EventView, OfferView, Page, PoolView, QuotaView, RollupView

T = TypeVar("T")

_SHOWN = 200
"""Letters of a policy's path that are shown."""


class Data(Struct, Generic[T]):
    """The envelope of an answer that is no error."""

    data: T


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A page of a list. `sequence` is the acting tenant's last event when it was read."""

    items: list[T]
    next_cursor: str | None
    sequence: int


def answer(kind: Any, convert: Callable[[Any], T]) -> Callable[[bytes], T]:
    """The decoder of an answer whose data is of `kind`, any type that msgspec knows."""
    decode = _decoder(kind)
    return lambda body: convert(decode(body).data)


def page(kind: Any, convert: Callable[[Any], T]) -> Callable[[bytes], Listed[T]]:
    """The decoder of a page of views of `kind`, each of them converted."""

    def listed(found: Page[Any]) -> Listed[T]:
        if not 0 <= found.sequence <= INTEGER:
            raise ValueError(f"Expected `int` from 0 to {INTEGER} - at `$.data.sequence`")
        return Listed([convert(item) for item in found.items], found.next_cursor, found.sequence)

    return answer(Page[kind], listed)


def as_it_is(view: T) -> T:
    """For answers that are views already."""
    return view


@lru_cache
def _decoder(kind: Any) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(Data[kind]).decode


def pool(view: PoolView) -> Pool:
    """A pool's own row. Its region is its site's and not shown; what only its owner sees is blank for others."""
    if view.sharing not in ATOMS or view.class_ not in CLASSES:
        raise ValueError(f"pool {view.id} is of class {view.class_!a} with sharing {view.sharing!a}")
    if view.owned and (view.offers_version is UNSET or view.owner_quota_version is UNSET):
        raise ValueError(f"pool {view.id} is owned and shows no offersVersion or no ownerQuotaVersion")
    if view.archived != (view.archived_at is not UNSET):
        raise ValueError(f"pool {view.id} does not say when it was archived, or that it was")
    wrong, _ = check_json(view.policy)
    if wrong:
        raise ValueError(f"pool {view.id}: {wrong[0].path[:_SHOWN]}: {wrong[0].message}")
    return Pool(
        id=view.id,
        owner_id=view.owner_tenant_id,
        site_id=view.site_id,
        class_=view.class_,
        gpu_model=view.gpu_model,
        sharing=view.sharing,
        agent=view.agent,
        provider_account_id=view.provider_account_id or None,
        policy=view.policy,
        region="",
        idempotency_key=view.idempotency_key or None,
        created_by=view.created_by or "",
        created_at=view.created_at or 0,
        archived_at=None if view.archived_at is UNSET else view.archived_at,
        version=view.version,
        offers_version=view.offers_version or 1,
        owner_quota_version=view.owner_quota_version or 1,
    )


def pool_state(view: PoolView) -> PoolState:
    """The aggregate as the acting tenant sees it: with offers, the rows in use without one, and rollup when it owns the
    pool, and they were asked for; with its own quota rows alone when the pool was offered to it."""
    own = pool(view)
    if view.owned and (view.offers is UNSET or view.rollup is UNSET):
        raise ValueError(f"pool {view.id} is owned and shows no offers or no rollup")
    quotas: dict[str, dict[str, QuotaRow]] = {}
    for row in (*view.quotas, *(view.kept or ())):
        quotas.setdefault(row.tenant_id, {})[row.resource] = _row(row.max, row.used)
    offers = {}
    for offered in view.offers or ():
        offers[offered.to_tenant_id] = offer(offered)
        quotas[offered.to_tenant_id] = rows(offered.quotas)
    return PoolState.whole(own, offers, quotas, rollup(view.rollup) if view.rollup else Rollup())


def event(view: EventView) -> EventView:
    """An event as it is. What it tells holds policies, two levels down, and is no deeper than they may be."""
    if _is_deeper(view.data, 2 + DEEPEST) or _is_deeper(view.via or {}, DEEPEST):
        raise ValueError(f"event {view.id} is nested deeper than any that a control plane tells")
    return view


def offer(view: OfferView) -> Offer:
    return Offer(view.to_tenant_id, view.priority, view.include_descendants, view.version)


def rows(views: Iterable[QuotaView]) -> dict[str, QuotaRow]:
    """One tenant's quota rows in one pool, by resource."""
    return {view.resource: _row(view.max, view.used) for view in views}


def rollup(view: RollupView) -> Rollup:
    work = {
        tenant_id: Work(w.pending, w.placed, w.active, w.pending_atoms, w.booked_atoms)
        for tenant_id, w in view.reservations.items()
    }
    resources = {name: Provided(p.total, p.booked) for name, p in view.resources.items()}
    v = view
    counts = (v.nodes, v.host_nodes, v.tenant_owned_nodes, v.models, v.gpus, v.instances)
    return Rollup(*counts, work, resources, v.atoms.total)


@lru_cache(maxsize=65536)
def _row(limit: int, used: int) -> QuotaRow:
    """Most rows of a fleet are alike, and a row is a value: one object stands for all of them."""
    if limit < 0 or used < 0:
        raise ValueError(f"a quota row of max {limit} and used {used}")
    return QuotaRow(limit, used)


def _is_deeper(value: Mapping[str, Any], levels: int) -> bool:
    """Whether objects and lists go deeper, the value being the first level. Level by level: no depth is too much."""
    level: list[Any] = [value]
    for _ in range(levels):
        inner = (each for outer in level for each in (outer.values() if isinstance(outer, Mapping) else outer))
        level = [each for each in inner if isinstance(each, dict | list)]
        if not level:
            return False
    return True
