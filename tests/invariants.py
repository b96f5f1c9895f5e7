"""The invariants of the pools system, asked of the rows of a database: what is broken, in words.

They are computed anew from the rows alone, without the code that keeps them. `broken` asks what holds at any time,
`misstepped` what holds of one step, and `unsettled` what holds once the reconcilers of hosts have run.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, select

from better_compute.storage import tables as t

Rows = list[dict[str, Any]]
LIVE = ("pending", "placed", "active")
BOOKED = ("placed", "active")
ATOMS = {"exclusive": "gpu", "mig": "gpu.mig", "timeslice": "gpu.slot", "mps": "gpu.slot"}
ISOLATING = ("exclusive", "mig")
HOUR = 3_600_000


TABLES = (
    t.pools,
    t.pool_offers,
    t.pool_quotas,
    t.authz,
    t.nodes,
    t.node_attributes,
    t.join_tokens,
    t.reservations,
    t.node_devices,
    t.node_resources,
    t.usage,
    t.events,
    t.event_heads,
)
"""What the invariants are about; what refers to another stands behind it."""

_ROWS = {table.name: select(table).order_by(*table.primary_key) for table in TABLES}


def broken(connection: Connection) -> list[str]:
    """What does not hold, each with the number of its invariant."""
    return told(found_in(connection))


def told(found: Found) -> list[str]:
    return [f"{number}: {said}" for number, check in CHECKS for said in check(found)]


def found_in(connection: Connection) -> Found:
    return Found({name: [dict(row) for row in connection.execute(rows).mappings()] for name, rows in _ROWS.items()})


class Found:
    """All rows, by table."""

    def __init__(self, rows: dict[str, Rows]) -> None:
        self.rows = rows
        self.pools = {row["id"]: row | {"policy": json.loads(row["policy"])} for row in rows["pools"]}
        self.offers, self.quotas, self.authz = rows["pool_offers"], rows["pool_quotas"], rows["authz"]
        self.nodes = {row["id"]: row | {"inventory": json.loads(row["inventory"])} for row in rows["nodes"]}
        self.devices, self.resources = rows["node_devices"], rows["node_resources"]
        self.reservations = {
            row["id"]: row | {"resources": json.loads(row["resources"])} for row in rows["reservations"]
        }
        self.usage = rows["usage"]
        self.events = rows["events"]

    def booked(self) -> Rows:
        return [r for r in self.reservations.values() if r["state"] in BOOKED]

    def others(self) -> Rows:
        """Offers to tenants besides the owner."""
        return [o for o in self.offers if o["tenant_id"] != self.pools[o["pool_id"]]["owner_id"]]

    def is_seen(self, pool_id: str, tenant_id: str) -> bool:
        """Whether the tenant owns the pool or is offered it."""
        return self.pools[pool_id]["owner_id"] == tenant_id or any(
            o["pool_id"] == pool_id and o["tenant_id"] == tenant_id for o in self.offers
        )


def used_is_what_is_booked(found: Found) -> Iterator[str]:
    booked: Counter[tuple[str, str, str]] = Counter()
    for r in found.booked():
        for resource, count in r["resources"].items():
            booked[r["pool_id"], r["tenant_id"], resource] += count
    used = {(q["pool_id"], q["tenant_id"], q["resource"]): q["used"] for q in found.quotas if q["used"]}
    if used != dict(booked):
        yield f"rows say {used}, reservations {dict(booked)}"


def node_resources_hold_what_is_booked(found: Found) -> Iterator[str]:
    allocated: Counter[tuple[str, str]] = Counter()
    for r in found.booked():
        for resource, count in r["resources"].items():
            if resource != ATOMS[found.pools[r["pool_id"]]["sharing"]]:
                allocated[r["node_id"], resource] += count
    rows = {(row["node_id"], row["resource"]): row["allocated"] for row in found.resources if row["allocated"]}
    if rows != dict(allocated):
        yield f"node resources say {rows}, reservations {dict(allocated)}"


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
        if not (d["leaving"] or _schedulable(found.nodes[d["node_id"]])):
            yield f"device {d['position']} of {d['node_id']} is there, and the machine cannot be booked"
    free = Counter(d["node_id"] for d in found.devices if d["reservation_id"] is None and not d["leaving"])
    for node in found.nodes.values():
        if node["free"] != (free[node["id"]] if _schedulable(node) else 0):
            yield f"{node['id']} says {node['free']} free devices, and has {free[node['id']]}"


def an_offer_is_whole(found: Found) -> Iterator[str]:
    offered = {(o["pool_id"], o["tenant_id"]) for o in found.offers}
    owners = {(pool_id, pool["owner_id"]) for pool_id, pool in found.pools.items()}
    seen = {(a["pool_id"], a["tenant_id"]) for a in found.authz}
    if seen != offered | owners:
        yield f"authz rows {seen ^ (offered | owners)} stand alone or are missing"
    terms = {
        (e["pool_id"], e["to_tenant_id"], e["revision"]): json.loads(e["data"])["after"]["quota"]
        for e in found.events
        if e["type"] == "pool.offered"
    }
    if missing := offered - {(pool_id, tenant_id) for pool_id, tenant_id, _ in terms}:
        yield f"no event told of the offers {missing}"
    for a in found.authz:
        pool = found.pools[a["pool_id"]]
        said = {name: a[name] for name in ("gpu_model", "class", "sharing", "region")}
        if said != {name: pool[name] for name in said} or a["owned"] != (a["tenant_id"] == pool["owner_id"]):
            yield f"the authz row of {a['tenant_id']} does not say what {a['pool_id']} is"
    rows = {(q["pool_id"], q["tenant_id"], q["resource"]) for q in found.quotas}
    named = {(pool_id, tenant_id, name) for (pool_id, tenant_id, _), quota in terms.items() for name in quota}
    if lost := named - rows:
        yield f"offers without their quota rows: {lost}"


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
    told = Counter(e["pool_id"] for e in found.events if e["type"].startswith(("pool.", "quota.")))
    for pool_id, pool in found.pools.items():
        if pool["version"] + pool["offers_version"] != told[pool_id] + 1:
            versions = f"{pool['version']} and {pool['offers_version']}"
            yield f"{pool_id} has the versions {versions} after {told[pool_id]} events"
    before: dict[str, tuple[int, str]] = {}
    for event in sorted(found.events, key=lambda e: (e["tenant_id"], e["sequence"] or 0)):
        if event["sequence"] is None:
            continue
        number, previous = before.get(event["tenant_id"], (0, ""))
        if event["sequence"] != number + 1:
            yield f"{event['tenant_id']}: {event['sequence']} follows {number}"
        if event["hash"] != _hash(event, previous):
            yield f"{event['tenant_id']}: the hash of {event['sequence']} is not that of its chain"
        before[event["tenant_id"]] = event["sequence"], event["hash"] or ""
    heads = {head["tenant_id"]: (head["sequence"], head["hash"]) for head in found.rows["event_heads"]}
    if heads != before:
        yield f"the chains end with {before}, and their heads say {heads}"


def _hash(event: dict[str, Any], previous: str) -> str:
    stated = {
        name: json.loads(event[column]) if column in ("data", "via") else event[column]
        for name, column in _TOLD.items()
        if event[column] is not None
    }
    return sha256((previous + json.dumps(stated, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()


_TOLD = {"id": "id", "type": "type", "tenantId": "tenant_id", "actorId": "actor_id", "via": "via", "poolId": "pool_id"}
_TOLD |= {"toTenantId": "to_tenant_id", "time": "time", "sequence": "sequence", "data": "data"}


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
        hosts = [node for node in nodes if node["role"] == "host"]
        names = [node["inventory"]["gpus"] for node in hosts if _schedulable(node)]
        cut = [sum(" MIG " in name for name in gpus) for gpus in names]
        counted = {
            "nodes": len(nodes),
            "host_nodes": sum(node["quarantined"] is None for node in hosts),
            "tenant_owned_nodes": sum(node["owner_tenant_id"] is not None for node in nodes),
            "models": Counter(node["gpu_model"] for node in hosts if node["gpu_model"] is not None),
            "gpus": sum(len(gpus) for gpus, instances in zip(names, cut, strict=True) if not instances),
            "instances": sum(cut),
        }
        if json.loads(pool["rollup"]) != counted:
            yield f"{pool_id}: the rollup says {pool['rollup']}, its machines {counted}"


def what_is_active_is_metered(found: Found) -> Iterator[str]:
    """No invariant of its own: a meter runs for what is active, from then to its end, and for nothing else."""
    stretches: defaultdict[str, Rows] = defaultdict(list)
    for row in sorted(found.usage, key=lambda row: row["started_at"]):
        stretches[row["reservation_id"]].append(row)
    for reservation_id, r in found.reservations.items():
        metered = [(row["started_at"], row["ended_at"]) for row in stretches[reservation_id]]
        begun, ended = r["activated_at"], r["ended_at"]
        if begun is None or begun == ended:
            whole = not metered
        else:
            ends = [begun, *(end for _, end in metered)]
            whole = ends == [*(start for start, _ in metered), ended] and bool(metered)
        if not whole:
            yield f"{reservation_id} was active from {begun} to {ended}, and metered {metered}"
        model = found.pools[r["pool_id"]]["gpu_model"].lower()
        for row in stretches[reservation_id]:
            if (row["pool_id"], row["tenant_id"]) != (r["pool_id"], r["tenant_id"]) or row["share"] <= 0:
                yield f"{reservation_id} is metered as {row}"
            if row["ended_at"] is None and row["meter"] != f"gpu.{model}.hours":
                yield f"{reservation_id} is metered on {row['meter']} in a pool of {model}"


def times_never_run_backwards(found: Found) -> Iterator[str]:
    """No invariant of its own: each step of a reservation is no earlier than the one before it."""
    for reservation_id, r in found.reservations.items():
        times = [r[name] for name in ("created_at", "placed_at", "activated_at", "ended_at") if r[name] is not None]
        if times != sorted(times):
            yield f"{reservation_id} has the times {times}"


def attributes_are_what_machines_say(found: Found) -> Iterator[str]:
    """No invariant of its own: machines are found by what their inventories say, all of them and by nothing else."""
    said = {
        (node["pool_id"], sha256(json.dumps(pair, separators=(",", ":")).encode()).hexdigest(), node["id"])
        for node in found.nodes.values()
        for pair in node["inventory"]["attributes"].items()
    }
    rows = {(row["pool_id"], row["attribute"], row["node_id"]) for row in found.rows["node_attributes"]}
    if rows != said:
        yield f"rows {rows - said} are too many, and {said - rows} are missing"


CHECKS: list[tuple[str, Callable[[Found], Iterator[str]]]] = [
    ("1", used_is_what_is_booked),
    ("2", node_resources_hold_what_is_booked),
    ("2", devices_hold_what_is_booked),
    ("3", an_offer_is_whole),
    ("4", an_archived_pool_has_no_offers),
    ("5", what_keeps_nobody_apart_is_the_owners_alone),
    ("6", a_single_tenant_is_one),
    ("7", one_event_for_each_change),
    ("8", a_key_makes_one_thing),
    ("rollup", a_rollup_is_its_rows),
    ("usage", what_is_active_is_metered),
    ("attributes", attributes_are_what_machines_say),
    ("times", times_never_run_backwards),
]


def misstepped(before: Found, after: Found) -> list[str]:
    """What does not hold of one step, each with the number of its invariant."""
    return [f"{number}: {said}" for number, check in STEP_CHECKS for said in check(before, after)]


def no_booking_passes_the_quota(before: Found, after: Found) -> Iterator[str]:
    used = {(q["pool_id"], q["tenant_id"], q["resource"]): q["used"] for q in before.quotas}
    for q in after.quotas:
        row = q["pool_id"], q["tenant_id"], q["resource"]
        if used.get(row, 0) < q["used"] > q["max"]:
            yield f"{row} was booked up to {q['used']} of {q['max']}"


def no_booking_passes_what_a_host_provides(before: Found, after: Found) -> Iterator[str]:
    """A row may shrink below what is allocated, and is not filled again until it has room."""
    allocated = {(row["node_id"], row["resource"]): row["allocated"] for row in before.resources}
    for row in after.resources:
        if allocated.get((row["node_id"], row["resource"]), 0) < row["allocated"] > row["provided"]:
            yield f"{row['node_id']} was booked up to {row['allocated']} of {row['provided']} {row['resource']}"


def every_change_has_its_event(before: Found, after: Found) -> Iterator[str]:
    """One for each pool with its offers and quotas, each machine and each step of a reservation that changed."""
    known = {event["id"] for event in before.events}
    told = Counter(event["pool_id"] for event in after.events if event["id"] not in known)
    then, now = _things(before), _things(after)
    changed = Counter(
        pool_id for pool_id, name in then.keys() | now.keys() if then.get((pool_id, name)) != now.get((pool_id, name))
    )
    if told != changed:
        yield f"so many things changed, by pool: {dict(changed)}, and so many events tell of it: {dict(told)}"


_COUNTED = ("version", "offers_version", "owner_quota_version")


def _things(found: Found) -> dict[tuple[str, str], Any]:
    """What events tell of, by pool and name, without what only follows from it."""
    pools: dict[str, list[Any]] = {}
    for pool_id, pool in found.pools.items():
        pools[pool_id] = [(n, v) for n, v in pool.items() if n not in (*_COUNTED, "rollup", "revision")]
    for offer in found.offers:
        pools[offer["pool_id"]].append([(n, v) for n, v in offer.items() if n != "version"])
    for q in found.quotas:
        pools[q["pool_id"]].append((q["tenant_id"], q["resource"], q["max"]))
    things: dict[tuple[str, str], Any] = {(pool_id, ""): pool for pool_id, pool in pools.items()}
    for node in found.nodes.values():
        things[node["pool_id"], node["id"]] = [(n, v) for n, v in node.items() if n != "free"]
    for r in found.reservations.values():
        steps = {name: r[name] for name in ("placed_at", "activated_at", "ended_at") if r[name] is not None}
        if r["placed_at"] != r["created_at"]:
            steps["pending"] = r["created_at"]
        things |= {(r["pool_id"], f"{r['id']} {name}"): when for name, when in steps.items()}
    return things


def unsettled(found: Found) -> Iterator[str]:
    """What is not as inventories and policies say. It holds once the reconcilers of hosts have run."""
    for node in found.nodes.values():
        pool = found.pools[node["pool_id"]]
        held = [d for d in found.devices if d["node_id"] == node["id"] and not d["leaving"]]
        there = Counter((d["product"], d["profile"], Fraction(d["share"], d["whole"])) for d in held)
        wanted = Counter(_devices(pool, node) if _schedulable(node) else ())
        # What is leaving may still hold a part of the hardware: what takes its place is not there before it is gone.
        waits = any(d["leaving"] for d in found.devices if d["node_id"] == node["id"])
        if not there <= wanted or (there != wanted and not waits):
            yield f"{node['id']} has the devices {dict(there)}, and should have {dict(wanted)}"
        rows = {r["resource"]: r for r in found.resources if r["node_id"] == node["id"]}
        provided = _provided(pool, node) if _schedulable(node) else {}
        for resource in rows.keys() | provided.keys():
            row = rows.get(resource, {"provided": None, "allocated": 0})
            if row["provided"] != provided.get(resource, 0) or not (row["allocated"] or resource in provided):
                yield f"{node['id']} provides {row['provided']} {resource}, and should {provided.get(resource)}"


def _schedulable(node: dict[str, Any]) -> bool:
    return node["role"] == "host" and node["quarantined"] is None and node["control"] == "platform"


def _devices(pool: dict[str, Any], node: dict[str, Any]) -> Iterator[tuple[str, str | None, Fraction]]:
    """Product, profile and share of each device. A card of the models that tests use has seven slices."""
    gpus, gpu = node["inventory"]["gpus"], pool["policy"].get("gpu", {})
    if pool["sharing"] != "mig":
        slots = 1 if pool["sharing"] == "exclusive" else gpu["slots"]
        yield from ((name, None, Fraction(1, slots)) for name in gpus for _ in range(slots))
        return
    named = [name.split(" MIG ") for name in gpus if " MIG " in name]
    policy = [
        [name, profile]
        for name in gpus
        for profile, n in gpu.get("mig", {}).get("devices", {}).items()
        for _ in range(n)
    ]
    for card, profile in named or policy:
        yield card, profile, Fraction(int(profile[0]), 7)


def _provided(pool: dict[str, Any], node: dict[str, Any]) -> dict[str, int]:
    has, policy = node["inventory"], pool["policy"]
    pages = {"hugepages2Mi": has["hugepages_2mi"], "hugepages1Gi": has["hugepages_1gi"]}
    memory = has["memory_gib"] - Fraction(has["hugepages_2mi"], 512) - has["hugepages_1gi"]
    if pool["class"] == "vps-host":
        amounts = {"vcpu": Fraction(has["vcpu"]), "memoryGiB": memory, "diskGiB": Fraction(has["disk_gib"])}
    else:
        kept = policy.get("hostReserve", {})
        amounts = {"vcpu": Fraction(has["vcpu"] - kept.get("vcpu", 0)), "memoryGiB": memory - kept.get("memoryGiB", 0)}
    stated = policy.get("overcommit", 1)
    rows = {}
    for resource, amount in amounts.items():
        ratio = Fraction(str(stated.get(resource, 1) if isinstance(stated, dict) else stated))
        rows[resource] = max(0, int(amount * min(max(ratio, Fraction(1, 10)), Fraction(100))))
    return rows | pages


def used_hours(found: Found, tenant_id: str, start: int, end: int) -> dict[tuple[str, str, str], Fraction]:
    """Hours by pool, tenant and meter between two times, as far as the tenant may see them."""
    hours: defaultdict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
    for row in found.usage:
        if tenant_id in (row["tenant_id"], found.pools[row["pool_id"]]["owner_id"]):
            until = end if row["ended_at"] is None else min(row["ended_at"], end)
            if (length := until - max(row["started_at"], start)) > 0:
                key = row["pool_id"], row["tenant_id"], row["meter"]
                hours[key] += Fraction(row["share"] * length, row["whole"] * HOUR)
    return dict(hours)


STEP_CHECKS: list[tuple[str, Callable[[Found, Found], Iterator[str]]]] = [
    ("1", no_booking_passes_the_quota),
    ("2", no_booking_passes_what_a_host_provides),
    ("7", every_change_has_its_event),
]
