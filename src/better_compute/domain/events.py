"""What happened to a pool. Commands are imperative, events past; the wire spells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from better_compute.domain.nodes import Node
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import Pool, Terms

Limits = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`owner_id` is the tenant whose chain of events it joins; `to_tenant_id` the other tenant it is about."""

    type: ClassVar[str]
    owner_id: str
    pool_id: str
    to_tenant_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCreated(Event):
    type = "pool.created"
    after: Pool
    owner_quota: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUpdated(Event):
    type = "pool.updated"
    before: Pool
    after: Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolArchived(Event):
    """`unoffered` names the tenants that lost their offer by it, each with what it was offered; they get no
    pool.unoffered of their own."""

    type = "pool.archived"
    before: Pool
    after: Pool
    unoffered: Mapping[str, Terms]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOffered(Event):
    type = "pool.offered"
    before: Terms | None
    after: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUnoffered(Event):
    """`kept` is the quota that stays because it is in use."""

    type = "pool.unoffered"
    before: Terms
    kept: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUpdated(Event):
    type = "quota.updated"
    before: Limits
    after: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJoined(Event):
    type = "node.joined"
    after: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeQuarantined(Event):
    """A machine whose GPUs are not understood, by `after.quarantined`. `before` is None for one that came so."""

    type = "node.quarantined"
    before: Node | None = None
    after: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUpdated(Event):
    """A machine that was there: its inventory, or who owns or controls it."""

    type = "node.updated"
    before: Node
    after: Node


def changed_machine(pool: Pool, before: Node, after: Node) -> Event:
    """What is told of a machine that is not what it was, by whatever it became so."""
    kind = NodeUpdated if after.quarantined in (None, before.quarantined) else NodeQuarantined
    return kind(owner_id=pool.owner_id, pool_id=pool.id, before=before, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRemoved(Event):
    type = "node.removed"
    before: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationPending(Event):
    """A reservation was taken that no host has room for yet."""

    type = "reservation.pending"
    after: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationPlaced(Event):
    """`before` is None for one that was placed in the transaction that made it."""

    type = "reservation.placed"
    before: Reservation | None
    after: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationActivated(Event):
    type = "reservation.activated"
    before: Reservation
    after: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationEnded(Event):
    type = "reservation.ended"
    before: Reservation
    after: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationFailed(Event):
    """`after.reason` says why."""

    type = "reservation.failed"
    before: Reservation
    after: Reservation


def of_reservation(owner_id: str, before: Reservation | None, after: Reservation) -> Event | None:
    """What happened to a reservation of a pool of that owner; None where it is in the state that it was in."""
    names = {"owner_id": owner_id, "pool_id": after.pool_id, "to_tenant_id": after.tenant_id}
    if before is None and after.state == "pending":
        return ReservationPending(**names, after=after)
    if after.state == "placed" and (before is None or before.state == "pending"):
        return ReservationPlaced(**names, before=before, after=after)
    if before is None or before.state == after.state:
        return None
    kinds = {"active": ReservationActivated, "ended": ReservationEnded, "failed": ReservationFailed}
    return kinds[after.state](**names, before=before, after=after)
