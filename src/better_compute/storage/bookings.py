"""Bookings: what a reservation takes of quota, devices and host rows, and gives back; nothing is taken twice.

Each statement says what must still be so, and its count of rows that it was: a booking is whole or not at all, whatever
its caller believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CursorResult, and_, bindparam, tuple_

from better_compute.domain.hosts import Host
from better_compute.domain.reservations import Reservation
from better_compute.storage import tables as t
from better_compute.storage.nodes import NODES, NodeTx, node_of

_N, _D, _R, _Q = t.nodes.c, t.node_devices.c, t.node_resources.c, t.pool_quotas.c
_AMOUNT: Any = bindparam("amount")
_SCHEDULABLE = and_(_N.role == "host", _N.quarantined.is_(None), _N.control == "platform")
"""`Node.is_schedulable`."""

_BOOKABLE = (
    NODES.columns.where(_N.pool_id == bindparam("pool_id"), _SCHEDULABLE)
    .where(tuple_(_N.free, _N.id) > tuple_(bindparam("free"), bindparam("after")))
    .order_by(_N.free, _N.id)
    .limit(bindparam("size"))
)

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

_OF_NODE = _N.id == bindparam("of_node")
_LESS_FREE = t.nodes.update().where(_OF_NODE, _SCHEDULABLE, _N.free >= _AMOUNT).values(free=_N.free - _AMOUNT)
_MORE_FREE = t.nodes.update().where(_OF_NODE, _SCHEDULABLE).values(free=_N.free + _AMOUNT)

_HOST_ROW = and_(_R.node_id == bindparam("of_node"), _R.resource == bindparam("of_resource"))
_ALLOCATE = (
    t.node_resources.update()
    .where(_HOST_ROW, _R.allocated + _AMOUNT <= _R.total)
    .values(allocated=_R.allocated + _AMOUNT)
)
_DEALLOCATE = (
    t.node_resources.update().where(_HOST_ROW, _R.allocated >= _AMOUNT).values(allocated=_R.allocated - _AMOUNT)
)


class BookingTx(NodeTx):
    """The part of `Tx` about what is booked."""

    def bookable(self, pool_id: str, least: int, limit: int, after: Host | None) -> list[Host]:
        free, node_id = (least, "") if after is None else (after.free, after.node.id)
        rows = self._all(_BOOKABLE, pool_id=pool_id, free=free, after=node_id, size=limit)
        return self._hosts([node_of(NODES.of(row)) for row in rows])

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


def _row(reservation: Reservation, resource: str) -> dict[str, Any]:
    return {"of_pool": reservation.pool_id, "of_tenant": reservation.tenant_id, "of_resource": resource}


def _expect(done: CursorResult[Any], rows: int) -> None:
    if done.rowcount != rows:
        raise RuntimeError(f"a booking changed {done.rowcount} rows and not {rows}")
