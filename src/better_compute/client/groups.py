"""The other operations, group by group: values in, views out. They raise ComputeError as those of pools do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from better_compute.client.group import Group, listed, stated
from better_compute.client.preflight import Verdict, check
from better_compute.domain.commands import Command
from better_compute.wire import decode, views


class Preflight(Group):
    def check(self, operations: Sequence[Command], caller_id: str | None = None) -> Sequence[Verdict]:
        """What the server would say to each operation if `caller_id` called them in this order; writes nothing."""
        return check(self.calls, operations, caller_id)


class Sites(Group):
    def create(self, *, name: str, kind: str, region: str) -> views.SiteView:
        return self._ask("sites/create", views.SiteView, name=name, kind=kind, region=region)

    def get(self, site_id: str) -> views.SiteView:
        return self._ask_one(site_id, "sites/get", views.SiteView, siteId=site_id)

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
        self,
        pool_id: str,
        *,
        inventory: Mapping[str, Any],
        join_token: str | None = None,
        attested: Mapping[str, str] | None = None,
        owner_tenant_id: str | None = None,
        control: str | None = None,
    ) -> views.NodeView:
        """With a join token, or with what `better-compute attest` wrote. `inventory` is spelled as on the wire."""
        return self._ask(
            "nodes/join",
            views.NodeView,
            poolId=pool_id,
            joinToken=join_token,
            attested=attested,
            inventory=inventory,
            ownerTenantId=owner_tenant_id,
            control=control,
        )

    def get(self, node_id: str) -> views.NodeView:
        return self._ask_one(node_id, "nodes/get", views.NodeView, nodeId=node_id)

    def report(self, node_id: str, inventory: Mapping[str, Any]) -> views.NodeView:
        """`inventory` takes the place of the one before; it is spelled as on the wire."""
        return self._ask_one(node_id, "nodes/report", views.NodeView, nodeId=node_id, inventory=inventory)

    def set_control(
        self, node_id: str, *, control: str | None = None, owner_tenant_id: str | UnsetType | None = UNSET
    ) -> views.NodeView:
        """What is left out stays; an owner of None: no tenant owns the machine."""
        owner = {} if owner_tenant_id is UNSET else {"ownerTenantId": owner_tenant_id}
        body = {**stated({"nodeId": node_id, "control": control}), **owner}
        read: Callable[[bytes], views.NodeView] = decode.answer(views.NodeView, decode.as_it_is)
        view = self.calls.decoded("nodes/setControl", body, read)
        self._check((node_id,), (view.id,))
        return view

    def remove(self, node_id: str) -> views.NodeView:
        return self._ask_one(node_id, "nodes/remove", views.NodeView, nodeId=node_id)

    def list(self, pool_id: str) -> Sequence[views.NodeView]:
        return self._all("nodes/list", views.NodeView, poolId=pool_id)


class Reservations(Group):
    def create(
        self,
        pool_id: str,
        resources: Mapping[str, int],
        *,
        selectors: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> views.ReservationView:
        """The reservation that is there now, placed or pending: an earlier call's where its key was used before."""
        body = {"poolId": pool_id, "resources": resources, "selectors": selectors, "idempotencyKey": idempotency_key}
        view = self._ask("reservations/create", views.ReservationView, **body)
        self._check((pool_id,), (view.pool_id,))
        return view

    def get(self, reservation_id: str) -> views.ReservationView:
        return self._ask_one(reservation_id, "reservations/get", views.ReservationView, reservationId=reservation_id)

    def list(
        self, pool_id: str | None = None, states: Collection[str] | None = None
    ) -> Sequence[views.ReservationView]:
        return self._all("reservations/list", views.ReservationView, poolId=pool_id, states=listed(states))

    def end(self, reservation_id: str) -> views.ReservationView:
        return self._ask_one(reservation_id, "reservations/end", views.ReservationView, reservationId=reservation_id)


class Tenants(Group):
    def create(self, *, tenant_id: str | None = None, parent_id: str | None = None) -> views.TenantView:
        return self._ask_one(tenant_id, "tenants/create", views.TenantView, id=tenant_id, parentId=parent_id)

    def get(self, tenant_id: str) -> views.TenantView:
        return self._ask_one(tenant_id, "tenants/get", views.TenantView, id=tenant_id)

    def list(self) -> Sequence[views.TenantView]:
        return self._all("tenants/list", views.TenantView)


class Identities(Group):
    def create(self, *, identity_id: str | None = None, kind: str = "service") -> views.IdentityView:
        return self._ask_one(identity_id, "identities/create", views.IdentityView, id=identity_id, kind=kind)

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
        return self._ask_one(credential_id, "credentials/revoke", views.CredentialView, credentialId=credential_id)


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
            "types": listed(types),
            "poolIds": listed(pool_ids),
            "latest": latest,
            "order": order,
            "limit": limit,
            "cursor": cursor,
        }
        return self.calls.decoded("events/list", stated(body), decode.page(views.EventView, decode.event))

    def all(
        self,
        *,
        after: int = 0,
        types: Collection[str] | None = None,
        pool_ids: Collection[str] | None = None,
        latest: bool = False,
    ) -> Sequence[views.EventView]:
        asked = None if pool_ids is None else frozenset(pool_ids)

        def read(view: views.EventView) -> views.EventView:
            if asked is not None and view.pool_id not in asked:
                raise ValueError(f"it tells of {view.pool_id}, which was not asked for")
            return decode.event(view)

        return self._all(
            "events/list",
            views.EventView,
            read,
            after=after,
            types=listed(types),
            poolIds=listed(pool_ids),
            latest=latest,
        )


class Usage(Group):
    def list(self, start: int, end: int, *, meter: str | None = None) -> Sequence[views.UsageView]:
        """What was used from `start` to `end`, in epoch milliseconds."""
        return self._all("usage/list", views.UsageView, **{"from": start}, to=end, meter=meter)


class System(Group):
    def info(self) -> views.SystemInfoView:
        return self._ask("system/info", views.SystemInfoView)
