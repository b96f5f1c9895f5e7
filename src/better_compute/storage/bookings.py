"""Bookings: what a reservation takes of quota, devices and node resources, and gives back; nothing is taken twice.

Each statement says what must still be so, and its count of rows that it was: a booking is whole or not at all, whatever
its caller believed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, CursorResult, Select, and_, bindparam, func, select

from better_compute.domain.hosts import Host
from better_compute.domain.placement import OF_DEVICE, Kind
from better_compute.domain.reservations import Reservation, Selectors
from better_compute.storage import tables as t
from better_compute.storage.attributes import FEW, sought_by
from better_compute.storage.nodes import NODES, NodeTx, node_of
from better_compute.storage.tables.machines import SCHEDULABLE

_N, _D, _R, _Q, _A = t.nodes.c, t.node_devices.c, t.node_resources.c, t.pool_quotas.c, t.node_attributes.c
_AMOUNT: Any = bindparam("amount")
_OF_POOL = and_(_N.pool_id == bindparam("pool_id"), SCHEDULABLE)
_KINDS = (
    select(_D.product, _D.profile, _D.vram_gib)
    .where(_D.node_id.in_(select(_N.id).where(_OF_POOL)), _D.leaving.is_(False))
    .distinct()
)

# Those of few are found by what they say: so many at most, and no pool is named of them. No database is tempted to go
# through all that the pool has.
_OF_FEW = and_(
    _N.id.in_(
        select(_A.node_id)
        .where(_A.pool_id == bindparam("pool_id"), _A.attribute.in_(bindparam("rarest", expanding=True)))
        .limit(FEW)
    ),
    SCHEDULABLE,
)
# Counted, and not only looked for: no database is tempted to begin with all that have one of them.
_SAYS_ALL = (
    select(func.count())
    .select_from(t.node_attributes)
    .where(_A.node_id == _N.id, _A.attribute.in_(bindparam("attributes", expanding=True)))
    .correlate(t.nodes)
    .scalar_subquery()
) == bindparam("names")


class _By(NamedTuple):
    """What machines are selected by: these fields of their devices; whether an attribute that few have, and whether
    other attributes."""

    fields: tuple[str, ...]
    few: bool
    others: bool


@lru_cache
def _bookable(scalars: tuple[str, ...], by: _By) -> Select[Any]:
    """The first machine with room for so much of these scalars and so many devices that are free and selected."""
    found = _selected(NODES.columns, by).where(_N.free >= bindparam("atoms")).order_by(_N.free, _N.id)
    for resource in scalars:
        found = found.where(_room(resource) >= bindparam(f"need_{resource}"))
    if by.fields:
        found = found.where(_devices(by.fields, free=True) >= bindparam("atoms"))
    return found.limit(1)


@lru_cache
def _having(by: _By) -> Select[Any]:
    """Whether there is a machine with a device that is selected, free or not."""
    return _selected(select(_N.id), by).where(_devices(by.fields) > 0).limit(1)


def _selected(machines: Select[Any], by: _By) -> Select[Any]:
    """Those of a pool that can be booked, and say all that is selected by."""
    machines = machines.where(_OF_FEW if by.few else _OF_POOL)
    return machines.where(_SAYS_ALL) if by.others else machines


def _room(resource: str) -> ColumnElement[int]:
    """How much of a scalar can be booked on a machine; NULL where it has none."""
    # Read and not looked for: no database is tempted to go through all rows that have room, for each machine anew.
    row = select(_R.provided - _R.allocated).where(_R.node_id == _N.id, _R.resource == resource)
    return row.correlate(t.nodes).scalar_subquery()


def _devices(selected: tuple[str, ...], *, free: bool = False) -> ColumnElement[int]:
    """How many devices of a machine are there and selected, or (`free`) how many of these can be booked."""
    fields = (_D[OF_DEVICE[name]].in_(bindparam(f"of_{name}", expanding=True)) for name in selected)
    # What is free is counted and not looked for: no database is tempted to find all that is free anywhere.
    counted = func.count().filter(_D.reservation_id.is_(None)) if free else func.count()
    found = select(counted).select_from(t.node_devices).where(_D.node_id == _N.id, _D.leaving.is_(False), *fields)
    return found.correlate(t.nodes).scalar_subquery()


_ROW = and_(
    _Q.pool_id == bindparam("of_pool"), _Q.tenant_id == bindparam("of_tenant"), _Q.resource == bindparam("of_resource")
)
_USE = t.pool_quotas.update().where(_ROW, _Q.used + _AMOUNT <= _Q.max).values(used=_Q.used + _AMOUNT)
_GIVE_BACK = t.pool_quotas.update().where(_ROW, _Q.used >= _AMOUNT).values(used=_Q.used - _AMOUNT)

_TAKE = (
    t.node_devices.update()
    .where(_D.node_id == bindparam("of_node"), _D.position.in_(bindparam("positions", expanding=True)))
    .where(_D.reservation_id.is_(None), _D.leaving.is_(False))
    .values(reservation_id=bindparam("holder"))
)
_HELD = _D.reservation_id == bindparam("holder")
_DROP = t.node_devices.delete().where(_HELD, _D.leaving)
_FREE = t.node_devices.update().where(_HELD).values(reservation_id=None)

_STRANDED = select(_D.reservation_id).where(_D.reservation_id.in_(bindparam("ids", expanding=True)), _D.leaving)

_OF_NODE = _N.id == bindparam("of_node")
_LESS_FREE = t.nodes.update().where(_OF_NODE, SCHEDULABLE, _N.free >= _AMOUNT).values(free=_N.free - _AMOUNT)
_MORE_FREE = t.nodes.update().where(_OF_NODE, SCHEDULABLE).values(free=_N.free + _AMOUNT)

_HOST_ROW = and_(_R.node_id == bindparam("of_node"), _R.resource == bindparam("of_resource"))
_ALLOCATE = (
    t.node_resources.update()
    .where(_HOST_ROW, _R.allocated + _AMOUNT <= _R.provided)
    .values(allocated=_R.allocated + _AMOUNT)
)
_DEALLOCATE = (
    t.node_resources.update().where(_HOST_ROW, _R.allocated >= _AMOUNT).values(allocated=_R.allocated - _AMOUNT)
)


_MOST_FREE = select(_N.free).where(_OF_POOL).order_by(_N.free.desc()).limit(1)


class BookingTx(NodeTx):
    """The part of `Tx` about what is booked."""

    def bookable(self, wish: Reservation) -> Host | None:
        by, given = self._by(wish.pool_id, wish.selectors)
        needs = {f"need_{resource}": amount for resource, amount in wish.scalars.items()}
        row = self._first(_bookable(tuple(sorted(wish.scalars)), by), atoms=wish.atoms, **needs, **given)
        if row is None:
            return None
        [host] = self._hosts([node_of(NODES.of(row))], scalars=False)
        return host

    def most_free(self, pool_id: str) -> int:
        row = self._first(_MOST_FREE, pool_id=pool_id)
        return 0 if row is None else int(row.free)

    def has_device(self, pool_id: str, selectors: Selectors) -> bool:
        by, given = self._by(pool_id, selectors)
        return self._first(_having(by), **given) is not None

    def kinds(self, pool_id: str) -> list[Kind]:
        return [Kind(*row) for row in self._all(_KINDS, pool_id=pool_id)]

    def _by(self, pool_id: str, selectors: Selectors) -> tuple[_By, dict[str, Any]]:
        """How the machines are found that have what is selected by, and the values that the statement is given."""
        fields = tuple(name for name in OF_DEVICE if name in selectors)
        given: dict[str, Any] = {"pool_id": pool_id}
        given |= {f"of_{name}": _of_type(name, selectors[name]) for name in fields}
        sought = sought_by(selectors)
        rarest = self._rarest(pool_id, sought)
        if rarest is not None:
            given["rarest"] = rarest
        if others := [one for one in sought if one is not rarest]:
            given |= {"attributes": [attribute for one in others for attribute in one], "names": len(others)}
        return _By(fields, rarest is not None, bool(others)), given

    def stranded(self, reservations: Collection[Reservation]) -> set[str]:
        rows = self._all(_STRANDED, ids=[reservation.id for reservation in reservations])
        return {row.reservation_id for row in rows}

    def _book(self, reservation: Reservation, positions: Sequence[int]) -> None:
        """Take what the reservation asks for, its host's devices at these positions among it."""
        if len(set(positions)) != reservation.atoms:
            raise RuntimeError(f"{reservation.id} asks for {reservation.atoms} devices, and gets {len(set(positions))}")
        node = {"of_node": reservation.node_id}
        for resource, amount in reservation.resources.items():
            self._one(_USE, {**_row(reservation, resource), "amount": amount})
        taken = self._write(_TAKE, {**node, "positions": list(positions), "holder": reservation.id})
        _expect(taken, reservation.atoms)
        self._one(_LESS_FREE, {**node, "amount": reservation.atoms})
        for resource, amount in reservation.scalars.items():
            self._one(_ALLOCATE, {**node, "of_resource": resource, "amount": amount})

    def _release(self, reservation: Reservation) -> None:
        """Give back what a booked reservation holds; its devices that are leaving go with it."""
        node = {"of_node": reservation.node_id}
        for resource, amount in reservation.resources.items():
            self._one(_GIVE_BACK, {**_row(reservation, resource), "amount": amount})
        dropped = self._write(_DROP, {"holder": reservation.id}).rowcount
        freed = self._write(_FREE, {"holder": reservation.id})
        _expect(freed, reservation.atoms - dropped)
        self._write(_MORE_FREE, {**node, "amount": freed.rowcount})
        for resource, amount in reservation.scalars.items():
            self._one(_DEALLOCATE, {**node, "of_resource": resource, "amount": amount})

    def _one(self, statement: Any, values: dict[str, Any]) -> None:
        _expect(self._write(statement, values), 1)


def _of_type(name: str, values: Sequence[str | int]) -> list[str | int]:
    """The values that are of the column's type: PostgreSQL compares no text with a number."""
    kind = int if name == "vramGiB" else str
    return [value for value in values if isinstance(value, kind)]


def _row(reservation: Reservation, resource: str) -> dict[str, Any]:
    return {"of_pool": reservation.pool_id, "of_tenant": reservation.tenant_id, "of_resource": resource}


def _expect(done: CursorResult[Any], rows: int) -> None:
    if done.rowcount != rows:
        raise RuntimeError(f"a booking changed {done.rowcount} rows and not {rows}")
