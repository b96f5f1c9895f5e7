"""What is booked on machines: their devices and resources, reservations, and what those used.

Machines that are there already get their devices and resources by the reconcilers, as after any change of them, and
the rows of their attributes here: those change with their inventories alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

KEY = sa.String().with_variant(sa.String(collation="C"), "postgresql")
AT_ONCE = 500
LIVE = sa.text("state IN ('pending', 'placed', 'active')")


def upgrade() -> None:
    op.add_column("nodes", sa.Column("control", KEY, nullable=False, server_default="platform"))
    op.add_column("nodes", sa.Column("free", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index(None, "nodes", ["pool_id", "free", "id"])
    _reservations()
    _machines()
    _attributes()
    _usage()


def _reservations() -> None:
    op.create_table(
        "reservations",
        _name("id", primary_key=True),
        _refers("pool_id", "pools"),
        _refers("tenant_id", "tenants"),
        _name("state"),
        _text("resources"),
        _text("selectors"),
        _number("atoms"),
        _text("reason", nullable=True),
        _name("idempotency_key", nullable=True),
        _name("created_by"),
        _number("created_at"),
        _name("node_id", nullable=True),
        *(_number(name, nullable=True) for name in ("placed_at", "activated_at", "ended_at")),
        sa.CheckConstraint("state IN ('pending', 'placed', 'active', 'ended', 'failed')", name="state"),
    )
    op.create_index(None, "reservations", ["pool_id", "id"])
    op.create_index(None, "reservations", ["tenant_id", "pool_id", "id"])
    op.create_index(
        "ix_reservations_live",
        "reservations",
        ["pool_id", "state", "created_at", "id", "tenant_id"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )


def _machines() -> None:
    op.create_table(
        "node_devices",
        _refers("node_id", "nodes"),
        _number("position"),
        _text("product"),
        _text("profile", nullable=True),
        _number("vram_gib", nullable=True),
        _number("share"),
        _number("whole"),
        sa.Column("leaving", sa.Boolean, nullable=False),
        _refers("reservation_id", "reservations", nullable=True),
        sa.PrimaryKeyConstraint("node_id", "position"),
        sqlite_with_rowid=False,
    )
    op.create_index(None, "node_devices", ["reservation_id"])
    op.create_table(
        "node_resources",
        _refers("node_id", "nodes"),
        _name("resource"),
        _number("provided"),
        _text("ratio"),
        _number("allocated"),
        sa.PrimaryKeyConstraint("node_id", "resource"),
        sa.CheckConstraint("provided >= 0 AND allocated >= 0", name="allocated"),
        sqlite_with_rowid=False,
    )


def _attributes() -> None:
    table = op.create_table(
        "node_attributes",
        _name("pool_id"),
        _name("attribute"),
        _refers("node_id", "nodes"),
        sa.PrimaryKeyConstraint("pool_id", "attribute", "node_id"),
        sqlite_with_rowid=False,
    )
    op.create_index(None, "node_attributes", ["node_id"])
    nodes = sa.table("nodes", sa.column("id"), sa.column("pool_id"), sa.column("inventory"))
    page = sa.select(nodes).where(nodes.c.id > sa.bindparam("after")).order_by(nodes.c.id).limit(AT_ONCE)
    after = ""
    while found := op.get_bind().execute(page, {"after": after}).all():
        op.bulk_insert(table, [row for node in found for row in _rows(*node)])
        after = found[-1].id


def _rows(node_id: str, pool_id: str, inventory: str) -> Iterator[dict[str, Any]]:
    for pair in json.loads(inventory).get("attributes", {}).items():
        said = json.dumps(pair, separators=(",", ":"))
        yield {
            "pool_id": pool_id,
            "attribute": hashlib.sha256(said.encode()).hexdigest(),
            "node_id": node_id,
        }


def _usage() -> None:
    op.create_table(
        "usage",
        _refers("reservation_id", "reservations"),
        _number("started_at"),
        _refers("pool_id", "pools"),
        _refers("tenant_id", "tenants"),
        _name("meter"),
        _number("share"),
        _number("whole"),
        _number("ended_at", nullable=True),
        sa.PrimaryKeyConstraint("reservation_id", "started_at", "meter"),
        sqlite_with_rowid=False,
    )
    op.create_index(None, "usage", ["pool_id", "tenant_id", "meter", "whole", "ended_at", "started_at", "share"])
    op.create_index(None, "usage", ["tenant_id", "pool_id", "meter", "whole", "ended_at", "started_at", "share"])


def _name(name: str, *, nullable: bool = False, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, KEY, nullable=nullable, primary_key=primary_key)


def _refers(name: str, table: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, KEY, sa.ForeignKey(f"{table}.id"), nullable=nullable)


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)
