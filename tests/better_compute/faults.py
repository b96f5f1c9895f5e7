"""Faults to plant into a control plane: each breaks one invariant, and nothing but the invariants would tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from better_compute.domain import hosts, nodes, offers, pools
from better_compute.domain import reservations as rules
from better_compute.domain.atoms import ATOMS
from better_compute.domain.decision import Decision
from better_compute.domain.devices import Device, devices_of
from better_compute.domain.nodes import Node
from better_compute.domain.problems import ComputeError
from better_compute.domain.state import Pool, PoolState, QuotaRow
from better_compute.service import core
from better_compute.service import pools as pool_service
from better_compute.service import reservations as reservation_service
from better_compute.service.ports import Tx
from better_compute.storage import bookings
from better_compute.storage import tables as t
from better_compute.storage.attributes import AttributeTx
from better_compute.storage.events import EventTx
from better_compute.storage.nodes import NODES, NodeTx, node_of
from better_compute.storage.pools import PoolTx
from better_compute.storage.reservations import ReservationTx
from better_compute.storage.usage import UsageTx
from tests.better_compute.pair import Pair

Patch = pytest.MonkeyPatch
_Q, _D, _R = t.pool_quotas.c, t.node_devices.c, t.node_resources.c


class Course(NamedTuple):
    """A number that gives sequences, how many, and how many steps of each. A young fleet tells of most faults."""

    number: int = 0
    sequences: int = 20
    length: int = 15


class Fault(NamedTuple):
    caught: str
    """How what is said of it begins: with the number of the invariant."""
    plant: Callable[[Patch, Pair], None]
    soonest: Course = Course()


def _quota_is_not_asked(patch: Patch, _: Pair) -> None:
    check = rules.check_room  # where there is no row at all there is nothing to add to
    patch.setattr(rules, "check_room", lambda rows, asked: [] if asked.keys() <= rows.keys() else check(rows, asked))
    use = t.pool_quotas.update().where(bookings._ROW).values(used=_Q.used + bookings._AMOUNT)
    patch.setattr(bookings, "_USE", use)


def _quota_is_not_given_back(patch: Patch, _: Pair) -> None:
    patch.setattr(bookings, "_GIVE_BACK", bookings._GIVE_BACK.values(used=_Q.used))


def _devices_are_not_given_back(patch: Patch, _: Pair) -> None:
    patch.setattr(bookings, "_FREE", bookings._FREE.values(reservation_id=_D.reservation_id))


def _machines_that_cannot_be_booked_keep_their_devices(patch: Patch, _: Pair) -> None:
    def whatever(pool: Pool, node: Node) -> list[Device]:
        return devices_of(pool, replace(node, quarantined=None, control="platform"))

    patch.setattr(hosts, "devices_of", whatever)


def _node_resources_are_not_given_back(patch: Patch, _: Pair) -> None:
    patch.setattr(bookings, "_DEALLOCATE", bookings._DEALLOCATE.values(allocated=_R.allocated))


def _huge_pages_are_sold_twice(patch: Patch, _: Pair) -> None:
    patch.setattr(hosts, "_memory", lambda inventory: inventory.memory_gib)


def _offers_have_no_authz_row(patch: Patch, _: Pair) -> None:
    save = PoolTx._save_authz
    patch.setattr(PoolTx, "_save_authz", lambda tx, pool, delta: save(tx, pool, delta) if delta.created else None)


def _offers_have_no_quota_rows(patch: Patch, _: Pair) -> None:
    save = PoolTx._save_quotas

    def some(tx: Any, pool_id: str, quotas: Any) -> None:
        save(tx, pool_id, {tenant_id: rows for tenant_id, rows in quotas.items() if tenant_id != "globex"})

    patch.setattr(PoolTx, "_save_quotas", some)


def _archived_pools_keep_offers(patch: Patch, _: Pair) -> None:
    archive = pools.archive

    def keeping(*given: Any) -> Any:
        found = archive(*given)
        return replace(found, delta=replace(found.delta, offers={})) if isinstance(found, Decision) else found

    patch.setattr(pools, "archive", keeping)


def _slots_are_offered(patch: Patch, _: Pair) -> None:
    patch.setattr(offers, "ISOLATING", frozenset(ATOMS))


def _a_tenants_machine_joins_what_is_offered(patch: Patch, _: Pair) -> None:
    patch.setattr(nodes, "_check_join", lambda _state, pool, _owner: nodes.check_takes(pool))


def _a_second_tenant_is_offered(patch: Patch, _: Pair) -> None:
    check = offers.check_offerable
    patch.setattr(offers, "check_offerable", lambda *given: [p for p in check(*given) if p.rule != "offer.single"])


def _what_two_hold_becomes_single(patch: Patch, _: Pair) -> None:
    patch.setattr(pools, "check_single", lambda *_: [])


def _events_are_lost(patch: Patch, _: Pair) -> None:
    append = EventTx._append

    def some(tx: Any, events: Any, revision: int) -> None:
        if events[0].type != "quota.updated":
            append(tx, events, revision)

    patch.setattr(EventTx, "_append", some)


def _what_changes_nothing_is_told(patch: Patch, _: Pair) -> None:
    def all_rows(rows: Any, quota: Any, **_: Any) -> Any:
        return {name: QuotaRow(most, rows[name].used if name in rows else 0) for name, most in quota.items()}

    patch.setattr(offers, "set_rows", all_rows)


def _keys_of_pools_are_forgotten(patch: Patch, pair: Pair) -> None:
    patch.setattr(pool_service, "derive", lambda kind, *_: f"{kind}_{pair.turns:026}")


def _keys_of_reservations_are_forgotten(patch: Patch, pair: Pair) -> None:
    patch.setattr(reservation_service, "derive", lambda kind, *_: f"{kind}_{pair.turns:026}")


def _hidden_pools_are_denied(patch: Patch, _: Pair) -> None:
    look = core.look

    def telling(tx: Tx, tenant_id: str, pool_id: str, tenants: Collection[str] | None) -> PoolState:
        if not tx.sees(tenant_id, pool_id) and tx.pool_state(pool_id, []).pool is not None:
            raise ComputeError(core.denied())
        return look(tx, tenant_id, pool_id, tenants)

    patch.setattr(core, "look", telling)
    patch.setattr(pool_service, "look", telling)


def _machines_are_shown_to_all(patch: Patch, _: Pair) -> None:
    def any_node(tx: Any, _tenant_id: str, node_id: str) -> Any:
        row = tx._get(NODES, "id", node_id)
        return None if row is None else node_of(row)

    patch.setattr(NodeTx, "node_for", any_node)


def _machines_that_leave_are_counted(patch: Patch, _: Pair) -> None:
    count = nodes.count_node
    patch.setattr(nodes, "count_node", lambda rollup, node, many=1: count(rollup, node, abs(many)))


def _machines_are_found_by_what_they_said(patch: Patch, _: Pair) -> None:
    save = AttributeTx._save_attributes
    patch.setattr(AttributeTx, "_save_attributes", lambda tx, changes: save(tx, [c for c in changes if None in c]))


def _meters_run_on(patch: Patch, _: Pair) -> None:
    patch.setattr(UsageTx, "meter_until", lambda *_: None)


def _one_database_has_another_order(patch: Patch, _: Pair) -> None:
    oldest = ReservationTx.oldest

    def either(tx: Any, *given: Any) -> Any:
        found = oldest(tx, *given)
        return found[::-1] if tx._dialect == "postgresql" else found

    patch.setattr(ReservationTx, "oldest", either)


def _faults() -> Iterator[tuple[str, Fault]]:
    for caught, plant in (
        ("1: ", _quota_is_not_asked),
        ("1: ", _quota_is_not_given_back),
        ("2: ", _devices_are_not_given_back),
        ("2: device ", _machines_that_cannot_be_booked_keep_their_devices),
        ("2: ", _node_resources_are_not_given_back),
        ("2: ", _huge_pages_are_sold_twice),
        ("3: ", _offers_have_no_authz_row),
        ("3: ", _offers_have_no_quota_rows),
        ("4: ", _archived_pools_keep_offers),
        ("5: ", _slots_are_offered),
        ("5: ", _a_tenants_machine_joins_what_is_offered),
        ("6: ", _a_second_tenant_is_offered),
        ("6: ", _what_two_hold_becomes_single),
        ("7: ", _events_are_lost),
        ("7: ", _what_changes_nothing_is_told),
        ("8: ", _keys_of_pools_are_forgotten),
        ("8: ", _keys_of_reservations_are_forgotten),
        ("9: ", _hidden_pools_are_denied),
        ("9: ", _machines_are_shown_to_all),
        ("rollup: ", _machines_that_leave_are_counted),
        ("usage: ", _meters_run_on),
        ("attributes: ", _machines_are_found_by_what_they_said),
        (".* on SQLite, .* on PostgreSQL", _one_database_has_another_order),
    ):
        yield plant.__name__.strip("_").replace("_", " "), Fault(caught, plant, _SOONEST.get(plant, Course()))


_SOONEST: dict[Callable[[Patch, Pair], None], Course] = {
    _quota_is_not_asked: Course(52, 8),
    _what_changes_nothing_is_told: Course(6, 8),
    _what_two_hold_becomes_single: Course(39, 8),
    _a_tenants_machine_joins_what_is_offered: Course(29, 8),
    _huge_pages_are_sold_twice: Course(37, 5, 25),
    _one_database_has_another_order: Course(34, 8),
}
"""Where to look first, found by trial: these come about seldom. Where sequences are changed it is elsewhere, and the
search goes on."""

FAULTS = dict(_faults())
"""By what goes wrong. There is one for each invariant at least."""
