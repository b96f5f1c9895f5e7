"""What can be booked on machines: their devices and the scalars that they provide, read and written with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any

from sqlalchemy import Select, Table, bindparam, select

from better_compute.domain.devices import Device
from better_compute.domain.hosts import Host, NodeResource
from better_compute.domain.nodes import Node
from better_compute.service.ports.machines import HostChange
from better_compute.storage import tables as t
from better_compute.storage.events import EventTx
from better_compute.storage.rows import Values, upsert


def _of_nodes(table: Table, kind: type) -> Select[Any]:
    """The rows of some machines: the machine, then the fields of `kind`."""
    columns = (table.c[f.name] for f in fields(kind))
    key = list(table.primary_key)
    return select(table.c.node_id, *columns).where(table.c.node_id.in_(bindparam("ids", expanding=True))).order_by(*key)


_DEVICES = _of_nodes(t.node_devices, Device)
_RESOURCES = _of_nodes(t.node_resources, NodeResource)
_D, _R = t.node_devices.c, t.node_resources.c
_DROP_DEVICE = t.node_devices.delete().where(
    _D.node_id == bindparam("of_node"), _D.position == bindparam("of_position"), _D.reservation_id.is_(None)
)
_DROP_RESOURCE = t.node_resources.delete().where(
    _R.node_id == bindparam("of_node"), _R.resource == bindparam("of_resource"), _R.allocated == 0
)


class HostTx(EventTx):
    """The part of `Tx` about what can be booked on machines."""

    def _hosts(self, nodes: Sequence[Node], *, scalars: bool = True) -> list[Host]:
        """Machines with what can be booked on them, or (not `scalars`) their devices alone."""
        ids = [node.id for node in nodes]
        devices: dict[str, list[Device]] = {node_id: [] for node_id in ids}
        resources: dict[str, dict[str, NodeResource]] = {node_id: {} for node_id in ids}
        for node_id, *values in self._all(_DEVICES, ids=ids) if ids else ():
            devices[node_id].append(Device(**dict(zip(_DEVICE_FIELDS, values, strict=True))))
        for node_id, *values in self._all(_RESOURCES, ids=ids) if ids and scalars else ():
            resource = NodeResource(**dict(zip(_RESOURCE_FIELDS, values, strict=True)))
            resources[node_id][resource.resource] = resource
        return [Host(node=node, devices=tuple(devices[node.id]), resources=resources[node.id]) for node in nodes]

    def _save_bookable(self, changes: Sequence[HostChange]) -> None:
        """Write what differs, and nothing else. What is booked is never dropped: no rule asks for it."""
        devices: list[Values] = []
        rows: list[Values] = []
        for before, after in changes:
            if after is None:
                continue
            held = set(before.devices) if before else set()
            there = before.resources if before else {}
            node = {"node_id": after.node.id}
            devices += [node | _values(device) for device in after.devices if device not in held]
            rows += [node | asdict(row) for resource, row in after.resources.items() if row != there.get(resource)]
        self._drop(changes)
        self._write_many(upsert(t.node_devices, self._dialect), devices)
        self._write_many(upsert(t.node_resources, self._dialect), rows)

    def _drop(self, changes: Sequence[HostChange]) -> None:
        devices: list[Values] = []
        rows: list[Values] = []
        for before, after in changes:
            if before is None:
                continue
            node = {"of_node": before.node.id}
            positions = {device.position for device in after.devices} if after else set()
            kept = after.resources if after else {}
            devices += [node | {"of_position": d.position} for d in before.devices if d.position not in positions]
            rows += [node | {"of_resource": resource} for resource in before.resources if resource not in kept]
        self._write_many(_DROP_DEVICE, devices)
        self._write_many(_DROP_RESOURCE, rows)


def _values(device: Device) -> dict[str, Any]:
    """Its fields, which hold plain values: to copy those deep takes longer than to write them."""
    return dict(zip(_DEVICE_FIELDS, _of_device(device), strict=True))


_DEVICE_FIELDS = tuple(f.name for f in fields(Device))
_RESOURCE_FIELDS = tuple(f.name for f in fields(NodeResource))
_of_device = attrgetter(*_DEVICE_FIELDS)
