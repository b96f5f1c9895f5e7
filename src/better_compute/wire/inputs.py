"""What each operation is asked with: exact types, no unknown fields, null only where it means something.

A rule's own limits (a priority's range, a quota's size, the words a class may be) are the domain's to judge, so that
an error carries the rule's name; here they stand in the schema alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from better_compute.domain.atoms import AGENTS, ATOMS, CLASSES, UNLIMITED
from better_compute.domain.escape import NOT_PRINTED
from better_compute.domain.ids import KEY
from better_compute.domain.quotas import MOST_ROWS

ID = rf"\A{KEY.pattern}\Z"
NAME = rf"\A(?=.*\S)[^{NOT_PRINTED}]{{1,200}}\Z"
Id = Annotated[str, Meta(pattern=ID)]
Name = Annotated[str, Meta(pattern=NAME)]
Number = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=UNLIMITED)]
Limit = Annotated[Any, Meta(extra_json_schema={"type": "integer", "minimum": 0, "maximum": UNLIMITED})]
Quota = Annotated[
    dict[Annotated[str, Meta(max_length=64)], Limit], Meta(extra_json_schema={"maxProperties": MOST_ROWS})
]
Json = dict[str, Any]


class Input(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`tenantId` is the tenant that the caller acts as."""

    tenant_id: Id


class ListInput(Input, kw_only=True, frozen=True):
    """A page of a list; `cursor` is the `nextCursor` of the page before."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: str | UnsetType = UNSET


Include = Annotated[list[Literal["offers", "rollup"]], Meta(max_length=2)]
Class = Annotated[str, Meta(extra_json_schema={"enum": list(CLASSES)})]
Sharing = Annotated[str, Meta(extra_json_schema={"enum": list(ATOMS)})]
Agent = Annotated[str, Meta(extra_json_schema={"enum": list(AGENTS)})]
Model = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Z0-9]{1,32}$"})]
Priority = Annotated[int, Meta(extra_json_schema={"minimum": -1000, "maximum": 1000})]
Ids = Annotated[list[Id], Meta(max_length=1000)]


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


class SitesCreate(Input, kw_only=True, frozen=True):
    name: Name
    kind: Literal["shared", "dedicated", "custom"]
    region: Name


class SitesGet(Input, kw_only=True, frozen=True):
    site_id: Id


class ProviderAccountsCreate(Input, kw_only=True, frozen=True):
    name: Name


class Inventory(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What a machine says of itself: GPUs by NVML name, memory and disk in GiB, huge pages in pages."""

    gpus: Annotated[list[Name], Meta(max_length=256)] = []
    vcpu: Count = 0
    memory_gib: Count = msgspec.field(default=0, name="memoryGiB")
    disk_gib: Count = msgspec.field(default=0, name="diskGiB")
    hugepages_2mi: Count = msgspec.field(default=0, name="hugepages2Mi")
    hugepages_1gi: Count = msgspec.field(default=0, name="hugepages1Gi")
    attributes: Annotated[dict[Id, Name | Number], Meta(max_length=64)] = {}


class NodesCreateJoinToken(Input, kw_only=True, frozen=True):
    """`expiresAt` left out: a day from now."""

    pool_id: Id
    expires_at: Number | UnsetType = UNSET


class NodesJoin(Input, kw_only=True, frozen=True):
    pool_id: Id
    join_token: Id
    inventory: Inventory
    owner_tenant_id: Id | UnsetType = UNSET


class NodesList(ListInput, kw_only=True, frozen=True):
    pool_id: Id


class NodesGet(Input, kw_only=True, frozen=True):
    node_id: Id


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


class Self(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`tenantId` left out: the caller's own."""

    tenant_id: Id | UnsetType = UNSET
