"""The operations, group by group: commands and values in, the domain's types and views out.

Every method raises ComputeError: with the server's problems, or UNAVAILABLE where no usable answer came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from better_compute.client.calls import Calls
from better_compute.client.preflight import Verdict, check
from better_compute.client.walk import all_pools, pages
from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.state import Offer, Pool, PoolState, QuotaRow
from better_compute.wire import commands, decode, views

T = TypeVar("T")

_WHOLE = ["offers", "rollup"]


@dataclass(frozen=True, slots=True)
class Group:
    calls: Calls

    def _write(self, command: Command, kind: Any, convert: Callable[[Any], T]) -> T:
        operation, body = commands.encode(command)
        return self.calls.decoded(operation, body, decode.answer(kind, convert))

    def _ask(self, operation: str, kind: type[T], /, **body: Any) -> T:
        """The answer's view. What is None in `body` is left out."""
        read: Callable[[bytes], T] = decode.answer(kind, decode.as_it_is)
        return self.calls.decoded(operation, _stated(body), read)

    def _all(
        self, operation: str, kind: type[T], convert: Callable[[T], T] = decode.as_it_is, /, **body: Any
    ) -> list[T]:
        """Every page of a list in one list."""
        read = decode.page(kind, convert)
        return [item for page in pages(self.calls, operation, _stated(body), read) for item in page.items]


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
        return self._write(command, views.PoolView, lambda view: Created(decode.pool(view), decode.rows(view.quotas)))

    def update(self, command: UpdatePool) -> Pool:
        return self._write(command, views.PoolView, decode.pool)

    def archive(self, command: ArchivePool) -> Pool:
        return self._write(command, views.PoolView, decode.pool)

    def offer(self, command: OfferPool) -> Granted:
        return self._write(command, views.OfferView, _granted)

    def unoffer(self, command: UnofferPool) -> bool:
        """Whether there was an offer to remove."""
        return self._write(command, views.RemovedView, _removed)

    def get(self, pool_id: str) -> PoolState:
        read = decode.answer(views.PoolView, decode.pool_state)
        return self.calls.decoded("pools/get", {"poolId": pool_id, "include": _WHOLE}, read)

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
        filters = {"ids": _listed(ids), "owned": owned, "archived": archived}
        body = _stated({"limit": limit, "cursor": cursor, "include": _WHOLE, **filters})
        return self.calls.decoded("pools/list", body, decode.page(views.PoolView, decode.pool_state))

    def all(self, *, owned: bool | None = True, archived: bool | None = None) -> tuple[Sequence[PoolState], int]:
        """All pages as one state of the pools that the tenant owns, with the sequence of its last event; pools of
        others, where `owned` asks for them, are as they were when their page was read."""
        return all_pools(self.calls, _stated({"owned": owned, "archived": archived}))

    def list_offers(self, pool_id: str | None = None) -> Sequence[views.OfferView]:
        return self._all("pools/listOffers", views.OfferView, poolId=pool_id)


class Quotas(Group):
    def set(self, command: SetQuota) -> Mapping[str, QuotaRow]:
        """The tenant's rows in the pool after it, by resource."""
        return self._write(command, views.QuotasView, lambda view: decode.rows(view.items))

    def list(self, pool_id: str | None = None, to_tenant_id: str | None = None) -> Sequence[views.QuotaView]:
        return self._all("quotas/list", views.QuotaView, poolId=pool_id, toTenantId=to_tenant_id)


class Preflight(Group):
    def check(self, operations: Sequence[Command], caller_id: str | None = None) -> Sequence[Verdict]:
        """What the server would say to each operation if `caller_id` called them in this order; writes nothing."""
        return check(self.calls, operations, caller_id)


class Sites(Group):
    def create(self, *, name: str, kind: str, region: str) -> views.SiteView:
        return self._ask("sites/create", views.SiteView, name=name, kind=kind, region=region)

    def get(self, site_id: str) -> views.SiteView:
        return self._ask("sites/get", views.SiteView, siteId=site_id)

    def list(self) -> Sequence[views.SiteView]:
        return self._all("sites/list", views.SiteView)


class ProviderAccounts(Group):
    def create(self, *, name: str) -> views.AccountView:
        return self._ask("providerAccounts/create", views.AccountView, name=name)

    def list(self) -> Sequence[views.AccountView]:
        return self._all("providerAccounts/list", views.AccountView)


class Nodes(Group):
    def create_join_token(self, pool_id: str, *, expires_at: int | None = None) -> views.JoinTokenView:
        return self._ask("nodes/createJoinToken", views.JoinTokenView, poolId=pool_id, expiresAt=expires_at)

    def join(
        self, pool_id: str, *, join_token: str, inventory: Mapping[str, Any], owner_tenant_id: str | None = None
    ) -> views.NodeView:
        """`inventory` is spelled as on the wire."""
        return self._ask(
            "nodes/join",
            views.NodeView,
            poolId=pool_id,
            joinToken=join_token,
            inventory=inventory,
            ownerTenantId=owner_tenant_id,
        )

    def get(self, node_id: str) -> views.NodeView:
        return self._ask("nodes/get", views.NodeView, nodeId=node_id)

    def list(self, pool_id: str) -> Sequence[views.NodeView]:
        return self._all("nodes/list", views.NodeView, poolId=pool_id)


class Tenants(Group):
    def create(self, *, tenant_id: str | None = None, parent_id: str | None = None) -> views.TenantView:
        return self._ask("tenants/create", views.TenantView, id=tenant_id, parentId=parent_id)

    def get(self, tenant_id: str) -> views.TenantView:
        return self._ask("tenants/get", views.TenantView, id=tenant_id)

    def list(self) -> Sequence[views.TenantView]:
        return self._all("tenants/list", views.TenantView)


class Identities(Group):
    def create(self, *, identity_id: str | None = None, kind: str = "service") -> views.IdentityView:
        return self._ask("identities/create", views.IdentityView, id=identity_id, kind=kind)

    def list(self) -> Sequence[views.IdentityView]:
        return self._all("identities/list", views.IdentityView)

    def whoami(self) -> views.WhoamiView:
        return self._ask("identities/whoami", views.WhoamiView)


class Credentials(Group):
    def create(self, identity_id: str, *, expires_at: int | None = None) -> views.CredentialView:
        """The only answer that holds the token."""
        return self._ask("credentials/create", views.CredentialView, identityId=identity_id, expiresAt=expires_at)

    def list(self, identity_id: str) -> Sequence[views.CredentialView]:
        return self._all("credentials/list", views.CredentialView, identityId=identity_id)

    def revoke(self, credential_id: str) -> views.CredentialView:
        return self._ask("credentials/revoke", views.CredentialView, credentialId=credential_id)


class Events(Group):
    def list(
        self,
        *,
        after: int = 0,
        types: Collection[str] | None = None,
        pool_ids: Collection[str] | None = None,
        latest: bool = False,
        order: str = "asc",
        limit: int = 100,
        cursor: str | None = None,
    ) -> decode.Listed[views.EventView]:
        """One page of the acting tenant's events after sequence `after`, 1000 at most."""
        body = {
            "after": after,
            "types": _listed(types),
            "poolIds": _listed(pool_ids),
            "latest": latest,
            "order": order,
            "limit": limit,
            "cursor": cursor,
        }
        return self.calls.decoded("events/list", _stated(body), decode.page(views.EventView, decode.event))

    def all(
        self,
        *,
        after: int = 0,
        types: Collection[str] | None = None,
        pool_ids: Collection[str] | None = None,
        latest: bool = False,
    ) -> Sequence[views.EventView]:
        return self._all(
            "events/list",
            views.EventView,
            decode.event,
            after=after,
            types=_listed(types),
            poolIds=_listed(pool_ids),
            latest=latest,
        )


class System(Group):
    def info(self) -> views.SystemInfoView:
        return self._ask("system/info", views.SystemInfoView)


def _stated(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _listed(values: Collection[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _granted(view: views.OfferView) -> Granted:
    return Granted(view.pool_id, decode.offer(view), decode.rows(view.quotas))


def _removed(view: views.RemovedView) -> bool:
    return view.removed
