"""Inputs of nodes/*."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from better_compute.domain.inventory import MOST_GPUS
from better_compute.domain.nodes import Control
from better_compute.wire.inputs.base import (
    Count,
    Id,
    Input,
    ListInput,
    Name,
    Number,
)


class Inventory(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What a machine says of itself: GPUs by NVML name, memory and disk in GiB, huge pages in pages."""

    gpus: Annotated[list[Name], Meta(extra_json_schema={"maxItems": MOST_GPUS})] = []
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


class Attested(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The word of an attestor that a machine may join; what `evidence` says is between it and the attestor."""

    attestor: Id
    evidence: Annotated[str, Meta(min_length=1, max_length=8192)]


class NodesJoin(Input, kw_only=True, frozen=True):
    """With a join token of the pool, or with the word of an attestor: one of the two."""

    pool_id: Id
    inventory: Inventory
    join_token: Id | UnsetType = UNSET
    attested: Attested | UnsetType = UNSET
    owner_tenant_id: Id | UnsetType = UNSET
    control: Control = "platform"


class NodesList(ListInput, kw_only=True, frozen=True):
    pool_id: Id


class NodesGet(Input, kw_only=True, frozen=True):
    node_id: Id


class NodesReport(Input, kw_only=True, frozen=True):
    """The inventory as it is now; it takes the place of the one before."""

    node_id: Id
    inventory: Inventory


class NodesSetControl(Input, kw_only=True, frozen=True):
    """Who controls a machine, and which tenant owns it; null: none does. What is left out stays."""

    node_id: Id
    control: Control | UnsetType = UNSET
    owner_tenant_id: Id | UnsetType | None = UNSET


class NodesRemove(Input, kw_only=True, frozen=True):
    node_id: Id
