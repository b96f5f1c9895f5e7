"""The machines that world files declared, as groups that wait or are in their pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, exists

from better_compute.service.ports import MachineGroup
from better_compute.storage import tables as t
from better_compute.storage.rows import Kept, Rows, upsert

_GROUPS = Kept(t.world_machines, MachineGroup)
_G = t.world_machines.c
_WAITING = _GROUPS.columns.where(_G.joined.is_(None))
_POOL_IS_THERE = _WAITING.where(exists().where(t.pools.c.idempotency_key == _G.pool_key))
_FOR = _WAITING.where(_G.pool_key.in_(bindparam("pool_keys", expanding=True)))
# In this order they are locked.
_BY_DIGEST = _GROUPS.columns.where(_G.digest.in_(bindparam("digests", expanding=True))).order_by(_G.digest)


class WorldTx(Rows):
    """The part of `Tx` about the machines of a world."""

    def waiting_machines(self) -> list[MachineGroup]:
        return [_GROUPS.of(row) for row in self._all(_POOL_IS_THERE)]

    def machines_for(self, pool_keys: Collection[str]) -> list[MachineGroup]:
        return [_GROUPS.of(row) for row in self._all(_FOR, pool_keys=list(pool_keys))]

    def machine_groups(self, digests: Collection[str]) -> dict[str, MachineGroup]:
        found = [_GROUPS.of(row) for row in self._all(self._lock(_BY_DIGEST), digests=list(digests))]
        return {group.digest: group for group in found}

    def add_machine_groups(self, groups: Sequence[MachineGroup]) -> None:
        self._write_many(t.world_machines.insert(), [_GROUPS.values(group) for group in groups])

    def put_machine_groups(self, groups: Sequence[MachineGroup]) -> None:
        self._write_many(upsert(t.world_machines, self._dialect), [_GROUPS.values(group) for group in groups])
