"""The placer: what waits is placed as soon as there is room, in the order in which it came, or fails for a reason."""

from __future__ import annotations

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain import reservations as rules
from better_compute.domain.usage import HOUR
from better_compute.reconcilers import placer
from better_compute.service.bookings import Bookings
from better_compute.storage.bookings import BookingTx
from better_compute.storage.pools import PoolTx
from tests.better_compute.plane import CARD, START, Plane
from tests.statements import counted


def waiting(plane: Plane, pool_id: str, gpus: int, **more: Any) -> str:
    """One that waits; the time goes on, so that the next one is younger."""
    made = plane.reserve(pool_id, resources={"gpu": gpus}, **more)
    assert made["state"] == "pending"
    plane.time.now += 1
    found: str = made["id"]
    return found


def how_far(plane: Plane) -> list[Any]:
    """The last wish that each turn came to, in all pools; None at the end of a pool."""
    turns = placer.Turns(plane.service)
    turns.add(None)
    went: list[Any] = []
    while turns:
        turns.go_on()
        went += [so_far.last and so_far.last.id for so_far in turns._passes.values()]
    return went


def seen(plane: Plane, reservation_id: str) -> tuple[str, str | None]:
    """State and reason."""
    found = plane.ask("sa_fleet", "reservations/get", reservationId=reservation_id).data
    return found["state"], found.get("reason")


def test_what_waits_is_placed_when_capacity_comes(either: Plane) -> None:
    pool_id = either.hosts_pool()
    made = waiting(either, pool_id, 8)
    placer.place_all(either.service)
    assert seen(either, made) == ("pending", "no-capacity")
    node_id = either.join(pool_id, *[CARD] * 8)["id"]
    placer.place_all(either.service)
    found = either.ask("sa_fleet", "reservations/get", reservationId=made).data
    assert (found["state"], found["nodeId"], found["placedAt"]) == ("placed", node_id, START + 1)
    assert "reason" not in found
    assert either.used(pool_id) == {"gpu": 8}
    pending, placed = either.events(types=["reservation.*"])
    assert (placed["type"], placed["actorId"]) == ("reservation.placed", "placer")
    assert placed["data"]["before"] == pending["data"]["after"]


def test_the_oldest_are_placed_first_and_a_small_one_passes_a_large_one(either: Plane) -> None:
    pool_id = either.hosts_pool(4)
    booked = either.reserve(pool_id, resources={"gpu": 4})["id"]
    made = [waiting(either, pool_id, gpus) for gpus in (3, 5, 1, 1)]
    either.end(booked)
    placer.place_all(either.service)
    assert [seen(either, one)[0] for one in made] == ["placed", "pending", "placed", "pending"]


def test_of_the_same_moment_the_lower_id_is_the_older(either: Plane) -> None:
    pool_id = either.hosts_pool()
    made = sorted(either.reserve(pool_id, idempotencyKey=f"k{n}")["id"] for n in range(3))
    either.join(pool_id, CARD, CARD)
    placer.place_all(either.service)
    assert [seen(either, one)[0] for one in made] == ["placed", "placed", "pending"]


def test_what_does_not_fit_the_quota_any_more_waits_for_it(either: Plane) -> None:
    pool_id = either.hosts_pool(quota={"gpu": 8})
    first, second = (waiting(either, pool_id, gpus) for gpus in (6, 3))
    for _ in range(2):
        either.join(pool_id, *[CARD] * 8)
    placer.place_all(either.service)
    assert seen(either, first) == ("placed", None)
    assert seen(either, second) == ("pending", "quota")
    either.ask("sa_fleet", "quotas/set", poolId=pool_id, toTenantId="acme", quota={"gpu": 9})
    placer.place_all(either.service)
    assert seen(either, second) == ("placed", None)
    assert either.used(pool_id) == {"gpu": 9}


def test_a_reason_that_stays_is_not_written_again_and_none_is_an_event(plane: Plane) -> None:
    pool_id = plane.hosts_pool()
    waiting(plane, pool_id, 1)
    placer.place_all(plane.service)
    with counted() as statements:
        placer.place_all(plane.service)
    assert not [s for s in statements if s.startswith(("UPDATE", "INSERT", "DELETE"))]
    assert len(plane.events(types=["reservation.*"])) == 1


def test_what_waits_too_long_by_todays_policy_fails(either: Plane) -> None:
    pool_id = either.hosts_pool(policy={"maxPending": "6h"})
    made = waiting(either, pool_id, 1)
    either.time.now = START + 6 * HOUR
    placer.place_all(either.service)
    assert seen(either, made) == ("pending", "no-capacity")
    either.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"maxPending": "5h"})
    placer.place_all(either.service)
    assert seen(either, made) == ("failed", "maxPending")
    [_, failed] = either.events(types=["reservation.*"])
    assert (failed["type"], failed["data"]["after"]["reason"]) == ("reservation.failed", "maxPending")
    assert either.ask("sa_acme", "reservations/get", reservationId=made).data["endedAt"] == START + 6 * HOUR


def test_a_clock_that_steps_back_lets_nothing_fail(plane: Plane) -> None:
    pool_id = plane.hosts_pool(policy={"maxPending": "1s"})
    made = waiting(plane, pool_id, 1)
    plane.time.now = START - 2000
    placer.place_all(plane.service)
    assert seen(plane, made) == ("pending", "no-capacity")


@pytest.mark.parametrize("how", ["unoffer", "archive"])
def test_what_waits_in_a_pool_that_is_gone_for_its_tenant_fails(either: Plane, how: str) -> None:
    pool_id = either.hosts_pool(1)
    mine = either.ask("sa_fleet", "reservations/create", poolId=pool_id, resources={"gpu": 2}).data["id"]
    made = waiting(either, pool_id, 2)
    to = {"toTenantId": "acme"} if how == "unoffer" else {}
    either.ask("sa_fleet", f"pools/{how}", poolId=pool_id, **to)
    placer.place_all(either.service)
    assert seen(either, made) == ("failed", "PoolGone")
    assert seen(either, mine)[0] == ("pending" if how == "unoffer" else "failed"), "the owner needs no offer"


def test_machines_that_cannot_be_booked_take_nothing(either: Plane) -> None:
    pool_id = either.hosts_pool()
    either.join(pool_id, "NVIDIA Quux 9", CARD)
    made = waiting(either, pool_id, 1)
    placer.place_all(either.service)
    assert seen(either, made) == ("pending", "no-capacity")


def test_more_than_one_transaction_holds_are_all_tried(either: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placer, "MOST", 3)
    pool_id = either.hosts_pool()
    made = [waiting(either, pool_id, 1) for _ in range(10)]
    either.join(pool_id, *[CARD] * 9)
    placer.place_all(either.service)
    assert [seen(either, one)[0] for one in made] == ["placed"] * 9 + ["pending"]


@pytest.mark.parametrize("moved", [0, -HOUR, HOUR], ids=["right", "set back", "set forward"])
def test_a_transaction_ends_when_it_took_long(plane: Plane, monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    """Whatever is done to the clock meanwhile."""
    pool_id = plane.hosts_pool()
    made = [waiting(plane, pool_id, 1) for _ in range(4)]
    plane.join(pool_id, *[CARD] * 4)
    find = Bookings.find

    def slowly(self: Bookings, wish: Any) -> Any:
        if self.tx._writes:  # type: ignore[attr-defined]
            plane.time.passed += placer.LONGEST / 2
            plane.time.now += moved
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", slowly)
    transactions: list[Any] = []
    transact = plane.store.transact

    def noted(work: Any) -> Any:
        transactions.append(transact(work))
        return transactions[-1]

    monkeypatch.setattr(plane.store, "transact", noted)
    placer.place_all(plane.service)
    assert [seen(plane, one)[0] for one in made] == ["placed"] * 4
    assert [tried.further and tried.further.last.id for tried in transactions] == [made[1], made[3]]


def test_a_turn_ends_when_hosts_were_looked_at_for_long(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BookingTx, "most_free", lambda *_: 99)
    pool_id = plane.hosts_pool(1)
    made = [waiting(plane, pool_id, gpus) for gpus in (2, 3, 4, 5)]
    find = Bookings.find

    def slowly(self: Bookings, wish: Any) -> Any:
        plane.time.passed += placer.SEARCH / 2
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", slowly)
    assert how_far(plane) == [made[1], made[3]]


def test_what_is_read_and_wishes_without_hope_take_nothing_of_the_time_for_looking_at_hosts(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow the database is, and however many pools share the time."""
    monkeypatch.setattr(placer, "MOST", 4)
    pool_id = plane.hosts_pool(1)
    made = [waiting(plane, pool_id, 2) for _ in range(9)]
    most_free, rooms = BookingTx.most_free, rules.check_room

    def slow_read(*given: Any) -> int:
        plane.time.passed += placer.SEARCH
        return most_free(*given)

    def slow_rule(*given: Any) -> Any:
        plane.time.passed += placer.SEARCH
        return rooms(*given)

    monkeypatch.setattr(BookingTx, "most_free", slow_read)
    monkeypatch.setattr(rules, "check_room", slow_rule)
    assert how_far(plane) == [made[3], made[7]]


def test_a_turn_looks_at_hosts_as_long_as_it_read_before_at_least(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many pools share the time: a pass does not read for most of its time."""
    pools = [plane.hosts_pool(1) for _ in range(8)]
    for pool_id in pools:
        for gpus in (2, 3, 4, 5):
            waiting(plane, pool_id, gpus)
    looked: list[str] = []
    find = Bookings.find

    def slow_read(*_: object) -> int:
        plane.time.passed += placer.SEARCH / 4
        return 99

    def slowly(self: Bookings, wish: Any) -> Any:
        plane.time.passed += placer.SEARCH / 8
        looked.append(wish.pool_id)
        return find(self, wish)

    monkeypatch.setattr(BookingTx, "most_free", slow_read)
    monkeypatch.setattr(Bookings, "find", slowly)
    turns = placer.Turns(plane.service)
    turns.add(None)
    turns.go_on()
    assert Counter(looked) == dict.fromkeys(pools, 2)


def test_what_a_transaction_found_without_room_is_forgotten_when_it_is_undone(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own bookings are undone too, and what they took is free."""
    pool_id = plane.hosts_pool(quota={"gpu": 8})
    first, second = waiting(plane, pool_id, 2), waiting(plane, pool_id, 1)
    plane.join(pool_id, CARD, CARD)
    transact, undone = plane.store.transact, [RuntimeError()]

    def begun_anew(work: Any) -> Any:
        def twice(tx: Any) -> Any:
            found = work(tx)
            if undone:
                raise undone.pop()
            return found

        try:
            return transact(twice)
        except RuntimeError:
            plane.end(first)
            return transact(work)

    monkeypatch.setattr(plane.store, "transact", begun_anew)
    assert placer.place_all(plane.service, [pool_id]) == {"placed": 1}
    assert seen(plane, second)[0] == "placed"


def test_the_pools_that_are_due_share_the_time_for_looking_at_hosts(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BookingTx, "most_free", lambda *_: 99)
    pools = [plane.hosts_pool(1) for _ in range(4)]
    for pool_id in pools:
        for gpus in (2, 3, 4, 5):
            waiting(plane, pool_id, gpus)
    looked: list[str] = []
    find = Bookings.find

    def slowly(self: Bookings, wish: Any) -> Any:
        plane.time.passed += placer.SEARCH / 8
        looked.append(wish.pool_id)
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", slowly)
    turns = placer.Turns(plane.service)
    turns.add(None)
    turns.go_on()
    assert Counter(looked) == dict.fromkeys(pools, 2)


def test_no_host_is_looked_at_for_more_devices_than_any_has_free(
    either: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, roomy = either.hosts_pool(2, 3), either.hosts_pool()
    assert either.reserve(full, resources={"gpu": 2})["state"] == "placed"
    made = [waiting(either, pool_id, gpus) for pool_id in (full, roomy) for gpus in (4, 5)]
    looked: list[Any] = []
    find = Bookings.find

    def noted(self: Bookings, wish: Any) -> Any:
        looked.append(wish.id)
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", noted)
    assert either.store.view(lambda tx: (tx.most_free(full), tx.most_free(roomy))) == (3, 0)
    placer.place_all(either.service)
    assert looked == []
    either.join(full, *[CARD] * 4)
    placer.place_all(either.service)
    assert set(looked) == {made[0]}
    assert seen(either, made[0])[0] == "placed"


def test_hosts_are_looked_for_before_anything_is_locked_and_under_the_lock_once_more(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BookingTx, "most_free", lambda *_: 99)
    pool_id = plane.hosts_pool()
    small, large = waiting(plane, pool_id, 1), waiting(plane, pool_id, 2)
    plane.join(pool_id, CARD)
    looked: list[tuple[int, bool]] = []
    find = Bookings.find

    def noted(self: Bookings, wish: Any) -> Any:
        looked.append((wish.atoms, self.tx._writes))  # type: ignore[attr-defined]
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", noted)
    assert placer.place_all(plane.service) == {"placed": 1}
    assert looked == [(1, False), (2, False), (1, True)]
    looked.clear()
    with counted() as statements:
        assert placer.place_all(plane.service) == {}
    assert looked == [(2, False)]
    assert not [s for s in statements if s.startswith("BEGIN IMMEDIATE")], "nothing is to change"
    assert [seen(plane, each)[0] for each in (small, large)] == ["placed", "pending"]


def test_a_host_that_is_taken_before_the_lock_is_had_is_not_booked_twice(
    either: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool_id = either.hosts_pool()
    made = waiting(either, pool_id, 1)
    either.join(pool_id, CARD)
    look = placer._look

    def overtaken(*given: Any) -> Any:
        found = look(*given)
        taken.append(1)
        return found

    taken: list[int] = []
    monkeypatch.setattr(placer, "_look", overtaken)
    transact = either.store.transact

    def late(work: Any) -> Any:
        if taken:
            taken.clear()
            assert either.reserve(pool_id)["state"] == "placed"
        return transact(work)

    monkeypatch.setattr(either.store, "transact", late)
    assert placer.place_all(either.service) == {}
    assert seen(either, made) == ("pending", "no-capacity")


@pytest.mark.parametrize("ends", [True, False], ids=["one ends", "none ends"])
def test_wishes_that_come_before_others_until_the_lock_is_had_leave_none_untried(
    either: Plane, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """By the clock of another server: of those that were seen not all are among the first so many then."""
    pool_id = either.hosts_pool()
    either.time.now += 10
    first, last = waiting(either, pool_id, 1), waiting(either, pool_id, 1)
    either.join(pool_id, CARD, CARD)
    transact, is_late = either.store.transact, [True]

    def late(work: Any) -> Any:
        if is_late:
            is_late.clear()
            if ends:
                either.end(first)
            either.time.now = START
            for _ in range(2):
                waiting(either, pool_id, 8)
            either.time.now = START + 20
        return transact(work)

    monkeypatch.setattr(either.store, "transact", late)
    assert placer.place_all(either.service) == {"placed": 1 if ends else 2}
    assert seen(either, last)[0] == "placed"


def test_the_wait_for_the_lock_takes_nothing_of_a_transactions_time(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool_id = plane.hosts_pool()
    made = [waiting(plane, pool_id, 1) for _ in range(3)]
    plane.join(pool_id, *[CARD] * 3)
    lock = PoolTx.pool
    begun_here: set[int] = set()

    def waits(self: PoolTx, pool: str) -> Any:
        if self._writes and id(self) not in begun_here:
            plane.time.passed += placer.LONGEST
            plane.time.now += 50
            begun_here.add(id(self))
        return lock(self, pool)

    with monkeypatch.context() as slow, counted() as statements:
        slow.setattr(PoolTx, "pool", waits)
        begun = plane.time.now
        assert placer.place_all(plane.service, [pool_id]) == {"placed": 3}
    assert len([s for s in statements if s.startswith("BEGIN IMMEDIATE")]) == 1
    placed = plane.ask("sa_acme", "reservations/get", reservationId=made[0]).data["placedAt"]
    assert placed == begun + 50


def test_wishes_that_are_alike_are_tried_at_hosts_once(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand that ask for the same in a full pool cost no more than one; what differs is tried."""
    monkeypatch.setattr(placer, "MOST", 4)
    monkeypatch.setattr(BookingTx, "most_free", lambda *_: 99)
    pool_id = plane.hosts_pool(1)
    for _ in range(9):
        waiting(plane, pool_id, 2)
    waiting(plane, pool_id, 3)
    waiting(plane, pool_id, 2, selectors={"vramGiB": 80})
    tried: list[Any] = []
    find = Bookings.find

    def noted(self: Bookings, wish: Any) -> Any:
        tried.append((wish.atoms, wish.selectors))
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", noted)
    placer.place_all(plane.service)
    assert tried == [(2, {}), (3, {}), (2, {"vramGiB": (80,)})]


def test_trouble_in_one_pool_is_logged_and_stops_no_other(
    plane: Plane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pools = sorted(plane.hosts_pool() for _ in range(3))
    made = [waiting(plane, pool_id, 1) for pool_id in pools]
    for pool_id in pools:
        plane.join(pool_id, CARD)
    find = Bookings.find

    def failing(self: Bookings, wish: Any) -> Any:
        if wish.pool_id == pools[0]:
            raise RecursionError
        return find(self, wish)

    monkeypatch.setattr(Bookings, "find", failing)
    with caplog.at_level(logging.ERROR):
        placer.place_all(plane.service)
    assert [seen(plane, one)[0] for one in made] == ["pending", "placed", "placed"]
    assert pools[0] in caplog.text


class TestTurns:
    def test_one_in_which_much_waits_keeps_no_other_waiting(
        self, plane: Plane, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(placer, "MOST", 2)
        crowded, other = sorted(plane.hosts_pool() for _ in range(2))
        many = [waiting(plane, crowded, 1) for _ in range(5)]
        one = waiting(plane, other, 1)
        for pool_id in (crowded, other):
            plane.join(pool_id, *[CARD] * 8)
        turns = placer.Turns(plane.service)
        turns.add(None)
        assert turns.go_on() == {"placed": 3}
        assert [seen(plane, each)[0] for each in (*many, one)] == ["placed"] * 2 + ["pending"] * 3 + ["placed"]
        assert turns
        assert turns.go_on() == {"placed": 2}
        assert turns.go_on() == {"placed": 1}
        assert not turns

    def test_what_is_told_of_meanwhile_is_gone_through_from_the_oldest_on(
        self, plane: Plane, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first of them had no room when it was its turn, and does not wait for the next round."""
        monkeypatch.setattr(placer, "MOST", 2)
        pool_id = plane.hosts_pool()
        large, *small = [waiting(plane, pool_id, gpus) for gpus in (8, 1, 2, 2)]
        turns = placer.Turns(plane.service)
        turns.add(None)
        assert turns.go_on() == {}
        plane.join(pool_id, *[CARD] * 8)
        turns.add([pool_id])
        turns.add([pool_id])
        assert turns.go_on() == {"placed": 2}
        for each in small[1:]:
            plane.end(each)
        done = Counter[str]()
        while turns:
            done += turns.go_on()
        assert done == {"placed": 1}
        assert [seen(plane, each)[0] for each in (large, small[0])] == ["placed", "pending"]

    def test_of_a_pool_in_which_nothing_waits_there_are_none(self, plane: Plane) -> None:
        turns = placer.Turns(plane.service)
        turns.add([plane.hosts_pool(8)])
        assert not turns

    def test_where_one_placed_something_that_is_told(self, plane: Plane) -> None:
        empty, pool_id = plane.hosts_pool(), plane.hosts_pool()
        for each in (empty, pool_id):
            waiting(plane, each, 1)
        plane.join(pool_id, CARD)
        told: list[str] = []
        placer.place_all(replace(plane.service, placed=told.append))
        assert told == [pool_id]


def test_several_placers_at_once_place_each_once(either: Plane) -> None:
    pool_id = either.hosts_pool()
    made = [waiting(either, pool_id, 1) for _ in range(12)]
    either.join(pool_id, *[CARD] * 8)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: placer.place_all(either.service), range(4)))
    states = [seen(either, one)[0] for one in made]
    assert states == ["placed"] * 8 + ["pending"] * 4
    assert either.used(pool_id) == {"gpu": 8}
    assert len(either.events(types=["reservation.placed"])) == 8


def test_the_ratio_of_the_row_counts_and_not_the_policys(plane: Plane) -> None:
    """The policy changed, and the host's rows did not follow yet."""
    pool_id = plane.hosts_pool(8)
    first = plane.reserve(pool_id, resources={"gpu": 1, "vcpu": 192})
    assert first["state"] == "placed"
    plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"overcommit": 4})
    made = plane.reserve(pool_id, resources={"gpu": 1, "vcpu": 1})["id"]
    placer.place_all(plane.service)
    assert seen(plane, made) == ("pending", "no-capacity")
