"""The tables of the current schema. Columns carry the names of the domain's fields; `migrations` make the same tables
step by step, and a test holds the two together.

`columns` is what they are made of; `directory`, `pools`, `machines`, `work` and `events` are the tables.
"""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, String, Table

from better_compute.storage.tables.columns import metadata, name, text
from better_compute.storage.tables.directory import credentials, identities, provider_accounts, sites, tenants
from better_compute.storage.tables.events import event_heads, events
from better_compute.storage.tables.machines import (
    join_tokens,
    node_attributes,
    node_devices,
    node_resources,
    nodes,
    world_machines,
)
from better_compute.storage.tables.pools import authz, pool_offers, pool_quotas, pools
from better_compute.storage.tables.work import reservations, usage

__all__ = [
    "authz",
    "credentials",
    "event_heads",
    "events",
    "identities",
    "join_tokens",
    "meta",
    "metadata",
    "node_attributes",
    "node_devices",
    "node_resources",
    "nodes",
    "pool_offers",
    "pool_quotas",
    "pools",
    "provider_accounts",
    "reservations",
    "schema_version",
    "sites",
    "tenants",
    "usage",
    "world_machines",
]

meta = Table("meta", metadata, name("name", primary=True), text("value"))

# Alembic's own table: the version of the schema is said in one place.
schema_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
