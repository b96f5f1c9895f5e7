"""pools/* and quotas/*: commands and values in, the domain's types out.

Every method raises ComputeError: with the server's problems, UNAVAILABLE where no usable answer came, or CONFLICT where
the answer is about another object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from better_compute.client.group import Group, Named, listed, stated
from better_compute.client.walk import all_pools
from better_compute.domain.commands import ArchivePool, CreatePool, OfferPool, SetQuota, UnofferPool, UpdatePool
from better_compute.domain.state import Offer, Pool, PoolState, QuotaRow
from better_compute.wire import decode, views

_WHOLE = ["offers", "rollup"]


@dataclass(frozen=True, slots=True)
class Granted:
    """An offer as it is after pools/offer, with its tenant's quota rows."""

    pool_id: str
    offer: Offer
    rows: Mapping[str, QuotaRow]


@dataclass(frozen=True, slots=True)
class Created:
    """A pool as pools/create answers it, with its owner's quota rows."""

    pool: Pool
    rows: Mapping[str, QuotaRow]


class Pools(Group):
    def create(self, command: CreatePool) -> Created:
        """The pool that is there now: an earlier call's, unchanged, when its key was used before (rule pool.key)."""

        def created(view: views.PoolView) -> Created:
            self._check((None, command.tenant_id), *_owners(view.quotas))
            return Created(decode.pool(view), decode.rows(view.quotas))

        return self._write(command, views.PoolView, created)

    def update(self, command: UpdatePool) -> Pool:
        return self._write_pool(command)

    def archive(self, command: ArchivePool) -> Pool:
        return self._write_pool(command)

    def offer(self, command: OfferPool) -> Granted:
        def granted(view: views.OfferView) -> Granted:
            named = (view.pool_id, view.to_tenant_id)
            self._check((command.pool_id, command.to_tenant_id), named, *_owners(view.quotas))
            return Granted(view.pool_id, decode.offer(view), decode.rows(view.quotas))

        return self._write(command, views.OfferView, granted)

    def unoffer(self, command: UnofferPool) -> bool:
        """Whether there was an offer to remove."""
        return self._write(command, views.RemovedView, _removed)

    def _write_pool(self, command: UpdatePool | ArchivePool) -> Pool:
        pool = self._write(command, views.PoolView, decode.pool)
        self._check((command.pool_id,), (pool.id,))
        return pool

    def get(self, pool_id: str) -> PoolState:
        def read(view: views.PoolView) -> PoolState:
            self._check((pool_id,), (view.id,))
            return decode.pool_state(view)

        body = {"poolId": pool_id, "include": _WHOLE}
        return self.calls.decoded("pools/get", body, decode.answer(views.PoolView, read))

    def list(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        ids: Collection[str] | None = None,
        owned: bool | None = None,
        archived: bool | None = None,
    ) -> decode.Listed[PoolState]:
        """One page; at most 1000 pools, or ids."""
        filters = {"ids": listed(ids), "owned": owned, "archived": archived}
        body = stated({"limit": limit, "cursor": cursor, "include": _WHOLE, **filters})
        return self.calls.decoded("pools/list", body, decode.page(views.PoolView, decode.pool_state))

    def all(self, *, owned: bool | None = True, archived: bool | None = None) -> tuple[Sequence[PoolState], int]:
        """All pages as one state of the pools that the tenant owns, with the sequence of its last event; pools of
        others, where `owned` asks for them, are as they were when their page was read."""
        return all_pools(self.calls, stated({"owned": owned, "archived": archived}))

    def list_offers(self, pool_id: str | None = None) -> Sequence[views.OfferView]:
        return self._all("pools/listOffers", views.OfferView, poolId=pool_id)


class Quotas(Group):
    def set(self, command: SetQuota) -> Mapping[str, QuotaRow]:
        """The tenant's rows in the pool after it, by resource."""

        def written(view: views.QuotasView) -> Mapping[str, QuotaRow]:
            self._check((command.pool_id, command.to_tenant_id), *_owners(view.items))
            return decode.rows(view.items)

        return self._write(command, views.QuotasView, written)

    def list(self, pool_id: str | None = None, to_tenant_id: str | None = None) -> Sequence[views.QuotaView]:
        return self._all("quotas/list", views.QuotaView, poolId=pool_id, toTenantId=to_tenant_id)


def _owners(rows: Iterable[views.QuotaView]) -> Iterator[Named]:
    return ((row.pool_id, row.tenant_id) for row in rows)


def _removed(view: views.RemovedView) -> bool:
    return view.removed
