"""Tenants, identities and their credentials, sites and provider accounts."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table

from better_compute.storage.tables.columns import Key, metadata, name, number, secret, text

tenants = Table(
    "tenants",
    metadata,
    name("id", primary=True),
    # Checked at the end of a transaction: a world's tenants come in any order.
    Column("parent_id", Key, ForeignKey("tenants.id", deferrable=True, initially="DEFERRED")),
    name("status"),
    secret("digest_key"),
    number("created_at"),
)

identities = Table(
    "identities",
    metadata,
    name("id", primary=True),
    name("tenant_id", "tenants.id"),
    name("kind"),
    number("created_at"),
    Index(None, "tenant_id", "id"),
)

credentials = Table(
    "credentials",
    metadata,
    name("id", primary=True),
    name("identity_id", "identities.id"),
    secret("token_hash", unique=True),
    number("created_at"),
    number("expires_at", null=True),
    number("revoked_at", null=True),
    Index(None, "identity_id", "id"),
)

sites = Table(
    "sites",
    metadata,
    name("id", primary=True),
    name("tenant_id", "tenants.id"),
    name("kind"),
    text("region"),
    text("name"),
    Index(None, "tenant_id", "id"),
)

provider_accounts = Table(
    "provider_accounts",
    metadata,
    name("id", primary=True),
    name("tenant_id", "tenants.id"),
    text("name"),
    Index(None, "tenant_id", "id"),
)
