"""Machines of a world file: they wait until their pool is there, and join it as real ones do.

What was declared stays noted in the database as groups of equal machines, also when they are in their pool. The id of
a machine derives from its pool, its group and its number: however often and from however many processes they are let
in, none is there twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from better_compute.domain.ids import derive
from better_compute.domain.nodes import Inventory, Machine
from better_compute.domain.problems import ComputeError
from better_compute.domain.state import Pool, PoolState
from better_compute.service.actions import ROOT, WORLD
from better_compute.service.core import Arriving, Service
from better_compute.service.nodes import admit
from better_compute.service.ports import Caller, MachineGroup, Tx

if TYPE_CHECKING:
    from better_compute.bootstrap.world_file import MachineEntry

T = TypeVar("T")

log = logging.getLogger(__name__)

ACTOR = Caller(identity_id=WORLD, tenant_id=ROOT)

Joins = Mapping[str, list[str]]
"""Pool -> the kinds of groups that are to join it."""

_PAGE = 1000
"""Groups or keys that are asked about at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What a group says of its machines. The field names and values are what their ids derive from: none may change."""

    pool: str
    tenant_id: str | None
    caller: str | None
    owner_tenant_id: str | None
    inventory: Mapping[str, Any]

    @classmethod
    def of(cls, group: MachineGroup) -> Machines:
        return cls(**json.loads(group.data))

    def group(self, count: int) -> MachineGroup:
        """So many of them, as they are noted; the same in every process."""
        data = json.dumps(asdict(self), sort_keys=True)
        digest = hashlib.sha256(data.encode()).hexdigest()
        return MachineGroup(digest=digest, pool_key=self.pool, data=data, count=count)

    def fit(self, pool: Pool) -> bool:
        """Whether they are meant for the pool, and it takes any."""
        return (
            pool.idempotency_key == self.pool
            and self.tenant_id in (None, pool.owner_id)
            and self.caller in (None, pool.created_by)
            and not pool.archived
        )

    def choose(self, pools: Iterable[Pool]) -> Pool | None:
        """The pool that they join, if they fit only one."""
        fits = [pool for pool in pools if self.fit(pool)]
        return fits[0] if len(fits) == 1 else None

    def one(self) -> Machine:
        return Machine(inventory=Inventory.of(self.inventory), owner_tenant_id=self.owner_tenant_id)

    def each(self, group: MachineGroup, pool: Pool) -> Iterator[Machine]:
        machine = self.one()
        for number in range(group.count):
            yield replace(machine, id=derive("node", pool.owner_id, pool.id, f"{group.digest}:{number}"))


def declare(tx: Tx, entries: Iterable[MachineEntry]) -> int:
    """Note the machines of a world file beside those that are noted; how many groups that changed.

    Fewer machines than before change nothing: none leaves by a file.
    """
    stated: dict[str, MachineGroup] = {}
    for entry in entries:
        group = Machines(
            pool=entry.pool,
            tenant_id=entry.tenant_id,
            caller=entry.caller,
            owner_tenant_id=entry.owner_tenant_id,
            inventory=asdict(entry.inventory()),
        ).group(entry.count)
        # Entries that are alike in all but their count are one group, in whatever order they stand.
        before = stated[group.digest].count if group.digest in stated else 0
        stated[group.digest] = replace(group, count=group.count + before)
    return sum(_declare(tx, page) for page in _pages([stated[digest] for digest in sorted(stated)]))


def _declare(tx: Tx, stated: Sequence[MachineGroup]) -> int:
    noted = tx.machine_groups([group.digest for group in stated])
    # Where two processes add the same group, the second finds that it exists, and begins again.
    added = [group for group in stated if group.digest not in noted]
    raised = [group for group in stated if group.digest in noted and noted[group.digest].count < group.count]
    tx.add_machine_groups(added)
    tx.put_machine_groups(raised)
    return len(added) + len(raised)


def join_created(service: Service, pool: Pool) -> None:
    """Let in the machines that waited for a pool that was just made."""
    key = pool.idempotency_key
    if key is not None:
        _join_found(service, service.store.view(lambda tx: _found(tx, tx.machines_for([key]))))


def arriving(tx: Tx, keys: Collection[str]) -> Arriving:
    """What `join_created` lets into pools that will be made with some of these keys, as far as they take it."""
    waiting: dict[str, list[tuple[Machines, int]]] = {}
    for group in tx.machines_for(keys):
        waiting.setdefault(group.pool_key, []).append((Machines.of(group), group.count))
    there = _by_key(tx, waiting)

    def arrive(pool: Pool, models: Mapping[str, PoolState]) -> Iterator[tuple[Machine, int]]:
        key = pool.idempotency_key or ""
        others = [models[other.id].pool or other if other.id in models else other for other in there.get(key, ())]
        for machines, count in waiting.get(key, ()):
            if machines.choose([*others, pool]) is pool:
                yield machines.one(), count

    return arrive


def join_all(service: Service) -> None:
    """Let in all machines whose pool is there: those that a crash kept out, or that were declared after it.

    Where the keys of several pools fit a group it waits for a file that tells them apart.
    """
    _join_found(service, service.store.view(lambda tx: _found(tx, tx.waiting_machines())))


def _join_found(service: Service, joins: Joins) -> None:
    for pool_id, kinds in joins.items():
        for refusal in service.store.transact(partial(_join, service, pool_id, kinds)):
            log.warning("%s", refusal)


def _join(service: Service, pool_id: str, kinds: list[str], tx: Tx) -> list[str]:
    """Let groups into their pool; why some may not."""
    # The groups are locked before the pool, in every process.
    noted = [group for page in _pages(sorted(kinds)) for group in tx.machine_groups(page).values()]
    state = tx.pool_state(pool_id, [])
    refusals, joined = [], []
    for group in noted:
        machines = Machines.of(group)
        if group.joined is not None or state.pool is None or not machines.fit(state.pool):
            continue
        try:
            for machine in machines.each(group, state.pool):
                if tx.node(str(machine.id)) is None:
                    admit(service, tx, ACTOR, state, state.pool, machine)
            joined.append(replace(group, joined=pool_id))
        except ComputeError as error:
            refusals.append(f"machines of the world do not join the pool {group.pool_key}: {error}")
    tx.put_machine_groups(joined)
    return refusals


def _found(tx: Tx, waiting: Iterable[MachineGroup]) -> Joins:
    """The pools that are there for groups that wait, where a group fits only one."""
    groups = list(waiting)
    pools = _by_key(tx, {group.pool_key for group in groups})
    joins: dict[str, list[str]] = {}
    for group in groups:
        pool = Machines.of(group).choose(pools.get(group.pool_key, ()))
        if pool is not None:
            joins.setdefault(pool.id, []).append(group.digest)
    return joins


def _by_key(tx: Tx, keys: Collection[str]) -> dict[str, list[Pool]]:
    """The pools that were made with some of these keys."""
    pools: dict[str, list[Pool]] = {}
    for page in _pages(sorted(keys)):
        for pool in tx.pools_by_key(page):
            pools.setdefault(pool.idempotency_key or "", []).append(pool)
    return pools


def _pages(things: Sequence[T]) -> Iterator[Sequence[T]]:
    return (things[start : start + _PAGE] for start in range(0, len(things), _PAGE))
