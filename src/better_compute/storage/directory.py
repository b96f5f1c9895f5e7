"""Tenants, identities, credentials, sites, provider accounts and join tokens: rows that are dataclasses as they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import BindParameter, bindparam, select

from better_compute.domain.facts import Site, TenantStatus
from better_compute.service.ports import Account, Credential, Identity, JoinToken, Tenant
from better_compute.storage import tables as t
from better_compute.storage.rows import Kept, Rows

_TENANTS = Kept(t.tenants, Tenant)
_IDENTITIES = Kept(t.identities, Identity)
_CREDENTIALS = Kept(t.credentials, Credential)
_SITES = Kept(t.sites, Site)
_ACCOUNTS = Kept(t.provider_accounts, Account)
_JOIN_TOKENS = Kept(t.join_tokens, JoinToken)

_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_STATUSES = select(t.tenants.c.id, t.tenants.c.status).where(t.tenants.c.id.in_(_IDS))
_SITES_BY_ID = _SITES.columns.where(t.sites.c.id.in_(_IDS))
_ACCOUNT_OWNERS = select(t.provider_accounts.c.id, t.provider_accounts.c.tenant_id).where(
    t.provider_accounts.c.id.in_(_IDS)
)


class DirectoryTx(Rows):
    """The part of `Tx` about who and where."""

    def tenant(self, tenant_id: str) -> Tenant | None:
        return self._get(_TENANTS, "id", tenant_id)

    def tenants(self, limit: int, after: str | None) -> list[Tenant]:
        return self._page(_TENANTS, limit, after)

    def tenant_statuses(self, ids: Collection[str]) -> dict[str, TenantStatus]:
        return {row.id: row.status for row in self._all(_STATUSES, ids=list(ids))}

    def add_tenant(self, tenant: Tenant) -> None:
        self._add(_TENANTS, tenant)

    def identity(self, identity_id: str) -> Identity | None:
        return self._get(_IDENTITIES, "id", identity_id)

    def locked_identity(self, identity_id: str) -> Identity | None:
        row = self._first(self._lock(_IDENTITIES.by["id"]), value=identity_id)
        return None if row is None else _IDENTITIES.of(row)

    def identities(self, tenant_id: str | None, limit: int, after: str | None) -> list[Identity]:
        return self._page(_IDENTITIES, limit, after, None if tenant_id is None else "tenant_id", tenant_id)

    def add_identity(self, identity: Identity) -> None:
        self._add(_IDENTITIES, identity)

    def credential_by_hash(self, token_hash: bytes) -> Credential | None:
        return self._get(_CREDENTIALS, "token_hash", token_hash)

    def credential(self, credential_id: str) -> Credential | None:
        row = self._first(self._lock(_CREDENTIALS.by["id"]), value=credential_id)
        return None if row is None else _CREDENTIALS.of(row)

    def credentials(self, identity_id: str | None, limit: int, after: str | None) -> list[Credential]:
        return self._page(_CREDENTIALS, limit, after, None if identity_id is None else "identity_id", identity_id)

    def put_credential(self, credential: Credential) -> None:
        self._put(_CREDENTIALS, credential)

    def site(self, site_id: str) -> Site | None:
        return self._get(_SITES, "id", site_id)

    def sites(self, tenant_id: str, limit: int, after: str | None) -> list[Site]:
        return self._page(_SITES, limit, after, "tenant_id", tenant_id)

    def sites_by_id(self, ids: Collection[str]) -> dict[str, Site]:
        return {row.id: _SITES.of(row) for row in self._all(_SITES_BY_ID, ids=list(ids))}

    def add_site(self, site: Site) -> None:
        self._add(_SITES, site)

    def account(self, account_id: str) -> Account | None:
        return self._get(_ACCOUNTS, "id", account_id)

    def accounts(self, tenant_id: str, limit: int, after: str | None) -> list[Account]:
        return self._page(_ACCOUNTS, limit, after, "tenant_id", tenant_id)

    def account_owners(self, ids: Collection[str]) -> dict[str, str]:
        return {row.id: row.tenant_id for row in self._all(_ACCOUNT_OWNERS, ids=list(ids))}

    def add_account(self, account: Account) -> None:
        self._add(_ACCOUNTS, account)

    def join_token_by_hash(self, token_hash: bytes) -> JoinToken | None:
        """In a write transaction the token's row is locked: two machines cannot both find it unused."""
        row = self._first(self._lock(_JOIN_TOKENS.by["token_hash"]), value=token_hash)
        return None if row is None else _JOIN_TOKENS.of(row)

    def put_join_token(self, token: JoinToken) -> None:
        self._put(_JOIN_TOKENS, token)
