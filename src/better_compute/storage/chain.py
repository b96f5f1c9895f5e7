"""The chain of one tenant's events: each carries a hash over its predecessor's and its own content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from better_compute.service.ports import EventRecord

START = ""
"""What stands for the hash before the first event."""

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=dict).encode


def link(event: EventRecord, sequence: int, previous: str) -> EventRecord:
    """The event as number `sequence` of its chain, behind the one whose hash is `previous`."""
    numbered = replace(event, sequence=sequence, hash=None)
    return replace(numbered, hash=chain_hash(numbered, previous))


def chain_hash(event: EventRecord, previous: str) -> str:
    """SHA-256, in hex, of the previous hash and the event's canonical JSON: as the API spells it, ASCII, sorted keys,
    no blanks, without what it has not."""
    content = {
        "id": event.id,
        "type": event.type,
        "tenantId": event.tenant_id,
        "actorId": event.actor_id,
        "via": event.via,
        "poolId": event.pool_id,
        "toTenantId": event.to_tenant_id,
        "time": event.time,
        "sequence": event.sequence,
        "data": event.data,
    }
    stated = {name: value for name, value in content.items() if value is not None}
    return hashlib.sha256((previous + _canonical(stated)).encode("ascii")).hexdigest()
