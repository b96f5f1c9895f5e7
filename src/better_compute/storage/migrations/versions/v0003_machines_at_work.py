"""What is booked on machines: their devices and resources, reservations, and what those used.

Machines that are there already are judged by the rules that are there, and get their devices and resources, by the
reconcilers, as after any change of them. The rows of their attributes are made here: those change with their
inventories alone. So is what pools note of their GPUs, which is kept by what each change adds and takes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

KEY = sa.String().with_variant(sa.String(collation="C"), "postgresql")
AT_ONCE = 100
"""So many machines are read at once: each of them may say a megabyte of itself."""

# As GPUs were counted when this was written; a rule that counts them otherwise comes with a migration of its own.
INSTANCE = re.compile(r"[ -]MIG[ -](?:\d+c\.)?\d+g\.\d+gb(?:[+-][a-z.]+)?\Z")
BOOKED = sa.text("reservation_id IS NOT NULL")
LIVE = sa.text("state IN ('pending', 'placed', 'active')")


def upgrade() -> None:
    op.add_column("nodes", sa.Column("control", KEY, nullable=False, server_default="platform"))
    op.add_column("nodes", sa.Column("free", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index(None, "nodes", ["pool_id", "free", "id"])
    _reservations()
    _machines()
    _attributes()
    _rollups()
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
    op.create_index(None, "node_devices", ["reservation_id"], sqlite_where=BOOKED, postgresql_where=BOOKED)
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
    for found in _pages("nodes", "pool_id", "inventory"):
        op.bulk_insert(table, [row for node in found for row in _rows(*node)])


def _rollups() -> None:
    """Pools count the MIG instances of their hosts beside the GPUs that are not cut."""
    held: dict[str, tuple[int, int]] = {}
    for found in _pages("nodes", "pool_id", "inventory", "role", "quarantined"):
        for _, pool_id, inventory, role, quarantined in found:
            if role == "host" and quarantined is None:
                gpus, instances = held.get(pool_id, (0, 0))
                more_gpus, more_instances = _holds(json.loads(inventory)["gpus"])
                held[pool_id] = gpus + more_gpus, instances + more_instances
    pools = sa.table("pools", sa.column("id"), sa.column("rollup"))
    update = pools.update().where(pools.c.id == sa.bindparam("of_pool")).values(rollup=sa.bindparam("new_rollup"))
    for found in _pages("pools", "rollup"):
        counts = ((pool_id, json.loads(rollup), held.get(pool_id, (0, 0))) for pool_id, rollup in found)
        rows = [
            {"of_pool": pool_id, "new_rollup": _json({**rollup, "gpus": gpus, "instances": instances})}
            for pool_id, rollup, (gpus, instances) in counts
        ]
        op.get_bind().execute(update, rows)


def _holds(names: list[str]) -> tuple[int, int]:
    """The whole GPUs of a machine and its MIG instances: the GPUs beside instances are those that are cut."""
    instances = sum(1 for name in names if INSTANCE.search(name))
    return (0, instances) if instances else (len(names), 0)


def _pages(name: str, *columns: str) -> Iterator[Sequence[Any]]:
    """The rows of a table with an id, which is the first of their columns."""
    table = sa.table(name, sa.column("id"), *map(sa.column, columns))
    page = sa.select(table).where(table.c.id > sa.bindparam("after")).order_by(table.c.id).limit(AT_ONCE)
    after = ""
    while found := op.get_bind().execute(page, {"after": after}).all():
        yield found
        after = found[-1].id


def _rows(node_id: str, pool_id: str, inventory: str) -> Iterator[dict[str, Any]]:
    for pair in json.loads(inventory).get("attributes", {}).items():
        said = _json(pair)
        yield {
            "pool_id": pool_id,
            "attribute": hashlib.sha256(said.encode()).hexdigest(),
            "node_id": node_id,
        }


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


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
