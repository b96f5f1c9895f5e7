"""Reservations, and what they used."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Table
from sqlalchemy import text as sql

from better_compute.storage.tables.columns import metadata, name, number, text

LIVE = sql("state IN ('pending', 'placed', 'active')")
"""What the partial index holds: a question has these very words in it, or the index does not answer it."""

# `node_id` refers to no table: a machine may leave when what ran on it has ended. Those that are over are many and
# asked for seldom; those that live are found by the partial index, the oldest of a state first, and counted by it alone
# by their tenants.
reservations = Table(
    "reservations",
    metadata,
    name("id", primary=True),
    name("pool_id", "pools.id"),
    name("tenant_id", "tenants.id"),
    name("state"),
    text("resources"),
    text("selectors"),
    number("atoms"),
    text("reason", null=True),
    name("idempotency_key", null=True),
    name("created_by"),
    number("created_at"),
    name("node_id", null=True),
    number("placed_at", null=True),
    number("activated_at", null=True),
    number("ended_at", null=True),
    CheckConstraint("state IN ('pending', 'placed', 'active', 'ended', 'failed')", name="state"),
    Index(None, "pool_id", "id"),
    Index(None, "tenant_id", "pool_id", "id"),
    Index(
        "ix_reservations_live",
        "pool_id",
        "state",
        "created_at",
        "id",
        "tenant_id",
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    ),
)

# A stretch of time in which a reservation was metered: it held `share` / `whole` GPUs. The
# indexes hold all that a sum of hours needs.
usage = Table(
    "usage",
    metadata,
    name("reservation_id", "reservations.id"),
    number("started_at"),
    name("pool_id", "pools.id"),
    name("tenant_id", "tenants.id"),
    name("meter"),
    number("share"),
    number("whole"),
    number("ended_at", null=True),
    PrimaryKeyConstraint("reservation_id", "started_at", "meter"),
    Index(None, "pool_id", "tenant_id", "meter", "whole", "ended_at", "started_at", "share"),
    Index(None, "tenant_id", "pool_id", "meter", "whole", "ended_at", "started_at", "share"),
    sqlite_with_rowid=False,
)
