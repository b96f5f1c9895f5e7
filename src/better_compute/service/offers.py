"""pools/offer, unoffer and listOffers."""

from __future__ import annotations

from better_compute.domain.commands import OfferPool, UnofferPool
from better_compute.service.core import Service, not_found
from better_compute.service.pages import Key, page
from better_compute.service.ports import Caller, HeldOffer, PartQuery, Tx
from better_compute.wire import show
from better_compute.wire.commands import build
from better_compute.wire.inputs import PoolsListOffers, PoolsOffer, PoolsUnoffer
from better_compute.wire.reading import given
from better_compute.wire.views import OfferView, Page, RemovedView


def offer(service: Service, caller: Caller, body: PoolsOffer) -> OfferView:
    """Offers the pool to a tenant with a quota; offering again changes the offer and the named rows."""
    service.allow(caller, "pools/offer", body.tenant_id)
    done = service.carry_out(caller, build(OfferPool, given(body), body.pool_id), [body.to_tenant_id])
    if done.changed:
        service.after_freed(done.pool.id)
    return show.offer(done.pool.id, done.state.offers[body.to_tenant_id], done.state.rows(body.to_tenant_id))


def unoffer(service: Service, caller: Caller, body: PoolsUnoffer) -> RemovedView:
    """Withdraws an offer; the tenant's rows drop to what is in use."""
    service.allow(caller, "pools/unoffer", body.tenant_id)
    done = service.carry_out(caller, build(UnofferPool, given(body), body.pool_id), [body.to_tenant_id])
    return RemovedView(done.changed)


def list_(service: Service, caller: Caller, body: PoolsListOffers) -> Page[OfferView]:
    """The offers of one pool of the acting tenant, or of all its pools, in order of pool and tenant."""
    pool_id = body.pool_id if isinstance(body.pool_id, str) else None

    def read(tx: Tx, after: Key, limit: int) -> list[HeldOffer]:
        if pool_id is not None and not tx.sees(body.tenant_id, pool_id, owned=True):
            raise not_found()
        return tx.offers(PartQuery(tenant_id=body.tenant_id, limit=limit, after=after, pool_id=pool_id))

    def key(held: HeldOffer) -> Key:
        return held.pool_id, held.offer.tenant_id

    return page(service, caller, "pools/listOffers", body, read, key, lambda held: show.offer(*held), parts=2)
