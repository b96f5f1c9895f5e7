"""Objects of the domain for tests: whole and plain, with what a test cares about named in its call."""

from __future__ import annotations

from typing import Any

from better_compute.domain.facts import Site
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.domain.reservations import Reservation, atoms_of
from better_compute.domain.state import Offer, Pool
from better_compute.service.ports import EventRecord, Identity, Tenant

NOW = 1_796_000_000_000
"""A moment in epoch milliseconds: late in November 2026."""


def a_tenant(tenant_id: str = "acme", **fields: Any) -> Tenant:
    common: dict[str, Any] = {"parent_id": None, "status": "active", "digest_key": b"k" * 32, "created_at": NOW}
    return Tenant(**{"id": tenant_id, **common, **fields})


def an_identity(identity_id: str = "sa_fleet", **fields: Any) -> Identity:
    return Identity(**{"id": identity_id, "tenant_id": "root", "kind": "service", "created_at": NOW, **fields})


def a_site(site_id: str = "site_fra1", **fields: Any) -> Site:
    return Site(**{"id": site_id, "tenant_id": "root", "kind": "shared", "region": "eu", "name": "Frankfurt", **fields})


def a_pool(pool_id: str = "pool_1", **fields: Any) -> Pool:
    """A pool of whole H100 at root's site in Frankfurt."""
    common: dict[str, Any] = {
        "owner_id": "root",
        "site_id": "site_fra1",
        "class_": "metal-host",
        "gpu_model": "H100",
        "sharing": "exclusive",
        "agent": "bcd",
        "provider_account_id": None,
        "policy": {},
        "region": "eu",
        "idempotency_key": None,
        "created_by": "sa_fleet",
        "created_at": NOW,
    }
    return Pool(**{"id": pool_id, **common, **fields})


def an_offer(tenant_id: str = "acme", **fields: Any) -> Offer:
    return Offer(**{"tenant_id": tenant_id, "priority": 0, "include_descendants": False, "version": 2, **fields})


def a_node(node_id: str = "node_1", **fields: Any) -> Node:
    """A host with eight H100."""
    common: dict[str, Any] = {
        "pool_id": "pool_1",
        "role": "host",
        "gpu_model": "H100",
        "inventory": Inventory(gpus=("NVIDIA H100 80GB HBM3",) * 8, vcpu=192, memory_gib=2048),
        "owner_tenant_id": None,
        "joined_at": NOW,
    }
    return Node(**{"id": node_id, **common, **fields})


def an_event(event_id: str = "evt_1", **fields: Any) -> EventRecord:
    common = {"type": "pool.updated", "tenant_id": "root", "actor_id": "sa_fleet", "pool_id": "pool_1"}
    return EventRecord(
        **{"id": event_id, **common, "to_tenant_id": None, "time": NOW, "data": {"after": None}, **fields}
    )


def a_reservation(reservation_id: str = "rsv_1", **fields: Any) -> Reservation:
    """One GPU that acme waits for."""
    common: dict[str, Any] = {
        "pool_id": "pool_1",
        "tenant_id": "acme",
        "state": "pending",
        "resources": {"gpu": 1},
        "created_by": "sa_acme",
        "created_at": NOW,
    }
    given = {"id": reservation_id, **common, **fields}
    return Reservation(**{"atoms": atoms_of(given["resources"]), **given})
