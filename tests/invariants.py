"""The invariants of the pools system, asked of the rows of a database: what is broken, in words.

They are computed anew from the rows alone, without the code that keeps them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, Table, select

from better_compute.domain.atoms import ATOMS, ISOLATING
from better_compute.storage import tables as t
from better_compute.storage.chain import START, chain_hash
from better_compute.storage.events import event_of

Rows = list[dict[str, Any]]
LIVE = ("pending", "placed", "active")
BOOKED = ("placed", "active")


def broken(connection: Connection) -> list[str]:
    """What does not hold, each with the number of its invariant."""
    found = Found(connection)
    return [f"{number}: {said}" for number, check in CHECKS for said in check(found)]


class Found:
    """All rows, by table."""

    def __init__(self, connection: Connection) -> None:
        def rows(table: Table) -> Rows:
            return [dict(row) for row in connection.execute(select(table)).mappings()]

        self.pools = {row["id"]: row | {"policy": json.loads(row["policy"])} for row in rows(t.pools)}
        self.offers, self.quotas, self.authz = rows(t.pool_offers), rows(t.pool_quotas), rows(t.authz)
        self.nodes = {row["id"]: row for row in rows(t.nodes)}
        self.devices, self.resources = rows(t.node_devices), rows(t.node_resources)
        self.reservations = {
            row["id"]: row | {"resources": json.loads(row["resources"])} for row in rows(t.reservations)
        }
        self.usage = rows(t.usage)
        self.events = [row._mapping for row in connection.execute(select(t.events).order_by(t.events.c.sequence))]
        self.chain = [
            event_of(row)
            for row in connection.execute(
                select(*(t.events.c[name] for name in _EVENT)).order_by(t.events.c.tenant_id, t.events.c.sequence)
            )
        ]

    def booked(self) -> Rows:
        return [r for r in self.reservations.values() if r["state"] in BOOKED]

    def others(self) -> Rows:
        """Offers to tenants besides the owner."""
        return [o for o in self.offers if o["tenant_id"] != self.pools[o["pool_id"]]["owner_id"]]


_EVENT = ("id", "type", "tenant_id", "actor_id", "pool_id", "to_tenant_id", "time", "data", "via", "sequence", "hash")


def used_is_what_is_booked(found: Found) -> Iterator[str]:
    booked: Counter[tuple[str, str, str]] = Counter()
    for r in found.booked():
        for resource, count in r["resources"].items():
            booked[r["pool_id"], r["tenant_id"], resource] += count
    used = {(q["pool_id"], q["tenant_id"], q["resource"]): q["used"] for q in found.quotas if q["used"]}
    if used != dict(booked):
        yield f"rows say {used}, reservations {dict(booked)}"


def host_rows_hold_what_is_booked(found: Found) -> Iterator[str]:
    allocated: Counter[tuple[str, str]] = Counter()
    for r in found.booked():
        for resource, count in r["resources"].items():
            if resource != ATOMS[found.pools[r["pool_id"]]["sharing"]]:
                allocated[r["node_id"], resource] += count
    for row in found.resources:
        if row["allocated"] > row["total"]:
            yield f"{row['node_id']} has {row['allocated']} of {row['total']} {row['resource']} allocated"
    rows = {(row["node_id"], row["resource"]): row["allocated"] for row in found.resources if row["allocated"]}
    if rows != dict(allocated):
        yield f"host rows say {rows}, reservations {dict(allocated)}"


def devices_hold_what_is_booked(found: Found) -> Iterator[str]:
    atoms = Counter(
        {(r["id"], r["node_id"]): r["resources"][ATOMS[found.pools[r["pool_id"]]["sharing"]]] for r in found.booked()}
    )
    held = Counter((d["reservation_id"], d["node_id"]) for d in found.devices if d["reservation_id"] is not None)
    if held != atoms:
        yield f"devices say {dict(held)}, reservations {dict(atoms)}"
    for d in found.devices:
        if d["leaving"] and d["reservation_id"] is None:
            yield f"device {d['position']} of {d['node_id']} is leaving, and nothing holds it"
    free = Counter(d["node_id"] for d in found.devices if d["reservation_id"] is None and not d["leaving"])
    for node in found.nodes.values():
        schedulable = node["role"] == "host" and node["quarantined"] is None and node["control"] == "platform"
        if node["free"] != (free[node["id"]] if schedulable else 0):
            yield f"{node['id']} says {node['free']} free devices, and has {free[node['id']]}"


def an_offer_is_whole(found: Found) -> Iterator[str]:
    offered = {(o["pool_id"], o["tenant_id"]) for o in found.offers}
    owners = {(pool_id, pool["owner_id"]) for pool_id, pool in found.pools.items()}
    seen = {(a["pool_id"], a["tenant_id"]) for a in found.authz}
    if seen != offered | owners:
        yield f"authz rows {seen ^ (offered | owners)} stand alone or are missing"
    told = {(e["pool_id"], e["to_tenant_id"]) for e in found.events if e["type"] == "pool.offered"}
    if not offered <= told:
        yield f"no event told of the offers {offered - told}"
    for a in found.authz:
        pool = found.pools[a["pool_id"]]
        if a["gpu_model"] != pool["gpu_model"] or a["owned"] != (a["tenant_id"] == pool["owner_id"]):
            yield f"the authz row of {a['tenant_id']} does not say what {a['pool_id']} is"
    rows = {(q["pool_id"], q["tenant_id"]) for q in found.quotas}
    named = {
        (e["pool_id"], e["to_tenant_id"])
        for e in found.events
        if e["type"] == "pool.offered" and json.loads(e["data"])["after"]["quota"]
    }
    if missing := (offered & named) - rows:
        yield f"offers without their quota rows: {missing}"


def an_archived_pool_has_no_offers(found: Found) -> Iterator[str]:
    for o in found.offers:
        if found.pools[o["pool_id"]]["archived_at"] is not None:
            yield f"{o['pool_id']} is archived and offered to {o['tenant_id']}"


def what_keeps_nobody_apart_is_the_owners_alone(found: Found) -> Iterator[str]:
    owned = {node["pool_id"] for node in found.nodes.values() if node["owner_tenant_id"] is not None}
    for o in found.others():
        if found.pools[o["pool_id"]]["sharing"] not in ISOLATING or o["pool_id"] in owned:
            yield f"{o['pool_id']} is offered to {o['tenant_id']}"


def a_single_tenant_is_one(found: Found) -> Iterator[str]:
    others: defaultdict[str, Rows] = defaultdict(list)
    for o in found.others():
        others[o["pool_id"]].append(o)
    for pool_id, offers in others.items():
        single = found.pools[pool_id]["policy"].get("singleTenant") is True
        if single and (len(offers) > 1 or any(o["include_descendants"] for o in offers)):
            yield f"{pool_id} is singleTenant and offered to {offers}"


def one_event_for_each_change(found: Found) -> Iterator[str]:
    revisions = Counter((e["pool_id"], e["revision"]) for e in found.events)
    wanted = Counter((p, n) for p, pool in found.pools.items() for n in range(1, pool["revision"] + 1))
    if revisions != wanted:
        yield f"events and changes differ: {(revisions - wanted) + (wanted - revisions)}"
    before: dict[str, tuple[int, str]] = {}
    for event in found.chain:
        if event.sequence is None:
            continue
        number, previous = before.get(event.tenant_id, (0, START))
        if event.sequence != number + 1:
            yield f"{event.tenant_id}: {event.sequence} follows {number}"
        if event.hash != chain_hash(event, previous):
            yield f"{event.tenant_id}: the hash of {event.sequence} is not that of its chain"
        before[event.tenant_id] = event.sequence, event.hash or ""


def a_key_makes_one_thing(found: Found) -> Iterator[str]:
    pools = Counter((p["owner_id"], p["created_by"], p["idempotency_key"]) for p in found.pools.values())
    reservations = Counter((r["tenant_id"], r["created_by"], r["idempotency_key"]) for r in found.reservations.values())
    for made in (pools, reservations):
        for key, count in made.items():
            if key[2] is not None and count > 1:
                yield f"{key} made {count}"


def a_rollup_is_its_rows(found: Found) -> Iterator[str]:
    """No invariant of its own: lists and rollups agree with the rows."""
    for pool_id, pool in found.pools.items():
        nodes = [node for node in found.nodes.values() if node["pool_id"] == pool_id]
        hosts = [node for node in nodes if node["role"] == "host" and node["quarantined"] is None]
        models = Counter(node["gpu_model"] for node in hosts if node["gpu_model"])
        said = json.loads(pool["rollup"])
        counted = {
            "nodes": len(nodes),
            "host_nodes": len(hosts),
            "tenant_owned_nodes": sum(node["owner_tenant_id"] is not None for node in nodes),
        }
        if {name: said[name] for name in counted} != counted or not models.items() <= said["models"].items():
            yield f"{pool_id}: the rollup says {said}, its machines {counted}, {dict(models)}"


def what_is_active_is_metered(found: Found) -> Iterator[str]:
    """No invariant of its own: a meter runs for what is active, and for nothing else."""
    running = Counter(row["reservation_id"] for row in found.usage if row["ended_at"] is None)
    active = {r["id"] for r in found.reservations.values() if r["state"] == "active"}
    if running != Counter(active):
        yield f"meters run for {dict(running)}, active are {active}"


CHECKS: list[tuple[str, Callable[[Found], Iterator[str]]]] = [
    ("1", used_is_what_is_booked),
    ("2", host_rows_hold_what_is_booked),
    ("2", devices_hold_what_is_booked),
    ("3", an_offer_is_whole),
    ("4", an_archived_pool_has_no_offers),
    ("5", what_keeps_nobody_apart_is_the_owners_alone),
    ("6", a_single_tenant_is_one),
    ("7", one_event_for_each_change),
    ("8", a_key_makes_one_thing),
    ("rollup", a_rollup_is_its_rows),
    ("usage", what_is_active_is_metered),
]
