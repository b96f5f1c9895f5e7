"""The tables of the current schema. Columns carry the names of the domain's fields; `migrations` make the same tables
step by step, and a test holds the two together."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from better_compute.domain.atoms import UNLIMITED

Key = String().with_variant(String(collation="C"), "postgresql")
"""Ids and names, compared byte by byte: pages are cut at ids, and every database must agree on their order."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def _name(name: str, refers: str | None = None, *, null: bool = False, primary: bool = False) -> Column[str]:
    keys = [ForeignKey(refers)] if refers else []
    return Column(name, Key, *keys, nullable=null, primary_key=primary)


def _number(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def _text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


def _bytes(name: str, *, unique: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False, unique=unique)


tenants = Table(
    "tenants",
    metadata,
    _name("id", primary=True),
    # Checked at the end of a transaction: a world's tenants come in any order.
    Column("parent_id", Key, ForeignKey("tenants.id", deferrable=True, initially="DEFERRED")),
    _name("status"),
    _bytes("digest_key"),
    _number("created_at"),
)

identities = Table(
    "identities",
    metadata,
    _name("id", primary=True),
    _name("tenant_id", "tenants.id"),
    _name("kind"),
    _number("created_at"),
    Index(None, "tenant_id", "id"),
)

credentials = Table(
    "credentials",
    metadata,
    _name("id", primary=True),
    _name("identity_id", "identities.id"),
    _bytes("token_hash", unique=True),
    _number("created_at"),
    _number("expires_at", null=True),
    _number("revoked_at", null=True),
    Index(None, "identity_id", "id"),
)

sites = Table(
    "sites",
    metadata,
    _name("id", primary=True),
    _name("tenant_id", "tenants.id"),
    _name("kind"),
    _text("region"),
    _text("name"),
    Index(None, "tenant_id", "id"),
)

provider_accounts = Table(
    "provider_accounts",
    metadata,
    _name("id", primary=True),
    _name("tenant_id", "tenants.id"),
    _text("name"),
    Index(None, "tenant_id", "id"),
)

pools = Table(
    "pools",
    metadata,
    _name("id", primary=True),
    _name("owner_id", "tenants.id"),
    _name("site_id", "sites.id"),
    Column("class", Key, key="class_", nullable=False),
    _name("gpu_model"),
    _name("sharing"),
    _name("agent"),
    _name("provider_account_id", "provider_accounts.id", null=True),
    _text("policy"),
    _text("region"),
    _name("idempotency_key", null=True),
    _name("created_by"),
    _number("created_at"),
    _number("archived_at", null=True),
    _number("version"),
    _number("offers_version"),
    _number("owner_quota_version"),
    _text("rollup"),
    # Raised by every change of the aggregate, machines included: it orders the events of one pool.
    _number("revision"),
    Index(None, "idempotency_key"),
)

pool_offers = Table(
    "pool_offers",
    metadata,
    _name("pool_id", "pools.id"),
    _name("tenant_id", "tenants.id"),
    _number("priority"),
    Column("include_descendants", Boolean, nullable=False),
    _number("version"),
    PrimaryKeyConstraint("pool_id", "tenant_id"),
    sqlite_with_rowid=False,
)

# `max` may be below `used` (rule quota.exact): no constraint says otherwise.
pool_quotas = Table(
    "pool_quotas",
    metadata,
    _name("pool_id", "pools.id"),
    _name("tenant_id", "tenants.id"),
    _name("resource"),
    _number("max"),
    _number("used"),
    PrimaryKeyConstraint("pool_id", "tenant_id", "resource"),
    CheckConstraint(f"max BETWEEN 0 AND {UNLIMITED}", name="max"),
    CheckConstraint(f"used BETWEEN 0 AND {UNLIMITED}", name="used"),
    sqlite_with_rowid=False,
)

# What a tenant sees. A row stands for ownership or an offer, and is written in the transaction of either.
authz = Table(
    "authz",
    metadata,
    _name("tenant_id", "tenants.id"),
    _name("pool_id", "pools.id"),
    _name("gpu_model"),
    Column("class", Key, key="class_", nullable=False),
    _name("sharing"),
    _text("region"),
    Column("owned", Boolean, nullable=False),
    PrimaryKeyConstraint("tenant_id", "pool_id"),
    Index(None, "pool_id"),
    sqlite_with_rowid=False,
)

nodes = Table(
    "nodes",
    metadata,
    _name("id", primary=True),
    _name("pool_id", "pools.id"),
    _name("role"),
    _name("gpu_model", null=True),
    _text("inventory"),
    _name("owner_tenant_id", null=True),
    _number("joined_at"),
    _text("quarantined", null=True),
    Index(None, "pool_id", "id"),
)

join_tokens = Table(
    "join_tokens",
    metadata,
    _name("id", primary=True),
    _name("pool_id", "pools.id"),
    _bytes("token_hash", unique=True),
    _number("created_at"),
    _number("expires_at"),
    _number("used_at", null=True),
    Index(None, "pool_id"),
)

# Events outlive what they tell of, so nothing here refers to another table. Those without a sequence are found by the
# index of the unique constraint, the newest of a pool or of a pair by the other, which holds all that this needs.
events = Table(
    "events",
    metadata,
    _name("id", primary=True),
    _name("type"),
    _name("tenant_id"),
    _name("actor_id"),
    _name("pool_id"),
    _name("to_tenant_id", null=True),
    _number("time"),
    _text("data"),
    _text("via", null=True),
    _number("sequence", null=True),
    _name("hash", null=True),
    _number("revision"),
    UniqueConstraint("tenant_id", "sequence"),
    Index("ix_events_newest", "tenant_id", "pool_id", "to_tenant_id", "sequence", "type"),
)

event_heads = Table(
    "event_heads",
    metadata,
    _name("tenant_id", primary=True),
    _number("sequence"),
    _name("hash"),
)

# Machines that a world file declared. Those of one pool are found by its key, and those that wait by the other index.
world_machines = Table(
    "world_machines",
    metadata,
    Column("kind", Key, key="digest", primary_key=True),
    _name("pool_key"),
    _text("data"),
    _number("count"),
    _name("joined", null=True),
    Index(None, "pool_key"),
    Index(None, "joined"),
)

meta = Table("meta", metadata, _name("name", primary=True), _text("value"))

# Alembic's own table: the version of the schema is said in one place.
schema_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
