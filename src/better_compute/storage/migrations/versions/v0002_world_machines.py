"""The machines of a world: a row for each group of them, where one note held all."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

KEY = sa.String().with_variant(sa.String(collation="C"), "postgresql")
NOTE = "world_machines"


def upgrade() -> None:
    table = op.create_table(
        "world_machines",
        sa.Column("kind", KEY, primary_key=True),
        sa.Column("pool_key", KEY, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("joined", KEY, nullable=True),
    )
    op.create_index(None, "world_machines", ["pool_key"])
    op.create_index(None, "world_machines", ["joined"])
    meta = sa.table("meta", sa.column("name"), sa.column("value"))
    note = op.get_bind().scalar(sa.select(meta.c.value).where(meta.c.name == NOTE))
    groups = json.loads(note).get("groups", {}) if note else {}
    op.bulk_insert(table, [_row(group) for group in groups.values()])
    op.execute(meta.delete().where(meta.c.name == NOTE))


def _row(group: dict[str, Any]) -> dict[str, Any]:
    """A group as it was noted; what tells its machines from others stays what it was, or they would join again."""
    data = json.dumps({name: it for name, it in group.items() if name not in ("count", "joined")}, sort_keys=True)
    kind = hashlib.sha256(data.encode()).hexdigest()
    return {"kind": kind, "pool_key": group["pool"], "data": data, "count": group["count"], "joined": group["joined"]}
