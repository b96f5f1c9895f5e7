"""The JSON spelling of what an event tells: its data, with what was before and what is after."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from better_compute.domain.events import (
    Event,
    NodeJoined,
    NodeQuarantined,
    NodeRemoved,
    NodeUpdated,
    PoolArchived,
    PoolCreated,
    PoolOffered,
    PoolUnoffered,
    PoolUpdated,
    QuotaUpdated,
    ReservationActivated,
    ReservationEnded,
    ReservationFailed,
    ReservationPending,
    ReservationPlaced,
)
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import Pool, Terms


def event_data(event: Event) -> dict[str, Any]:
    """`before` and `after` of what changed, null where there was or is none; what else the event tells beside them."""
    for spell in (_of_pools, _of_nodes, _of_reservations):
        if (data := spell(event)) is not None:
            return data
    raise TypeError(f"nothing spells {type(event).__name__}")


def _of_pools(event: Event) -> dict[str, Any] | None:
    match event:
        case PoolCreated():
            return _change(None, {**_pool(event.after), "ownerQuota": dict(event.owner_quota)})
        case PoolUpdated():
            return _change(_pool(event.before), _pool(event.after))
        case PoolArchived():
            return _archived(event)
        case PoolOffered():
            return _change(None if event.before is None else _terms(event.before), _terms(event.after))
        case PoolUnoffered():
            return _change(_terms(event.before), None) | {"keptQuota": dict(event.kept)}
        case QuotaUpdated():
            return _change({"quota": dict(event.before)}, {"quota": dict(event.after)})
    return None


def _of_nodes(event: Event) -> dict[str, Any] | None:
    match event:
        case NodeJoined():
            return _change(None, _node(event.after))
        case NodeQuarantined():
            before = None if event.before is None else _node(event.before)
            return _change(before, {**_node(event.after), "name": event.after.quarantined})
        case NodeUpdated():
            return _change(_node(event.before), _node(event.after))
        case NodeRemoved():
            return _change(_node(event.before), None)
    return None


def _of_reservations(event: Event) -> dict[str, Any] | None:
    match event:
        case ReservationPending():
            return _change(None, _reservation(event.after))
        case ReservationPlaced():
            return _change(None if event.before is None else _reservation(event.before), _reservation(event.after))
        case ReservationActivated() | ReservationEnded() | ReservationFailed():
            return _change(_reservation(event.before), _reservation(event.after))
    return None


def _change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    return {"before": before, "after": after}


def _archived(event: PoolArchived) -> dict[str, Any]:
    """The offers that went with the pool are told here, and in no pool.unoffered."""
    offers = {tenant_id: _terms(terms) for tenant_id, terms in sorted(event.unoffered.items())}
    data = _change({**_pool(event.before), "offers": offers}, {**_pool(event.after), "offers": {}})
    return {**data, "unofferedTenants": list(offers)}


def _pool(pool: Pool) -> dict[str, Any]:
    """A pool's own row as its owner sees it, without what it has not."""
    row = {
        "siteId": pool.site_id,
        "class": pool.class_,
        "gpuModel": pool.gpu_model,
        "sharing": pool.sharing,
        "agent": pool.agent,
        "providerAccountId": pool.provider_account_id,
        "policy": pool.policy,
        "idempotencyKey": pool.idempotency_key,
        "createdBy": pool.created_by,
        "createdAt": pool.created_at,
        "archivedAt": pool.archived_at,
        "version": pool.version,
        "offersVersion": pool.offers_version,
        "ownerQuotaVersion": pool.owner_quota_version,
    }
    return {name: value for name, value in row.items() if value is not None}


def _terms(terms: Terms) -> dict[str, Any]:
    return {
        "quota": dict(terms.quota),
        "priority": terms.priority,
        "includeDescendants": terms.include_descendants,
    }


def _node(node: Node) -> dict[str, Any]:
    """A machine as its pool's owner sees it: two that differ are told with a difference."""
    row = {
        "nodeId": node.id,
        "gpuModel": node.gpu_model,
        "gpus": len(node.inventory.gpus),
        "inventory": _inventory(node.inventory),
        "ownerTenantId": node.owner_tenant_id,
        "control": node.control,
        "quarantined": node.quarantined,
    }
    return {name: value for name, value in row.items() if value is not None}


def _inventory(inventory: Inventory) -> dict[str, Any]:
    """Its GPUs in their order, equal ones beside each other once with their count."""
    return {
        "gpus": [{"name": name, "count": len(list(cards))} for name, cards in groupby(inventory.gpus)],
        "vcpu": inventory.vcpu,
        "memoryGiB": inventory.memory_gib,
        "diskGiB": inventory.disk_gib,
        "hugepages2Mi": inventory.hugepages_2mi,
        "hugepages1Gi": inventory.hugepages_1gi,
        "attributes": dict(inventory.attributes),
    }


def _reservation(reservation: Reservation) -> dict[str, Any]:
    """A reservation as its pool's owner sees it; what selects its devices is told by the reservation itself."""
    row = {
        "reservationId": reservation.id,
        "state": reservation.state,
        "resources": dict(reservation.resources),
        "nodeId": reservation.node_id,
        "reason": reservation.reason,
    }
    return {name: value for name, value in row.items() if value is not None}
