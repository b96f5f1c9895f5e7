"""Inputs of pools/*, quotas/* and preflight/*."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from better_compute.domain.atoms import AGENTS, ATOMS, CLASSES
from better_compute.wire.inputs.base import (
    Id,
    Ids,
    Input,
    Json,
    ListInput,
    Model,
    Number,
    Quota,
)

Include = Annotated[list[Literal["offers", "rollup"]], Meta(max_length=2)]
Class = Annotated[str, Meta(extra_json_schema={"enum": list(CLASSES)})]
Sharing = Annotated[str, Meta(extra_json_schema={"enum": list(ATOMS)})]
Agent = Annotated[str, Meta(extra_json_schema={"enum": list(AGENTS)})]
Priority = Annotated[int, Meta(extra_json_schema={"minimum": -1000, "maximum": 1000})]


class PoolsCreate(Input, kw_only=True, frozen=True):
    site_id: Id
    class_: Class = msgspec.field(name="class")
    gpu_model: Model
    sharing: Sharing | UnsetType = UNSET
    agent: Agent | UnsetType = UNSET
    policy: Json | UnsetType = UNSET
    provider_account_id: Id | UnsetType = UNSET
    owner_quota: Quota | UnsetType = UNSET
    idempotency_key: Id | UnsetType = UNSET


class PoolsUpdate(Input, kw_only=True, frozen=True):
    pool_id: Id
    policy: Json | UnsetType = UNSET
    gpu_model: Model | UnsetType = UNSET
    expected_version: Number | UnsetType = UNSET


class PoolsOffer(Input, kw_only=True, frozen=True):
    pool_id: Id
    to_tenant_id: Id
    quota: Quota
    priority: Priority | UnsetType = UNSET
    include_descendants: bool | UnsetType = UNSET
    expected_version: Number | UnsetType = UNSET


class PoolsUnoffer(Input, kw_only=True, frozen=True):
    pool_id: Id
    to_tenant_id: Id
    expected_version: Number | UnsetType = UNSET


class PoolsArchive(Input, kw_only=True, frozen=True):
    pool_id: Id
    expected_version: Number | UnsetType = UNSET
    expected_offers_version: Number | UnsetType = UNSET


class PoolsGet(Input, kw_only=True, frozen=True):
    pool_id: Id
    include: Include = []


class PoolsList(ListInput, kw_only=True, frozen=True):
    ids: Ids | UnsetType = UNSET
    owned: bool | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    include: Include = []


class PoolsListOffers(ListInput, kw_only=True, frozen=True):
    pool_id: Id | UnsetType = UNSET


class QuotasSet(Input, kw_only=True, frozen=True):
    pool_id: Id
    to_tenant_id: Id
    quota: Quota
    expected_version: Number | UnsetType = UNSET


class QuotasList(ListInput, kw_only=True, frozen=True):
    pool_id: Id | UnsetType = UNSET
    to_tenant_id: Id | UnsetType = UNSET


class Asked(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """One operation of a preflight, with the input that it would be called with."""

    operation: str
    input: Json


class PreflightCheck(Input, kw_only=True, frozen=True):
    """`callerId` is the identity that would call the operations; left out: the one that asks."""

    operations: Annotated[list[Asked], Meta(max_length=1000)]
    caller_id: Id | UnsetType = UNSET
