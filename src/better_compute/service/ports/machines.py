"""Reading and writing machines, and those that a world file declared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from better_compute.domain.nodes import Node
from better_compute.domain.state import PoolState
from better_compute.service.ports.records import EventRecord, MachineGroup


class NodeTx(Protocol):
    def add_nodes(self, state: PoolState, nodes: Sequence[Node], events: Sequence[EventRecord]) -> None:
        """Write machines of one pool with its rollup and an event each. `state` is the aggregate after they joined."""

    def nodes_there(self, ids: Collection[str]) -> set[str]:
        """Which of the machines there are."""

    def node_for(self, tenant_id: str, node_id: str) -> Node | None:
        """A machine of the tenant's own or of a pool that it owns. A hidden one costs what an absent one costs."""

    def nodes(self, pool_id: str, limit: int, after: str | None) -> list[Node]: ...


class WorldTx(Protocol):
    def waiting_machines(self) -> list[MachineGroup]:
        """The groups that wait while there are pools with their key."""

    def machines_for(self, pool_keys: Collection[str]) -> list[MachineGroup]:
        """The groups that wait for pools with these keys, also where there are none yet."""

    def machine_groups(self, digests: Collection[str]) -> dict[str, MachineGroup]:
        """Groups by their digest. In a write transaction they are locked, always in the same order."""

    def add_machine_groups(self, groups: Sequence[MachineGroup]) -> None: ...
    def put_machine_groups(self, groups: Sequence[MachineGroup]) -> None: ...
