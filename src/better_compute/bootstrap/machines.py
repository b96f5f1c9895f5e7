"""Machines of a world file: they wait until their pool is there, and join it as real ones do.

What was declared stays noted in the database as groups of equal machines. The id of a machine derives from its pool,
its group and its number: however often and from however many processes they are let in, none is there twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from better_compute.domain.ids import derive
from better_compute.domain.nodes import Inventory
from better_compute.domain.problems import ComputeError
from better_compute.domain.state import Pool
from better_compute.service.actions import ROOT
from better_compute.service.core import Service
from better_compute.service.nodes import Machine, admit
from better_compute.service.ports import Caller, Tx

if TYPE_CHECKING:
    from better_compute.bootstrap.world_file import MachineEntry

log = logging.getLogger(__name__)

ACTOR = Caller(identity_id="world", tenant_id=ROOT)
"""Who lets them in, as their events say."""

Notes = Mapping[str, Mapping[str, Any]]
"""Groups as they are noted, by their kind."""

Joins = Mapping[str, list[str]]
"""Pool -> the kinds of groups that are to join it."""

_PAGE = 1000
"""Keys that are asked about at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """`count` equal machines for the pool with the key `pool`; `joined` is that pool once they are in it."""

    pool: str
    tenant_id: str | None
    caller: str | None
    owner_tenant_id: str | None
    inventory: Mapping[str, Any]
    count: int
    joined: str | None = None

    def kind(self) -> str:
        """What tells these machines from others; the same in every process."""
        own = {name: value for name, value in asdict(self).items() if name not in ("count", "joined")}
        return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()

    def takes(self, pool: Pool) -> bool:
        """Whether these machines are meant for the pool, and it takes any."""
        return (
            pool.idempotency_key == self.pool
            and self.tenant_id in (None, pool.owner_id)
            and self.caller in (None, pool.created_by)
            and not pool.archived
        )

    def machines(self, pool: Pool) -> Iterator[Machine]:
        inventory, kind = Inventory.of(self.inventory), self.kind()
        for number in range(self.count):
            node_id = derive("node", pool.owner_id, pool.id, f"{kind}:{number}")
            yield Machine(inventory=inventory, owner_tenant_id=self.owner_tenant_id, id=node_id)


def declare(tx: Tx, entries: Iterable[MachineEntry]) -> int:
    """Note the machines of a world file beside those that are noted; how many groups that changed.

    Fewer machines than before change nothing: none leaves by a file.
    """
    stated: dict[str, Group] = {}
    for entry in entries:
        group = Group(
            pool=entry.pool,
            tenant_id=entry.tenant_id,
            caller=entry.caller,
            owner_tenant_id=entry.owner_tenant_id,
            inventory=asdict(entry.inventory()),
            count=entry.count,
        )
        kind = group.kind()
        # Entries that are alike in all but their count are one group, in whatever order they stand.
        stated[kind] = replace(group, count=group.count + (stated[kind].count if kind in stated else 0))
    noted = _noted(tx)
    more = {kind: group for kind, group in stated.items() if noted.get(kind, {}).get("count", 0) < group.count}
    if more:
        _note(tx, {**noted, **{kind: asdict(group) for kind, group in more.items()}})
    return len(more)


def join_created(service: Service, pool_id: str) -> None:
    """Let in the machines that waited for a pool that was just made."""

    def found(tx: Tx) -> Joins:
        waiting = _waiting(tx)
        key = _key(tx.pool_state(pool_id, []).pool) if waiting else None
        return _found(tx, {kind: group for kind, group in waiting.items() if group["pool"] == key})

    _join_found(service, service.store.view(found))


def join_all(service: Service) -> None:
    """Let in all machines whose pool is there: those that a crash kept out, or that were declared after it.

    Where the keys of several pools fit a group it waits for a file that tells them apart.
    """
    _join_found(service, service.store.view(lambda tx: _found(tx, _waiting(tx))))


def _join_found(service: Service, joins: Joins) -> None:
    for pool_id, kinds in joins.items():
        for refusal in service.store.transact(partial(_join, service, pool_id, kinds)):
            log.warning("%s", refusal)


def _join(service: Service, pool_id: str, kinds: list[str], tx: Tx) -> list[str]:
    """Let groups into their pool; why some may not."""
    # The note is locked before the pool, in every process.
    noted = _noted(tx)
    state = tx.pool_state(pool_id, [])
    refusals = []
    for kind in kinds:
        group = Group(**noted[kind])
        if group.joined is not None or state.pool is None or not group.takes(state.pool):
            continue
        try:
            for machine in group.machines(state.pool):
                if tx.node(str(machine.id)) is None:
                    admit(service, tx, ACTOR, state, state.pool, machine)
            noted[kind] = asdict(replace(group, joined=pool_id))
        except ComputeError as error:
            refusals.append(f"machines of the world do not join the pool {group.pool}: {error}")
    _note(tx, noted)
    return refusals


def _found(tx: Tx, waiting: Notes) -> Joins:
    """The pools that are there for groups that wait, where a group fits only one."""
    keys = sorted({group["pool"] for group in waiting.values()})
    pools: dict[str | None, list[Pool]] = {}
    for start in range(0, len(keys), _PAGE):
        for pool in tx.pools_by_key(keys[start : start + _PAGE]):
            pools.setdefault(pool.idempotency_key, []).append(pool)
    joins: dict[str, list[str]] = {}
    for kind, noted in waiting.items():
        fits = [pool.id for pool in pools.get(noted["pool"], ()) if Group(**noted).takes(pool)]
        if len(fits) == 1:
            joins.setdefault(fits[0], []).append(kind)
    return joins


def _key(pool: Pool | None) -> str | None:
    return None if pool is None else pool.idempotency_key


def _noted(tx: Tx) -> dict[str, dict[str, Any]]:
    return dict(tx.world_machines().get("groups", {}))


def _waiting(tx: Tx) -> Notes:
    return {kind: group for kind, group in _noted(tx).items() if group["joined"] is None}


def _note(tx: Tx, groups: Notes) -> None:
    tx.put_world_machines({"groups": groups})
