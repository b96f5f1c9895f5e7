"""reservations/*: what a tenant books in a pool that it owns or is offered."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from better_compute.domain import reservations as rules
from better_compute.domain.ids import derive
from better_compute.domain.problems import ComputeError, Problem
from better_compute.domain.reservations import Reservation
from better_compute.domain.state import PoolState
from better_compute.service import billing
from better_compute.service.billing import Admit
from better_compute.service.bookings import Bookings
from better_compute.service.core import Service, absent, known, look, not_found
from better_compute.service.pages import Key, page
from better_compute.service.ports import Caller, HeldReservation, ReservationQuery, Tx
from better_compute.wire.inputs import ReservationsCreate, ReservationsEnd, ReservationsGet, ReservationsList
from better_compute.wire.views import Page, ReservationView


def create(service: Service, caller: Caller, body: ReservationsCreate) -> ReservationView:
    """Books atoms and scalars of one host, or waits for a host that has them; with a key that made one: that one."""
    service.allow(caller, "reservations/create", body.tenant_id)
    _refuse(rules.check_wish(body.resources))
    key = body.idempotency_key if isinstance(body.idempotency_key, str) else None
    made = service.new_id("rsv") if key is None else derive("rsv", body.tenant_id, caller.identity_id, key)

    def work(tx: Tx, admit: Admit) -> HeldReservation:
        state = look(tx, body.tenant_id, body.pool_id, [body.tenant_id])
        now = service.clock()  # with the lock: nothing of others in the pool happened later
        wish = _wish(body, caller, made, key, now)
        held = None if key is None else tx.reservation(made)
        again = (
            [] if held is None else rules.check_again(held.reservation, wish.pool_id, wish.resources, wish.selectors)
        )
        if held is not None and not again:
            return held
        pool = known(state)
        # Whether the tenant sees the pool is asked once more, now that it stands still: an unoffer may have come first.
        if pool.archived or not state.is_seen_by(body.tenant_id):
            raise not_found()
        _refuse(again)
        placed = _place(Bookings(service, tx, caller, pool, now), state, wish, admit)
        return HeldReservation(placed, pool.owner_id, archived=False)

    held = billing.transact(service.store, service.billing, work)
    if held.reservation.state == "placed":
        service.after_placed(body.pool_id)
    return _view(held, body.tenant_id)


def get(service: Service, caller: Caller, body: ReservationsGet) -> ReservationView:
    """A reservation of the acting tenant, or in a pool that it owns."""
    service.allow(caller, "reservations/get", body.tenant_id)
    held = service.store.view(lambda tx: tx.reservation_for(body.tenant_id, body.reservation_id))
    return _view(_found(held), body.tenant_id)


def list_(service: Service, caller: Caller, body: ReservationsList) -> Page[ReservationView]:
    """All of one pool or of all pools that the acting tenant owns, its own of the others, in order of pool and id."""
    pool_id = body.pool_id if isinstance(body.pool_id, str) else None
    states = frozenset(body.states) if isinstance(body.states, list) else None

    def read(tx: Tx, after: Key, limit: int) -> list[HeldReservation]:
        # Who is offered the pool no more has still what it booked there.
        if pool_id is not None and not (
            tx.sees(body.tenant_id, pool_id) or tx.has_reservations(body.tenant_id, pool_id)
        ):
            raise not_found()
        query = ReservationQuery(tenant_id=body.tenant_id, limit=limit, after=after, pool_id=pool_id, states=states)
        return tx.reservations(query)

    def key(held: HeldReservation) -> Key:
        return held.reservation.pool_id, held.reservation.id

    def view(held: HeldReservation) -> ReservationView:
        return _view(held, body.tenant_id)

    return page(service, caller, "reservations/list", body, read, key, view, parts=2)


def end(service: Service, caller: Caller, body: ReservationsEnd) -> ReservationView:
    """Ends a reservation of the acting tenant, or in a pool that it owns, and frees what it holds. Idempotent."""
    service.allow(caller, "reservations/end", body.tenant_id)

    def work(tx: Tx) -> tuple[HeldReservation, bool]:
        held = _found(tx.reservation_for(body.tenant_id, body.reservation_id))
        if not held.reservation.is_live:
            return held, False
        pool = known(tx.pool(held.reservation.pool_id))
        # Once more: until the pool was locked another may have come first.
        held = _found(tx.reservation_for(body.tenant_id, body.reservation_id))
        if not held.reservation.is_live:
            return held, False
        bookings = Bookings(service, tx, caller, pool, service.clock())
        return held._replace(reservation=bookings.end(held.reservation)), held.reservation.is_booked

    held, freed = service.store.transact(work)
    if freed:
        service.after_freed(held.reservation.pool_id)
    return _view(held, body.tenant_id)


def _wish(body: ReservationsCreate, caller: Caller, made: str, key: str | None, now: int) -> Reservation:
    """What is asked for, as it waits before it is placed."""
    selectors = body.selectors if isinstance(body.selectors, dict) else {}
    return Reservation(
        id=made,
        pool_id=body.pool_id,
        tenant_id=body.tenant_id,
        state="pending",
        resources=body.resources,
        selectors=rules.canonical(selectors),
        atoms=rules.atoms_of(body.resources),
        created_by=caller.identity_id,
        created_at=now,
        idempotency_key=key,
    )


def _place(bookings: Bookings, state: PoolState, wish: Reservation, admit: Admit) -> Reservation:
    """The wish, placed or pending. Raises ComputeError where the pool does not take it; then nothing is stored."""
    pool = bookings.pool
    _refuse([*rules.check_class(pool.class_), *rules.check_atoms(wish.resources, pool.sharing)])
    _refuse(rules.check_room(state.rows(wish.tenant_id), wish.resources))
    place = bookings.find(wish)
    if place is None:
        _refuse(bookings.check_selectors(wish))
        _refuse(rules.check_pending(*bookings.tx.pending(pool.id, wish.tenant_id)))
    admit(pool, wish)
    if place is None:
        return bookings.save(None, rules.wait(wish, rules.NO_CAPACITY))
    return bookings.save(None, rules.place(wish, place.node_id, bookings.now), place)


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise ComputeError(*problems)


def _found(held: HeldReservation | None) -> HeldReservation:
    if held is None:
        raise absent("reservation", "reservationId")
    return held


def _view(held: HeldReservation, tenant_id: str) -> ReservationView:
    """As the tenant sees it: where it runs is for the owner of the pool, who asked for it for the tenant itself."""
    r = held.reservation
    reason = rules.shown_reason(r, archived=held.archived)
    view = ReservationView(
        id=r.id,
        pool_id=r.pool_id,
        tenant_id=r.tenant_id,
        state=r.state,
        resources=r.resources,
        selectors=r.selectors,
        reason=UNSET if reason is None else reason,
        created_at=r.created_at,
        placed_at=UNSET if r.placed_at is None else r.placed_at,
        activated_at=UNSET if r.activated_at is None else r.activated_at,
        ended_at=UNSET if r.ended_at is None else r.ended_at,
    )
    if r.tenant_id == tenant_id:
        view.idempotency_key = UNSET if r.idempotency_key is None else r.idempotency_key
        view.created_by = r.created_by
    if held.owner_id == tenant_id:
        view.node_id = UNSET if r.node_id is None else r.node_id
    return view
