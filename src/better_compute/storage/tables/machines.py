"""The machines of pools, and what can be booked on them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, PrimaryKeyConstraint, Table, and_
from sqlalchemy import text as text_of

from better_compute.storage.tables.columns import Key, flag, metadata, name, number, secret, text

# `free`: how many of its devices a new booking may take; the placer finds the host with the fewest that fit by it.
nodes = Table(
    "nodes",
    metadata,
    name("id", primary=True),
    name("pool_id", "pools.id"),
    name("role"),
    name("gpu_model", null=True),
    text("inventory"),
    name("owner_tenant_id", null=True),
    number("joined_at"),
    text("quarantined", null=True),
    name("control", default="platform"),
    number("free", default=0),
    Index(None, "pool_id", "id"),
    Index(None, "pool_id", "free", "id"),
)

SCHEDULABLE = and_(nodes.c.role == "host", nodes.c.quarantined.is_(None), nodes.c.control == "platform")
"""`Node.is_schedulable`."""

_BOOKED = text_of("reservation_id IS NOT NULL")

# The atoms of a host, each booked by one reservation or by none. One that is `leaving` is not there any more, and is
# kept until its booking ends.
node_devices = Table(
    "node_devices",
    metadata,
    name("node_id", "nodes.id"),
    number("position"),
    text("product"),
    text("profile", null=True),
    number("vram_gib", null=True),
    number("share"),
    number("whole"),
    flag("leaving"),
    name("reservation_id", "reservations.id", null=True),
    PrimaryKeyConstraint("node_id", "position"),
    # Of those that are booked alone: no database is tempted to look for a free one among all that are free.
    Index(None, "reservation_id", sqlite_where=_BOOKED, postgresql_where=_BOOKED),
    sqlite_with_rowid=False,
)

# The scalars of a host: what it provides at the ratio that is noted, and how much of it is booked. More may be
# booked than it provides: an inventory or a ratio may fall under what runs, and then nothing more fits.
node_resources = Table(
    "node_resources",
    metadata,
    name("node_id", "nodes.id"),
    name("resource"),
    number("provided"),
    text("ratio"),
    number("allocated"),
    PrimaryKeyConstraint("node_id", "resource"),
    CheckConstraint("provided >= 0 AND allocated >= 0", name="allocated"),
    sqlite_with_rowid=False,
)

# What machines say of themselves: a row for each attribute, which is known by a digest of its name and value. Machines
# are found by it, and it by its machine.
node_attributes = Table(
    "node_attributes",
    metadata,
    name("pool_id"),
    name("attribute"),
    name("node_id", "nodes.id"),
    PrimaryKeyConstraint("pool_id", "attribute", "node_id"),
    Index(None, "node_id"),
    sqlite_with_rowid=False,
)

join_tokens = Table(
    "join_tokens",
    metadata,
    name("id", primary=True),
    name("pool_id", "pools.id"),
    secret("token_hash", unique=True),
    number("created_at"),
    number("expires_at"),
    number("used_at", null=True),
    Index(None, "pool_id"),
)

# Machines that a world file declared. Those of one pool are found by its key, and those that wait by the other index.
world_machines = Table(
    "world_machines",
    metadata,
    Column("kind", Key, key="digest", primary_key=True),
    name("pool_key"),
    text("data"),
    number("count"),
    name("joined", null=True),
    Index(None, "pool_key"),
    Index(None, "joined"),
)
