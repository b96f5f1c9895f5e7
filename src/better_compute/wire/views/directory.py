"""Sites, tenants, identities, credentials, events, and the system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from better_compute.wire.views.base import View


class SiteView(View):
    id: str
    tenant_id: str
    name: str
    kind: str
    region: str


class AccountView(View):
    id: str
    tenant_id: str
    name: str


class TenantView(View, kw_only=True):
    id: str
    parent_id: str | UnsetType = UNSET
    status: str
    created_at: int


class IdentityView(View):
    id: str
    tenant_id: str
    kind: str
    created_at: int


class CredentialView(View, kw_only=True):
    """A token's record; the token itself is shown once, in the answer of credentials/create."""

    id: str
    identity_id: str
    created_at: int
    expires_at: int | UnsetType = UNSET
    revoked_at: int | UnsetType = UNSET
    token: str | UnsetType = UNSET


class EventView(View, kw_only=True):
    """`tenantId` is the owner whose chain the event belongs to; `data` holds what was before and is after."""

    id: str
    type: str
    tenant_id: str
    actor_id: str
    via: Mapping[str, Any] | UnsetType = UNSET
    pool_id: str
    to_tenant_id: str | UnsetType = UNSET
    time: int
    sequence: int
    data: Mapping[str, Any]


class WhoamiView(View, kw_only=True):
    """The caller, and the actions it may take as the tenant asked about."""

    identity_id: str
    kind: str
    tenant_id: str
    rights: list[str]
    credential_expires_at: int | UnsetType = UNSET


class SystemInfoView(View, kw_only=True):
    """`digestKey` (hex) is the acting tenant's: random, and never changed."""

    instance_id: str
    version: str
    derivation: str
    capabilities: list[str]
    time: int
    digest_key: str | UnsetType = UNSET
