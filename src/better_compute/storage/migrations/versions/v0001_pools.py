"""Tenants, pools with offers and quotas, machines, events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

KEY = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    _tenants()
    _holdings()
    _pools()
    _grants()
    _machines()
    _events()
    op.create_table("meta", _name("name", primary_key=True), _text("value"))


def _tenants() -> None:
    parent = sa.ForeignKey("tenants.id", deferrable=True, initially="DEFERRED")
    op.create_table(
        "tenants",
        _name("id", primary_key=True),
        sa.Column("parent_id", KEY, parent),
        _name("status"),
        _bytes("digest_key"),
        _number("created_at"),
    )
    op.create_table(
        "identities",
        _name("id", primary_key=True),
        _refers("tenant_id", "tenants"),
        _name("kind"),
        _number("created_at"),
    )
    op.create_index(None, "identities", ["tenant_id", "id"])
    op.create_table(
        "credentials",
        _name("id", primary_key=True),
        _refers("identity_id", "identities"),
        _bytes("token_hash", unique=True),
        _number("created_at"),
        _number("expires_at", nullable=True),
        _number("revoked_at", nullable=True),
    )
    op.create_index(None, "credentials", ["identity_id", "id"])


def _holdings() -> None:
    op.create_table(
        "sites",
        _name("id", primary_key=True),
        _refers("tenant_id", "tenants"),
        _name("kind"),
        _text("region"),
        _text("name"),
    )
    op.create_index(None, "sites", ["tenant_id", "id"])
    op.create_table("provider_accounts", _name("id", primary_key=True), _refers("tenant_id", "tenants"), _text("name"))
    op.create_index(None, "provider_accounts", ["tenant_id", "id"])


def _pools() -> None:
    op.create_table(
        "pools",
        _name("id", primary_key=True),
        _refers("owner_id", "tenants"),
        _refers("site_id", "sites"),
        *map(_name, ("class", "gpu_model", "sharing", "agent")),
        _refers("provider_account_id", "provider_accounts", nullable=True),
        _text("policy"),
        _text("region"),
        _name("idempotency_key", nullable=True),
        _name("created_by"),
        _number("created_at"),
        _number("archived_at", nullable=True),
        *map(_number, ("version", "offers_version", "owner_quota_version")),
        _text("rollup"),
        _number("revision"),
    )
    op.create_index(None, "pools", ["idempotency_key"])


def _grants() -> None:
    op.create_table(
        "pool_offers",
        _refers("pool_id", "pools"),
        _refers("tenant_id", "tenants"),
        _number("priority"),
        sa.Column("include_descendants", sa.Boolean, nullable=False),
        _number("version"),
        sa.PrimaryKeyConstraint("pool_id", "tenant_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "pool_quotas",
        _refers("pool_id", "pools"),
        _refers("tenant_id", "tenants"),
        _name("resource"),
        _number("max"),
        _number("used"),
        sa.PrimaryKeyConstraint("pool_id", "tenant_id", "resource"),
        sa.CheckConstraint("max BETWEEN 0 AND 2147483647", name="max"),
        sa.CheckConstraint("used BETWEEN 0 AND 2147483647", name="used"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "authz",
        _refers("tenant_id", "tenants"),
        _refers("pool_id", "pools"),
        *map(_name, ("gpu_model", "class", "sharing")),
        _text("region"),
        sa.Column("owned", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "pool_id"),
        sqlite_with_rowid=False,
    )
    op.create_index(None, "authz", ["pool_id"])


def _machines() -> None:
    op.create_table(
        "nodes",
        _name("id", primary_key=True),
        _refers("pool_id", "pools"),
        _name("role"),
        _name("gpu_model", nullable=True),
        _text("inventory"),
        _name("owner_tenant_id", nullable=True),
        _number("joined_at"),
        _text("quarantined", nullable=True),
    )
    op.create_index(None, "nodes", ["pool_id", "id"])
    op.create_table(
        "join_tokens",
        _name("id", primary_key=True),
        _refers("pool_id", "pools"),
        _bytes("token_hash", unique=True),
        _number("created_at"),
        _number("expires_at"),
        _number("used_at", nullable=True),
    )
    op.create_index(None, "join_tokens", ["pool_id"])


def _events() -> None:
    op.create_table(
        "events",
        _name("id", primary_key=True),
        *map(_name, ("type", "tenant_id", "actor_id", "pool_id")),
        _name("to_tenant_id", nullable=True),
        _number("time"),
        _text("data"),
        _text("via", nullable=True),
        _number("sequence", nullable=True),
        _name("hash", nullable=True),
        _number("revision"),
        sa.UniqueConstraint("tenant_id", "sequence"),
    )
    op.create_index("ix_events_newest", "events", ["tenant_id", "pool_id", "to_tenant_id", "sequence", "type"])
    op.create_table("event_heads", _name("tenant_id", primary_key=True), _number("sequence"), _name("hash"))


def _name(name: str, *, nullable: bool = False, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, KEY, nullable=nullable, primary_key=primary_key)


def _refers(name: str, table: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, KEY, sa.ForeignKey(f"{table}.id"), nullable=nullable)


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _bytes(name: str, *, unique: bool = False) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=False, unique=unique)
