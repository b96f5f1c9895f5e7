"""How small the hosts of pools are, as their inventories say it."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, BigInteger, ColumnElement, Select, bindparam, cast, func, select, type_coerce

from better_compute.domain.bounds import MIB_PER_GIB, MIB_PER_PAGE, HostBounds
from better_compute.storage import tables as t
from better_compute.storage.rows import Rows


class BoundsTx(Rows):
    """The part of `Tx` about the least of a pool's hosts."""

    def host_bounds(self, pool_ids: Collection[str]) -> dict[str, HostBounds]:
        rows = self._all(_smallest(self._dialect), pool_ids=list(pool_ids))
        return {pool_id: HostBounds(vcpu=v, memory_mib=m, room_mib=r) for pool_id, v, m, r in rows}


@lru_cache
def _smallest(dialect: str) -> Select[Any]:
    """The database reads the inventories: there may be thousands, and three numbers are asked for."""
    # SQLite takes a text for JSON, and a cast to it for one to a number.
    inventory = type_coerce(t.nodes.c.inventory, JSON) if dialect == "sqlite" else cast(t.nodes.c.inventory, JSON)

    def stated(field: str) -> ColumnElement[int]:
        return cast(inventory[field].as_string(), BigInteger)

    memory = func.nullif(stated("memory_gib"), 0) * MIB_PER_GIB
    pages = stated("hugepages_2mi") * MIB_PER_PAGE["2Mi"] + stated("hugepages_1gi") * MIB_PER_PAGE["1Gi"]
    n = t.nodes.c
    return (
        select(n.pool_id, func.min(func.nullif(stated("vcpu"), 0)), func.min(memory), func.min(memory - pages))
        .where(n.pool_id.in_(bindparam("pool_ids", expanding=True)))
        .where(n.role == "host", n.quarantined.is_(None), n.control == "platform")
        .group_by(n.pool_id)
    )
