"""What the hosts of pools have, as their inventories say it."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, BigInteger, ColumnElement, Select, Text, bindparam, cast, func, select, type_coerce

from better_compute.domain.bounds import HostBounds, cards_of
from better_compute.domain.inventory import MIB_PER_GIB, VRAM, Inventory, beside_pages
from better_compute.storage import tables as t
from better_compute.storage.rows import LONG_AT_ONCE, Rows, from_json
from better_compute.storage.tables.machines import SCHEDULABLE


class BoundsTx(Rows):
    """The part of `Tx` about what a policy must fit."""

    def host_bounds(self, pool_ids: Collection[str]) -> dict[str, HostBounds]:
        rows = self._all(_smallest(self._dialect), pool_ids=list(pool_ids))
        return {pool_id: HostBounds(vcpu=v, memory_mib=m, room_mib=r) for pool_id, v, m, r in rows}

    def card_sizes(self, pool_ids: Collection[str]) -> dict[str, frozenset[int]]:
        found: dict[str, frozenset[int]] = {}
        for pool_id, gpus, vram in self._each(_kinds(self._dialect), LONG_AT_ONCE, pool_ids=list(pool_ids)):
            # Machines of older databases may say a text, or a number as one: the domain knows what that says.
            inventory = Inventory(gpus=tuple(from_json(gpus)), attributes={VRAM: from_json(vram or "null")})
            found[pool_id] = found.get(pool_id, frozenset()) | cards_of(inventory)
        return found


def _inventory(dialect: str) -> Any:
    # SQLite takes a text for JSON, and a cast to it for one to a number.
    return type_coerce(t.nodes.c.inventory, JSON) if dialect == "sqlite" else cast(t.nodes.c.inventory, JSON)


def _of_hosts(statement: Select[Any]) -> Select[Any]:
    return statement.where(t.nodes.c.pool_id.in_(bindparam("pool_ids", expanding=True)), SCHEDULABLE)


@lru_cache
def _kinds(dialect: str) -> Select[Any]:
    """The different sets of GPUs: hosts of a pool are alike, so they are few."""
    inventory = _inventory(dialect)
    vram = cast(inventory[("attributes", VRAM)].as_json(), Text)  # as JSON spells it: 80 is not "80"
    return _of_hosts(select(t.nodes.c.pool_id, inventory["gpus"].as_string(), vram).distinct())


@lru_cache
def _smallest(dialect: str) -> Select[Any]:
    """The database reads the inventories: there may be thousands, and three numbers are asked for."""
    inventory = _inventory(dialect)

    def stated(field: str) -> ColumnElement[int]:
        return cast(inventory[field].as_string(), BigInteger)

    memory = func.nullif(stated("memory_gib"), 0) * MIB_PER_GIB
    room = beside_pages(memory, stated("hugepages_2mi"), stated("hugepages_1gi"))
    least = (func.min(func.nullif(stated("vcpu"), 0)), func.min(memory), func.min(room))
    return _of_hosts(select(t.nodes.c.pool_id, *least)).group_by(t.nodes.c.pool_id)
