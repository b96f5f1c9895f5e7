"""What a client read, as files keep it: pools and sites in the spelling of the API, and read back as an answer is."""

from __future__ import annotations

from collections.abc import Iterable

from better_compute.domain.facts import Site
from better_compute.domain.state import PoolState
from better_compute.wire import decode, show
from better_compute.wire.views import PoolView, SiteView

__all__ = ["PoolView", "SiteView", "pool_states", "pool_views", "site_views", "sites"]

_WHOLE = ("offers", "rollup")


def pool_views(states: Iterable[PoolState]) -> list[PoolView]:
    """Pools as their owners see them, with offers, quota rows and machines."""
    return [show.pool(state, state.pool, state.pool.owner_id, _WHOLE) for state in states if state.pool is not None]


def pool_states(views: Iterable[PoolView]) -> list[PoolState]:
    """The pools of such views. Raises ValueError for what no control plane answers."""
    return [decode.pool_state(view) for view in views]


def site_views(found: Iterable[Site]) -> list[SiteView]:
    return [SiteView(site.id, site.tenant_id, site.name, site.kind, site.region) for site in found]


def sites(views: Iterable[SiteView]) -> list[Site]:
    return [Site(view.id, view.tenant_id, view.kind, view.region, view.name) for view in views]
