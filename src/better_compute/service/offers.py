"""pools/offer, unoffer and listOffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from better_compute.domain.commands import OfferPool, UnofferPool
from better_compute.domain.state import Offer, Pool, PoolState
from better_compute.service.core import Service, known, look, owned
from better_compute.service.pages import Key, first, page, pools_from
from better_compute.service.ports import Caller, PoolQuery, Tx
from better_compute.wire import show
from better_compute.wire.commands import build
from better_compute.wire.inputs import PoolsListOffers, PoolsOffer, PoolsUnoffer
from better_compute.wire.reading import given
from better_compute.wire.views import OfferView, Page, RemovedView

_POOLS = 100
"""Pools that are read at once while a page of offers fills."""


def offer(service: Service, caller: Caller, body: PoolsOffer) -> OfferView:
    """Offers the pool to a tenant with a quota; offering again changes the offer and the named rows."""
    service.allow(caller, "pools/offer", body.tenant_id)
    done = service.carry_out(caller, build(OfferPool, given(body), body.pool_id), [body.to_tenant_id])
    return show.offer(done.state, done.pool, done.state.offers[body.to_tenant_id])


def unoffer(service: Service, caller: Caller, body: PoolsUnoffer) -> RemovedView:
    """Withdraws an offer; the tenant's rows drop to what is in use."""
    service.allow(caller, "pools/unoffer", body.tenant_id)
    done = service.carry_out(caller, build(UnofferPool, given(body), body.pool_id), [body.to_tenant_id])
    return RemovedView(done.changed)


def list_(service: Service, caller: Caller, body: PoolsListOffers) -> Page[OfferView]:
    """The offers of one pool of the acting tenant, or of all its pools, in order of pool and tenant."""
    pool_id = body.pool_id

    def read(tx: Tx, after: Key, _limit: int) -> Iterator[_Offered]:
        if isinstance(pool_id, str):
            return _offers_of(tx, pool_id, body.tenant_id, after)
        return _all_offers(tx, body.tenant_id, after)

    def key(item: _Offered) -> Key:
        return item.pool.id, item.offer.tenant_id

    def view(item: _Offered) -> OfferView:
        return show.offer(item.state, item.pool, item.offer)

    return page(service, caller, "pools/listOffers", body, read, key, view, parts=2)


class _Offered(NamedTuple):
    state: PoolState
    pool: Pool
    offer: Offer


def _offers_of(tx: Tx, pool_id: str, tenant_id: str, after: Key) -> Iterator[_Offered]:
    state = look(tx, tenant_id, pool_id, None)
    owned(state, tenant_id)
    return _after(state, after)


def _all_offers(tx: Tx, tenant_id: str, after: Key) -> Iterator[_Offered]:
    """The rest of the pool that the page before ended in, then the pools after it."""
    query = PoolQuery(tenant_id=tenant_id, limit=_POOLS, owned=True, archived=False, offers=True)
    for state in pools_from(tx, query, first(after)):
        yield from _after(state, after)


def _after(state: PoolState, after: Key) -> Iterator[_Offered]:
    pool = known(state)
    return (
        _Offered(state, pool, offer)
        for tenant_id, offer in sorted(state.offers.items())
        if not after or (pool.id, tenant_id) > after
    )
