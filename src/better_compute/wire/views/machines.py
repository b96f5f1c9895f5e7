"""Machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from better_compute.wire.views.base import View
from better_compute.wire.views.pools import AtomsView


class InventoryView(View):
    """GPUs by NVML name, memory and disk in GiB, huge pages in pages."""

    gpus: list[str]
    vcpu: int
    memory_gib: int = msgspec.field(name="memoryGiB")
    disk_gib: int = msgspec.field(name="diskGiB")
    hugepages_2mi: int = msgspec.field(name="hugepages2Mi")
    hugepages_1gi: int = msgspec.field(name="hugepages1Gi")
    attributes: Mapping[str, str | int]


class ConfigUnitView(View):
    """One thing that every host of the pool is configured with: a field of the policy, or the sharing mode."""

    name: str
    value: Any


class NodeResourceView(View):
    """What a host provides of a resource, the ratio counted in, and how much of it is booked."""

    total: int
    ratio: str
    booked: int


class NodeView(View, kw_only=True):
    """A machine of a pool. `quarantined` is the GPU name that was not understood; such a machine adds no capacity.
    The last three are shown by nodes/get to the owner of the pool: the atoms that the machine makes and how many are
    booked, what it provides else, and what it is configured with."""

    id: str
    pool_id: str
    role: str
    gpu_model: str | UnsetType = UNSET
    inventory: InventoryView
    owner_tenant_id: str | UnsetType = UNSET
    control: Literal["platform", "tenant"]
    joined_at: int
    quarantined: str | UnsetType = UNSET
    devices: AtomsView | UnsetType = UNSET
    resources: Mapping[str, NodeResourceView] | UnsetType = UNSET
    config_units: Sequence[ConfigUnitView] | UnsetType = UNSET


class JoinTokenView(View):
    """The only time that the token is shown. It lets one machine join."""

    id: str
    pool_id: str
    join_token: str
    expires_at: int
