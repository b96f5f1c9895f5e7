"""Reservations and usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from better_compute.domain.reservations import State
from better_compute.wire.views.base import View


class ReservationView(View, kw_only=True):
    """A booking in one pool. `reason` says what a pending one waits for, why a placed one is not active yet, or what a
    failed one failed with. Who asked for it, and with which key, is shown to its own tenant; `nodeId`, the host that it
    is placed on, to the owner of the pool."""

    id: str
    pool_id: str
    tenant_id: str
    state: State
    resources: Mapping[str, int]
    selectors: Mapping[str, Sequence[str | int]]
    reason: str | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    created_by: str | UnsetType = UNSET
    created_at: int
    placed_at: int | UnsetType = UNSET
    activated_at: int | UnsetType = UNSET
    ended_at: int | UnsetType = UNSET
    node_id: str | UnsetType = UNSET


class UsageView(View):
    """What a tenant used of a meter in a pool between two times: hours with six decimals, as text."""

    pool_id: str
    tenant_id: str
    meter: str
    hours: str
