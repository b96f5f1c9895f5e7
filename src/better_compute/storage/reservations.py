"""Reservations, and what runs on pools summed up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, case, exists, func, or_, select, tuple_

from better_compute.domain.reservations import LIVE as LIVE_STATES
from better_compute.domain.reservations import Reservation, State
from better_compute.domain.state import PoolState, Provided, Work
from better_compute.service.ports import EventRecord, HeldReservation, Pending, ReservationQuery
from better_compute.storage import tables as t
from better_compute.storage.bookings import BookingTx
from better_compute.storage.events import RAISE
from better_compute.storage.rows import BARE, AnyRow, Kept, from_json, to_json
from better_compute.storage.tables.machines import SCHEDULABLE
from better_compute.storage.tables.work import LIVE

_RESERVATIONS = Kept(t.reservations, Reservation)
_S, _R = t.reservations.c, t.node_resources.c
_HELD = _RESERVATIONS.columns.add_columns(t.pools.c.owner_id, t.pools.c.archived_at).join(
    t.pools, t.pools.c.id == _S.pool_id
)
_ONE = _HELD.where(_S.id == bindparam("reservation_id"))
_OWNED = exists().where(t.authz.c.pool_id == _S.pool_id, t.authz.c.tenant_id == bindparam("seer"), t.authz.c.owned)
_SHOWN = _ONE.where(or_(_S.tenant_id == bindparam("seer"), _OWNED))
_HAS = select(_S.id).where(_S.tenant_id == bindparam("tenant_id"), _S.pool_id == bindparam("pool_id")).limit(1)

_IN_STATE = and_(LIVE, _S.state == bindparam("state"))
_POOLS = select(_S.pool_id).where(_IN_STATE).distinct().order_by(_S.pool_id)
_OLDEST = (
    _RESERVATIONS.columns.where(_S.pool_id == bindparam("pool_id"), _IN_STATE)
    .where(tuple_(_S.created_at, _S.id) > tuple_(bindparam("created_at"), bindparam("after")))
    .order_by(_S.created_at, _S.id)
    .limit(bindparam("size"))
)
_PENDING = select(
    func.count(), func.coalesce(func.sum(case((_S.tenant_id == bindparam("tenant_id"), 1), else_=0)), 0)
).where(_S.pool_id == bindparam("pool_id"), LIVE, _S.state == "pending")

_CHANGING = ("state", "reason", "node_id", "placed_at", "activated_at", "ended_at")
_UPDATE = (
    t.reservations.update()
    .where(_S.id == bindparam("of_id"), _S.state == bindparam("old_state"))
    .values({name: bindparam(f"new_{name}") for name in _CHANGING})
)

_Key = tuple[str, str]
_POOL_IDS: Any = bindparam("pool_ids", expanding=True)
_WORK = (
    select(_S.pool_id, _S.tenant_id, _S.state, func.count(), func.sum(_S.atoms))
    .where(_S.pool_id.in_(_POOL_IDS), LIVE)
    .group_by(_S.pool_id, _S.tenant_id, _S.state)
)
_ATOMS = (
    select(t.nodes.c.pool_id, func.count().label("atoms"))
    .join(t.node_devices, t.node_devices.c.node_id == t.nodes.c.id)
    .where(t.nodes.c.pool_id.in_(_POOL_IDS), SCHEDULABLE, t.node_devices.c.leaving.is_(False))
    .group_by(t.nodes.c.pool_id)
)
# A row is never below what is allocated: `NodeResource.total`.
_PROVIDED = (
    select(
        t.nodes.c.pool_id,
        _R.resource,
        func.sum(case((_R.allocated > _R.provided, _R.allocated), else_=_R.provided)),
        func.sum(_R.allocated),
    )
    .join(t.nodes, t.nodes.c.id == _R.node_id)
    .where(t.nodes.c.pool_id.in_(_POOL_IDS))
    .group_by(t.nodes.c.pool_id, _R.resource)
)


@lru_cache
def _page(begun: bool, *, owned: bool, live: bool, by_state: bool) -> Select[Any]:
    """In pools that a tenant owns, or its own in any: the rest of the pool that the page before ended in (`begun`), or
    the pools after it. `live`: those of whole pools are found by the index of those that live."""
    pool_id = _S.pool_id
    # Those of a whole pool that live in an order that no index has: no database is tempted to go through all that are
    # over in the order of their ids.
    key = _S.id.concat("") if live and owned else _S.id
    page = _HELD
    if owned:
        pool_id = t.authz.c.pool_id
        page = page.join(t.authz, pool_id == _S.pool_id).where(
            t.authz.c.tenant_id == bindparam("seer"), t.authz.c.owned
        )
    else:
        page = page.where(_S.tenant_id == bindparam("seer"))
    if begun:
        page = page.where(pool_id == bindparam("pool_id"), key > bindparam("after"))
    else:
        page = page.where(pool_id > bindparam("pool_id"))
    if by_state:
        page = page.where(_S.state.in_(bindparam("states", expanding=True)))
    if live:
        page = page.where(LIVE)
    return page.order_by(pool_id, key).limit(bindparam("size"))


class ReservationTx(BookingTx):
    """The part of `Tx` about reservations."""

    def reservation(self, reservation_id: str) -> HeldReservation | None:
        row = self._first(_ONE, reservation_id=reservation_id)
        return None if row is None else _held(row)

    def reservation_for(self, tenant_id: str, reservation_id: str) -> HeldReservation | None:
        row = self._first(_SHOWN, reservation_id=reservation_id, seer=tenant_id)
        return None if row is None else _held(row)

    def reservations(self, query: ReservationQuery) -> list[HeldReservation]:
        found: dict[_Key, AnyRow] = {}
        ends = []
        for owned in (True, False):
            rows, cut = self._branch(query, owned=owned)
            found |= rows
            ends += [max(rows)] if cut else []
        # Behind the end of one that had no more room, the other's rows are not all that there are.
        keys = [key for key in sorted(found) if key <= min(ends, default=key)]
        return [_held(found[key]) for key in keys[: query.limit]]

    def has_reservations(self, tenant_id: str, pool_id: str) -> bool:
        return self._first(_HAS, tenant_id=tenant_id, pool_id=pool_id) is not None

    def pools_with(self, state: State) -> list[str]:
        return [row.pool_id for row in self._all(_POOLS, state=state)]

    def oldest(self, pool_id: str, state: State, limit: int, after: Reservation | None) -> list[Reservation]:
        created_at, last = (-1, "") if after is None else (after.created_at, after.id)
        given = {"pool_id": pool_id, "state": state, "created_at": created_at, "after": last, "size": limit}
        return [_reservation(row) for row in self._all(_OLDEST, **given)]

    def pending(self, pool_id: str, tenant_id: str) -> Pending:
        [(in_pool, of_tenant)] = self._all(_PENDING, pool_id=pool_id, tenant_id=tenant_id)
        return Pending(in_pool, int(of_tenant))

    def save_reservation(
        self, before: Reservation | None, after: Reservation, event: EventRecord | None, positions: Sequence[int] = ()
    ) -> None:
        if before is None:
            # No upsert: where another transaction made one of this id meanwhile, this one must see it.
            self._write(t.reservations.insert(), _values(after))
        else:
            changed = {f"new_{name}": getattr(after, name) for name in _CHANGING}
            self._one(_UPDATE, {"of_id": after.id, "old_state": before.state, **changed})
        was_booked = before is not None and before.is_booked
        if after.is_booked and not was_booked:
            self._book(after, positions)
        elif was_booked and not after.is_booked:
            self._release(after)
        if event is not None:
            self._append([event], self._write(RAISE, {"of_pool": after.pool_id, "changes": 1}).scalar_one())

    def roll_up(self, states: Iterable[PoolState]) -> None:
        by_id = {state.pool.id: state for state in states if state.pool is not None}
        if not by_id:
            return
        work: dict[str, dict[str, Work]] = {pool_id: {} for pool_id in by_id}
        provided: dict[str, dict[str, Provided]] = {pool_id: {} for pool_id in by_id}
        for pool_id, tenant_id, state, count, atoms in self._all(_WORK, pool_ids=list(by_id)):
            before = work[pool_id].get(tenant_id, Work())
            held = "pending_atoms" if state == "pending" else "booked_atoms"
            atoms_now = getattr(before, held) + int(atoms)
            work[pool_id][tenant_id] = replace(before, **{state: count, held: atoms_now})
        for pool_id, resource, total, booked in self._all(_PROVIDED, pool_ids=list(by_id)):
            provided[pool_id][resource] = Provided(int(total), int(booked))
        there = {row.pool_id: row.atoms for row in self._all(_ATOMS, pool_ids=list(by_id))}
        for pool_id, state in by_id.items():
            atoms = there.get(pool_id, 0)
            state.rollup = replace(state.rollup, work=work[pool_id], resources=provided[pool_id], atoms=atoms)

    def _branch(self, query: ReservationQuery, *, owned: bool) -> tuple[dict[_Key, AnyRow], bool]:
        """Rows by pool and id, `query.limit` at most, while there is room; and whether there was not."""
        one = query.pool_id
        pool_id, last = (*max(query.after, (one or "",)), "")[:2]
        found: dict[_Key, AnyRow] = {}
        if one is not None and pool_id != one:
            return found, False
        given: dict[str, Any] = {"seer": query.tenant_id, "pool_id": pool_id}
        by_state = query.states is not None
        states = set(query.states or ())
        given |= {"states": sorted(states)} if by_state else {}
        live = by_state and states <= set(LIVE_STATES)
        for begun in (True,) if one is not None else (True, False) if pool_id else (False,):
            page = _page(begun, owned=owned, live=live, by_state=by_state)
            more = given | ({"after": last} if begun else {})
            before, self.cut = self.cut, False
            rows = self._fitting(page, _weigh, query.limit - len(found), **more)
            found |= {(row.pool_id, row.id): row for row in rows}
            cut, self.cut = self.cut, self.cut or before
            if cut or len(found) >= query.limit:
                return found, cut
        return found, False


def _values(reservation: Reservation) -> dict[str, Any]:
    kept = {"resources": to_json(reservation.resources), "selectors": to_json(reservation.selectors)}
    return _RESERVATIONS.values(reservation) | kept


def _reservation(row: AnyRow) -> Reservation:
    fields = dict(zip(_RESERVATIONS.names, row, strict=False))  # what is of its pool may come after them
    selectors = from_json(fields["selectors"])
    fields["resources"] = from_json(fields["resources"])
    fields["selectors"] = {name: tuple(values) for name, values in selectors.items()}
    return Reservation(**fields)


def _held(row: AnyRow) -> HeldReservation:
    return HeldReservation(_reservation(row), row.owner_id, row.archived_at is not None)


def _weigh(row: AnyRow) -> int:
    return BARE + len(row.selectors)
