"""Reading and writing machines with what can be booked on them, and those that a world file declared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from better_compute.domain.bounds import HostBounds
from better_compute.domain.hosts import Host
from better_compute.domain.nodes import Node
from better_compute.domain.state import Pool, PoolState
from better_compute.service.ports.records import EventRecord, MachineGroup

HostChange = tuple[Host | None, Host | None]
"""A machine before and after: None before it joined, and after it was removed."""


class HostLook(NamedTuple):
    """A machine as a rule that keeps hosts sees it: of two whose `told` are equal the rule says the same."""

    pool_id: str
    node_id: str
    told: tuple[Any, ...]


class NodeTx(Protocol):
    def save_hosts(
        self, changes: Sequence[HostChange], state: PoolState | None = None, events: Sequence[EventRecord] = ()
    ) -> None:
        """Write what differs of machines of one pool whose row is locked: the machines, their attributes, devices and
        rows, and how many of the devices are free. With events, one for each change of the pool, also its rollup:
        `state` is the aggregate after them."""

    def nodes_there(self, ids: Collection[str]) -> set[str]:
        """Which of the machines there are."""

    def node_for(self, tenant_id: str, node_id: str) -> Node | None:
        """A machine of the tenant's own or of a pool that it owns. A hidden one costs what an absent one costs."""

    def nodes(self, pool_id: str, limit: int, after: str | None) -> list[Node]: ...
    def host(self, node_id: str) -> Host | None:
        """A machine with what can be booked on it: it stands still where the row of its pool is locked."""

    def hosts_of(self, ids: Collection[str]) -> list[Host]:
        """Those of the machines that are there, in order of their ids."""

    def hosts_in_pools(self, ids: Collection[str]) -> list[tuple[Pool, Host]]:
        """Those of the machines that are there, as `hosts_of`, each with its pool."""

    def host_looks(
        self, limit: int, after: tuple[str, str], class_: str | None = None, pool_id: str | None = None
    ) -> list[HostLook]:
        """The machines of all pools, of those of a class, or of one pool, in order of pool and id: after one of these,
        given as pool and id."""


class BoundsTx(Protocol):
    def host_bounds(self, pool_ids: Collection[str]) -> dict[str, HostBounds]:
        """The least that the schedulable hosts of pools have, of the pools with any; which cards is not among it."""

    def card_sizes(self, pool_ids: Collection[str]) -> dict[str, frozenset[int]]:
        """The memory sizes of the cards of the schedulable hosts of pools, in GiB, of the pools with any."""


class WorldTx(Protocol):
    def waiting_machines(self) -> list[MachineGroup]:
        """The groups that wait while there are pools with their key."""

    def machines_for(self, pool_keys: Collection[str]) -> list[MachineGroup]:
        """The groups that wait for pools with these keys, also where there are none yet."""

    def machine_groups(self, digests: Collection[str]) -> dict[str, MachineGroup]:
        """Groups by their digest. In a write transaction they are locked, always in the same order."""

    def add_machine_groups(self, groups: Sequence[MachineGroup]) -> None: ...
    def put_machine_groups(self, groups: Sequence[MachineGroup]) -> None: ...
