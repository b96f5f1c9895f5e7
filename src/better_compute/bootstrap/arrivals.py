"""Machines of a world file: they wait until their pool is there, and join it as real ones do.

What was declared stays noted in the database as groups of equal machines, also when they are in their pool. The id of
a machine derives from its pool, its group and its number: however often and from however many processes they are let
in, none is there twice. Many of them join in several transactions, those with the lowest numbers first: what a crash
keeps out is let in by the next who tries.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from better_compute.domain import nodes
from better_compute.domain.ids import derive
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Control, Machine
from better_compute.domain.problems import UNAVAILABLE, ComputeError, Refused
from better_compute.domain.state import Pool, PoolState
from better_compute.service.actions import ROOT, WORLD
from better_compute.service.core import Arriving, Service, known
from better_compute.service.joining import admit
from better_compute.service.ports import Caller, MachineGroup, Tx

if TYPE_CHECKING:
    from better_compute.bootstrap.world_file import MachineEntry

T = TypeVar("T")

log = logging.getLogger(__name__)

ACTOR = Caller(identity_id=WORLD, tenant_id=ROOT)

Sleep = Callable[[float], None]
"""Wait so many seconds."""

_PAGE = 1000
"""Groups, keys or machines that are asked about at once."""

_CHUNK = 500
"""So many machines join in one transaction: others wait for its lock."""

_PAUSE = 0.02
"""Seconds between two of them: whoever waits for the lock gets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What a group says of its machines. The field names and values are what their ids derive from: none may change."""

    pool: str
    tenant_id: str | None
    caller: str | None
    owner_tenant_id: str | None
    inventory: Mapping[str, Any]
    control: Control = "platform"
    """Not noted where it is this: a later word, that no id of those before it derives from."""

    @classmethod
    def of(cls, group: MachineGroup) -> Machines:
        return cls(**json.loads(group.data))

    def group(self, count: int) -> MachineGroup:
        """So many of them, as they are noted; the same in every process."""
        noted = {name: value for name, value in asdict(self).items() if (name, value) != ("control", "platform")}
        data = json.dumps(noted, sort_keys=True)
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
        inventory = Inventory.of(self.inventory)
        return Machine(inventory=inventory, owner_tenant_id=self.owner_tenant_id, control=self.control)


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
            control=entry.control,
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


def join_created(service: Service, sleep: Sleep, pool: Pool) -> None:
    """Let in the machines that waited for a pool that was just made."""
    key = pool.idempotency_key
    if key is not None:
        tell(_join_found(service, sleep, lambda tx: tx.machines_for([key])))


def tell(refusals: Iterable[str]) -> None:
    """Log why machines wait in vain."""
    for refusal in refusals:
        log.warning("%s", refusal)


def arriving(tx: Tx, keys: Collection[str]) -> Arriving:
    """What `join_created` lets into pools that will be made with some of these keys, as far as they take it."""
    groups = tx.machines_for(keys)
    there = _by_key(tx, {group.pool_key for group in groups})
    begun = _begun(tx, groups, there)
    waiting: dict[str, list[tuple[Machines, int]]] = {}
    for group in groups:
        if group.digest not in begun:
            waiting.setdefault(group.pool_key, []).append((Machines.of(group), group.count))

    def arrive(pool: Pool, models: Mapping[str, PoolState]) -> Iterator[tuple[Machine, int]]:
        key = pool.idempotency_key or ""
        others = [models[other.id].pool or other if other.id in models else other for other in there.get(key, ())]
        for machines, count in waiting.get(key, ()):
            if machines.choose([*others, pool]) is pool:
                yield machines.one(), count

    return arrive


def join_all(service: Service, sleep: Sleep) -> list[str]:
    """Let in all machines whose pool is there: those that a crash kept out, or that were declared after it; why
    others may not join theirs.

    Where the keys of several pools fit a group it waits for a file that tells them apart. Where the database is busy
    they wait for the next one who calls this, and that is logged: nobody fails for want of them.
    """
    try:
        return _join_found(service, sleep, lambda tx: tx.waiting_machines())
    except ComputeError as error:
        if error.code != UNAVAILABLE:
            raise
        log.warning("machines of the world wait on: %s", error)
        return []


def _join_found(service: Service, sleep: Sleep, waiting: Callable[[Tx], Sequence[MachineGroup]]) -> list[str]:
    """Let in those that wait; why others may not join. They are judged in a view first: where none may join, nobody
    waits for a lock."""
    found, refusals = service.store.view(lambda tx: _found(tx, waiting(tx), service.clock()))
    for pool_id, groups in found.items():
        refusals += _join_pool(service, sleep, pool_id, groups)
    return refusals


def _found(tx: Tx, waiting: Sequence[MachineGroup], now: int) -> tuple[dict[str, list[MachineGroup]], list[str]]:
    """Groups by the pool that they may join; and why others may not join theirs."""
    joins: dict[str, list[MachineGroup]] = {}
    states: dict[str, PoolState] = {}
    refusals = []
    for home in _homes(tx, waiting):
        pool_id = home.pool.id
        if pool_id not in states:
            states[pool_id] = tx.pool_state(pool_id, [])
        if refusal := _refusal(home.machines, states[pool_id], now):
            refusals.append(refusal)
        else:
            joins.setdefault(pool_id, []).append(home.group)
    return joins, refusals


def _join_pool(service: Service, sleep: Sleep, pool_id: str, groups: Sequence[MachineGroup]) -> list[str]:
    """Let groups into their pool, so many machines in a transaction; why some may not."""
    places = [(group.digest, number) for group in groups for number in range(group.count)]
    out: dict[str, str] = {}
    for start in range(0, len(places), _CHUNK):
        # Once left out, a group has a gap: the rest of it comes when it is let in from its beginning.
        chunk = [place for place in places[start : start + _CHUNK] if place[0] not in out]
        if not chunk:
            continue
        if start:
            sleep(_PAUSE)
        out |= service.store.transact(partial(_join, service, pool_id, chunk))
    return [refusal for refusal in out.values() if refusal]


def _join(service: Service, pool_id: str, chunk: Sequence[tuple[str, int]], tx: Tx) -> dict[str, str]:
    """Let those of some machines, by digest of their group and number, that are not there into their pool. Returns the
    groups that are left out, and why; blank for one that this pool is not the one for by now."""
    # The groups are locked before the pool, in every process.
    noted = tx.machine_groups({digest for digest, _ in chunk})
    homes = {home.group.digest: home for home in _homes(tx, noted.values()) if home.pool.id == pool_id}
    state = tx.pool_state(pool_id, [])
    out = dict.fromkeys(noted.keys() - homes, "")
    for digest in homes:
        if refusal := _refusal(homes[digest].machines, state, service.clock()):
            out[digest] = refusal
    machines = [homes[digest].machine(number) for digest, number in chunk if digest not in out]
    there = tx.nodes_there([str(machine.id) for machine in machines])
    admit(service, tx, ACTOR, state, known(state), [machine for machine in machines if machine.id not in there])
    whole = [digest for digest, number in chunk if digest not in out and number + 1 == noted[digest].count]
    tx.put_machine_groups([replace(noted[digest], joined=pool_id) for digest in whole])
    return out


def _refusal(machines: Machines, state: PoolState, now: int) -> str:
    """Why the pool does not take such machines; blank where it does."""
    node = nodes.join(state, known(state), machines.one(), "", now)
    if not isinstance(node, Refused):
        return ""
    return f"machines of the world do not join the pool {machines.pool}: {ComputeError(*node.problems)}"


class _Home(NamedTuple):
    """A group, and the pool that it may join."""

    group: MachineGroup
    machines: Machines
    pool: Pool

    def machine(self, number: int) -> Machine:
        return replace(self.machines.one(), id=_id(self.group, self.pool, number))


def _id(group: MachineGroup, pool: Pool, number: int) -> str:
    return derive("node", pool.owner_id, pool.id, f"{group.digest}:{number}")


def _homes(tx: Tx, groups: Collection[MachineGroup]) -> list[_Home]:
    """The pools that are there for groups: the one that a group began to join, or the only one that it fits."""
    pools = _by_key(tx, {group.pool_key for group in groups})
    begun = _begun(tx, groups, pools)
    homes = []
    for group in groups:
        machines = Machines.of(group)
        at = begun.get(group.digest)
        pool = machines.choose(pools.get(group.pool_key, ()) if at is None else [at])
        if pool is not None:
            homes.append(_Home(group, machines, pool))
    return homes


def _begun(tx: Tx, groups: Iterable[MachineGroup], pools: Mapping[str, Iterable[Pool]]) -> dict[str, Pool]:
    """The pools in which the first machines of groups are, by digest."""
    firsts = {_id(group, pool, 0): (group, pool) for group in groups for pool in pools.get(group.pool_key, ())}
    there = {node_id for page in _pages(list(firsts)) for node_id in tx.nodes_there(page)}
    return {group.digest: pool for node_id, (group, pool) in firsts.items() if node_id in there}


def _by_key(tx: Tx, keys: Collection[str]) -> dict[str, list[Pool]]:
    """The pools that were made with some of these keys."""
    pools: dict[str, list[Pool]] = {}
    for page in _pages(sorted(keys)):
        for pool in tx.pools_by_key(page):
            pools.setdefault(pool.idempotency_key or "", []).append(pool)
    return pools


def _pages(things: Sequence[T]) -> Iterator[Sequence[T]]:
    return (things[start : start + _PAGE] for start in range(0, len(things), _PAGE))
