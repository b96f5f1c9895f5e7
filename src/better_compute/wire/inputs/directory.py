"""Inputs of sites, tenants, identities, credentials and events."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from better_compute.wire.inputs.base import (
    Id,
    Ids,
    Input,
    ListInput,
    Name,
    Number,
)


class SitesCreate(Input, kw_only=True, frozen=True):
    name: Name
    kind: Literal["shared", "dedicated", "custom"]
    region: Name


class SitesGet(Input, kw_only=True, frozen=True):
    site_id: Id


class ProviderAccountsCreate(Input, kw_only=True, frozen=True):
    name: Name


class TenantsCreate(Input, kw_only=True, frozen=True):
    """`id` left out: one is made. `parentId` left out: the acting tenant."""

    id: Id | UnsetType = UNSET
    parent_id: Id | UnsetType = UNSET


class TenantsGet(Input, kw_only=True, frozen=True):
    id: Id


class IdentitiesCreate(Input, kw_only=True, frozen=True):
    """An identity of the acting tenant. `id` left out: one is made."""

    id: Id | UnsetType = UNSET
    kind: Literal["service", "user"] = "service"


class CredentialsCreate(Input, kw_only=True, frozen=True):
    identity_id: Id
    expires_at: Number | UnsetType = UNSET


class CredentialsList(ListInput, kw_only=True, frozen=True):
    identity_id: Id


class CredentialsRevoke(Input, kw_only=True, frozen=True):
    credential_id: Id


class EventsList(ListInput, kw_only=True, frozen=True):
    """Events after sequence `after`; `types` are exact names, or groups such as `pool.*`."""

    after: Number = 0
    order: Literal["asc", "desc"] = "asc"
    types: Annotated[list[str], Meta(max_length=100)] | UnsetType = UNSET
    pool_ids: Ids | UnsetType = UNSET
    latest: bool = False
