"""Pools with their offers, quota rows and authz projection."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, PrimaryKeyConstraint, Table

from better_compute.domain.atoms import UNLIMITED
from better_compute.storage.tables.columns import Key, flag, metadata, name, number, text

pools = Table(
    "pools",
    metadata,
    name("id", primary=True),
    name("owner_id", "tenants.id"),
    name("site_id", "sites.id"),
    Column("class", Key, key="class_", nullable=False),
    name("gpu_model"),
    name("sharing"),
    name("agent"),
    name("provider_account_id", "provider_accounts.id", null=True),
    text("policy"),
    text("region"),
    name("idempotency_key", null=True),
    name("created_by"),
    number("created_at"),
    number("archived_at", null=True),
    number("version"),
    number("offers_version"),
    number("owner_quota_version"),
    text("rollup"),
    # Raised by every change of the aggregate, machines included: it orders the events of one pool.
    number("revision"),
    Index(None, "idempotency_key"),
)

pool_offers = Table(
    "pool_offers",
    metadata,
    name("pool_id", "pools.id"),
    name("tenant_id", "tenants.id"),
    number("priority"),
    flag("include_descendants"),
    number("version"),
    PrimaryKeyConstraint("pool_id", "tenant_id"),
    sqlite_with_rowid=False,
)

# `max` may be below `used` (rule quota.exact): no constraint says otherwise.
pool_quotas = Table(
    "pool_quotas",
    metadata,
    name("pool_id", "pools.id"),
    name("tenant_id", "tenants.id"),
    name("resource"),
    number("max"),
    number("used"),
    PrimaryKeyConstraint("pool_id", "tenant_id", "resource"),
    CheckConstraint(f"max BETWEEN 0 AND {UNLIMITED}", name="max"),
    CheckConstraint(f"used BETWEEN 0 AND {UNLIMITED}", name="used"),
    sqlite_with_rowid=False,
)

# What a tenant sees. A row stands for ownership or an offer, and is written in the transaction of either.
authz = Table(
    "authz",
    metadata,
    name("tenant_id", "tenants.id"),
    name("pool_id", "pools.id"),
    name("gpu_model"),
    Column("class", Key, key="class_", nullable=False),
    name("sharing"),
    text("region"),
    flag("owned"),
    PrimaryKeyConstraint("tenant_id", "pool_id"),
    Index(None, "pool_id"),
    sqlite_with_rowid=False,
)
