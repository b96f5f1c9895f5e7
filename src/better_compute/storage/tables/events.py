"""What happened."""

from __future__ import annotations

from sqlalchemy import Index, Table, UniqueConstraint

from better_compute.storage.tables.columns import metadata, name, number, text

# Events outlive what they tell of, so nothing here refers to another table. Those without a sequence are found by the
# index of the unique constraint, the newest of a pool or of a pair by the other, which holds all that this needs.
events = Table(
    "events",
    metadata,
    name("id", primary=True),
    name("type"),
    name("tenant_id"),
    name("actor_id"),
    name("pool_id"),
    name("to_tenant_id", null=True),
    number("time"),
    text("data"),
    text("via", null=True),
    number("sequence", null=True),
    name("hash", null=True),
    number("revision"),
    UniqueConstraint("tenant_id", "sequence"),
    Index("ix_events_newest", "tenant_id", "pool_id", "to_tenant_id", "sequence", "type"),
)

event_heads = Table(
    "event_heads",
    metadata,
    name("tenant_id", primary=True),
    number("sequence"),
    name("hash"),
)
