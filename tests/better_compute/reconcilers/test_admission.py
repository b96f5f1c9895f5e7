"""Admission: what is placed becomes active once billing allows it, and is metered from then on."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from better_compute.domain.problems import ComputeError, Problem
from better_compute.domain.usage import HOUR
from better_compute.reconcilers import admission
from better_compute.reconcilers.admission import Admission, admit_all
from better_compute.service.billing import UNREACHED, unread
from better_compute.service.ports import Spending, Verdict
from tests.better_compute.bills import Bills, billed, down, metered_pool, no, yes
from tests.better_compute.plane import CARD, START, Plane
from tests.better_compute.service.test_billing import rename
from tests.statements import counted


def shown(plane: Plane, reservation: Any) -> Any:
    return plane.ask("sa_acme", "reservations/get", reservationId=reservation["id"]).data


def told(plane: Plane, kind: str) -> list[Any]:
    return [e for e in plane.events() if e["type"] == f"reservation.{kind}"]


def test_what_is_placed_becomes_active_with_one_event_of_admission(either: Plane) -> None:
    pool_id = metered_pool(either, 8, policy={})
    reservation = either.reserve(pool_id, resources={"gpu": 2})
    either.time.now += 5
    assert admit_all(either.service) == {"active": 1}
    now = shown(either, reservation)
    assert (now["state"], now["activatedAt"]) == ("active", START + 5)
    [event] = told(either, "activated")
    assert (event["actorId"], event["toTenantId"], event["poolId"]) == ("admission", "acme", pool_id)
    assert admit_all(either.service) == {}
    assert len(told(either, "activated")) == 1


def test_billing_is_asked_again_before_it_becomes_active(either: Plane) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 8)
    reservation = plane.reserve(pool_id, resources={"gpu": 3})
    assert admit_all(plane.service) == {"active": 1}
    assert shown(plane, reservation)["state"] == "active"
    asked = Spending(tenant_id="acme", pool_id=pool_id, meter="gpu.h100.hours", atom="gpu", atoms=3)
    assert bills.asked == [asked, asked]


def test_what_billing_refuses_fails_and_gives_all_back(either: Plane) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 2)
    reservation = plane.reserve(pool_id, resources={"gpu": 2})
    bills.say = no
    assert admit_all(plane.service) == {"failed": 1}
    now = shown(plane, reservation)
    assert (now["state"], now["reason"], now["endedAt"]) == ("failed", "SPEND_LIMIT_REACHED", START)
    assert plane.used(pool_id) == {}
    assert len(told(plane, "failed")) == 1
    bills.say = yes
    assert plane.reserve(pool_id, resources={"gpu": 2})["state"] == "placed", "its devices came free"
    assert plane.ask("sa_acme", "usage/list", {"from": 0, "to": 2 * START}).data["items"] == []


def test_where_billing_cannot_be_asked_it_stays_placed_and_says_so(either: Plane) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 8)
    reservation = plane.reserve(pool_id)
    bills.say = down
    assert admit_all(plane.service) == {}
    now = shown(plane, reservation)
    assert (now["state"], now["reason"]) == ("placed", "billing could not be asked")
    assert plane.used(pool_id) == {"gpu": 1}
    bills.say = yes
    assert admit_all(plane.service) == {"active": 1}
    assert "reason" not in shown(plane, reservation)


def test_a_reason_that_is_there_is_not_written_again_and_no_lock_is_asked_for(plane: Plane) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 8)
    plane.reserve(pool_id)
    bills.say = down
    admit_all(plane.service)
    with counted() as statements:
        admit_all(plane.service)
    assert [s for s in statements if not s.startswith(("SELECT", "BEGIN DEFERRED"))] == []


def test_once_billing_is_silent_the_rest_of_the_round_does_not_wait_for_it(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    bills = Bills()
    pools = [metered_pool(billed(plane, bills), 8) for _ in range(3)]
    reservations = [plane.reserve(pool_id) for pool_id in pools for _ in range(2)]
    free = metered_pool(plane, 1, policy={})
    other = plane.reserve(free)
    bills.say, bills.asked = down, []
    with caplog.at_level(logging.WARNING):
        assert admit_all(plane.service) == {"active": 1}
    assert len(bills.asked) == 1
    assert [shown(plane, r)["reason"] for r in reservations] == ["billing could not be asked"] * 6
    assert shown(plane, other)["state"] == "active", "this pool does not want its word"
    assert [r.message for r in caplog.records if "10.0.0.7" in r.message] != [], "the operator is told where"


def test_an_answer_that_does_not_count_is_about_one_reservation(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 16)
    reservations = [plane.reserve(pool_id, resources={"gpu": gpus}) for gpus in (1, 2, 1, 3)]

    def strange(spending: Spending) -> Verdict:
        if spending.atoms == 1:
            raise unread("it answered with status 500")
        return Verdict(True)

    bills.say, bills.asked = strange, []
    assert admit_all(plane.service) == {"active": 2}
    assert len(bills.asked) == 3
    assert [shown(plane, r).get("reason") for r in reservations] == ["billing could not be asked", None] * 2
    assert caplog.text.count("status 500") == 1, "the operator is told once in a round"


@pytest.mark.parametrize("pools", [1, 4])
def test_one_question_that_is_never_answered_holds_back_no_other_for_ever(plane: Plane, pools: int) -> None:
    bills = Bills()
    ids = sorted(metered_pool(billed(plane, bills), 16) for _ in range(pools))
    never, *others = (plane.reserve(ids[i % pools], resources={"gpu": 1 if i else 2}) for i in range(4))

    def hangs(spending: Spending) -> Verdict:
        return down(spending) if spending.atoms == 2 else Verdict(True)

    bills.say = hangs
    done = sum((admit_all(plane.service) for _ in range(200)), Counter[str]())
    assert done == {"active": 3}
    assert [shown(plane, r)["state"] for r in (never, *others)] == ["placed", "active", "active", "active"]


def test_where_no_billing_is_set_what_needs_its_word_waits_and_nobody_is_warned(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    bare, bills = plane.service, Bills()
    reservation = plane.reserve(metered_pool(billed(plane, bills), 8))
    with caplog.at_level(logging.DEBUG):
        assert admit_all(bare) == {}
    assert shown(plane, reservation)["reason"] == "billing could not be asked"
    assert caplog.records == []


def test_the_end_of_what_is_placed_is_seen_without_another_look(plane: Plane) -> None:
    plane.reserve(metered_pool(plane, 8, policy={}))
    with counted() as statements:
        assert admit_all(plane.service) == {"active": 1}
    assert len([s for s in statements if "ORDER BY reservations.created_at" in s]) == 2


@pytest.mark.parametrize("moved", [0, -HOUR, HOUR], ids=["right", "set back", "set forward"])
def test_a_round_asks_a_slow_billing_for_so_long_and_goes_on_in_the_next(plane: Plane, moved: int) -> None:
    """Whatever is done to the clock meanwhile."""
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 16)
    reservations = [plane.reserve(pool_id, resources={"gpu": gpus}) for gpus in (1, 2, 3, 4, 5)]

    def slowly(_: Spending) -> Verdict:
        plane.time.passed += 4
        plane.time.now += moved
        return Verdict(True)

    bills.say = slowly
    assert [admit_all(plane.service)["active"] for _ in range(3)] == [3, 2, 0]
    assert all(shown(plane, r)["state"] == "active" and "reason" not in shown(plane, r) for r in reservations)


def test_what_needs_no_word_of_billing_waits_for_none(plane: Plane) -> None:
    bills = Bills()
    billed(plane, bills)
    metered = [metered_pool(plane, 8) for _ in range(4)]
    free = metered_pool(plane, 8, policy={})
    for pool_id in metered:
        plane.reserve(pool_id)
    waits = plane.reserve(free)
    seen: list[str] = []

    def says(_: Spending) -> Verdict:
        seen.append(shown(plane, waits)["state"])
        return Verdict(True)

    bills.say = says
    assert admit_all(plane.service) == {"active": 5}
    assert set(seen) == {"active"}


def test_what_would_spend_the_same_is_asked_about_once_in_a_round(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what another transaction lets in, when there is no time left to ask."""
    monkeypatch.setattr(admission, "MOST", 2)
    bills = Bills()
    pools = [metered_pool(billed(plane, bills), 8) for _ in range(2)]
    made = [plane.reserve(pool_id, who) for pool_id in pools for who in ("sa_acme", "sa_globex") for _ in range(3)]
    bills.say, bills.asked = down, []
    assert admit_all(plane.service) == {}
    bills.say, bills.asked = yes, []
    assert admit_all(plane.service) == {"active": len(made)}
    asked = sorted((spending.pool_id, spending.tenant_id) for spending in bills.asked)
    assert asked == sorted((pool_id, tenant_id) for pool_id in pools for tenant_id in ("acme", "globex"))
    made = [plane.reserve(pools[0]) for _ in range(2)]

    def slowly(_: Spending) -> Verdict:
        plane.time.passed += 2 * admission.LONGEST
        return Verdict(True)

    bills.say, bills.asked = slowly, []
    monkeypatch.setattr(admission, "MOST", 1)
    assert admit_all(plane.service) == {"active": 2}
    assert len(bills.asked) == 1, "it is asked anew by another round"


@pytest.mark.parametrize("allowed", [True, False], ids=["yes", "no"])
def test_a_word_is_about_what_was_placed_before_it_was_asked_for(either: Plane, allowed: bool) -> None:
    """What comes while billing thinks was promised by a later word, and is asked about anew."""
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 8)
    first = plane.reserve(pool_id)
    later: list[Any] = []

    def meanwhile(_: Spending) -> Verdict:
        bills.say = yes
        later.append(plane.reserve(pool_id))
        return Verdict(allowed)

    bills.say = meanwhile
    state = "active" if allowed else "failed"
    assert admit_all(plane.service) == {state: 1}
    assert [shown(plane, r)["state"] for r in (first, *later)] == [state, "placed"]
    assert admit_all(plane.service) == {"active": 1}
    assert shown(plane, later[0])["state"] == "active"


def test_what_billing_says_of_one_pool_is_done_before_it_is_asked_about_another(plane: Plane) -> None:
    """However long the others take, also when it is silent by then: no old word is used."""
    bills = Bills()
    billed(plane, bills)
    made = [plane.reserve(metered_pool(plane, 8)) for _ in range(4)]
    active: list[int] = []

    def says(spending: Spending) -> Verdict:
        active.append(sum(shown(plane, r)["state"] == "active" for r in made))
        return down(spending) if len(active) == 3 else Verdict(True)

    bills.say = says
    assert admit_all(plane.service) == {"active": 2}
    assert active == [0, 1, 2]


class TestAdmission:
    def test_what_there_was_no_time_for_is_asked_later_and_nothing_is_looked_at_for_that(
        self, plane: Plane, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bills = Bills()
        billed(plane, bills)
        pools = [metered_pool(plane, 8) for _ in range(6)]
        for pool_id in pools:
            plane.reserve(pool_id)

        def slowly(_: Spending) -> Verdict:
            plane.time.passed += 1
            return Verdict(True)

        bills.say, looked, placed = slowly, Counter[str](), admission._placed

        def noted(pool_id: str, *given: Any) -> Any:
            looked[pool_id] += 1
            return placed(pool_id, *given)

        monkeypatch.setattr(admission, "_placed", noted)
        turns = Admission(plane.service)
        assert turns.go_on(None, 2) == {"active": 2}
        assert turns
        assert [turns.go_on((), 2), turns.go_on((), 2)] == [{"active": 2}] * 2
        assert not turns
        assert looked == dict.fromkeys(pools, 3), "seen placed, and let in: once before it is locked and once after"

    def test_what_a_pool_that_is_told_of_has_no_more_is_not_asked_about(self, plane: Plane) -> None:
        """However slow billing is: others wait for its answer."""
        bills = Bills()
        pools = [metered_pool(billed(plane, bills), 8) for _ in range(4)]
        made = [plane.reserve(pool_id) for pool_id in pools]

        def slowly(_: Spending) -> Verdict:
            plane.time.passed += 1
            return Verdict(True)

        bills.say, bills.asked = slowly, []
        turns = Admission(plane.service)
        assert turns.go_on(None, 2) == {"active": 2}
        for each in made:
            plane.end(each["id"])
        assert turns.go_on(pools, 2) == {}
        assert not turns
        assert len(bills.asked) == 2

    def test_a_question_that_became_another_is_asked_as_it_is_now(self, plane: Plane) -> None:
        """And its answer counts, whatever was to be asked before."""
        bills = Bills()
        pool_id = metered_pool(billed(plane, bills), 64)
        for gpus in (1, 2, 3, 4, 5):
            plane.reserve(pool_id, resources={"gpu": gpus})

        def slowly(_: Spending) -> Verdict:
            plane.time.passed += 1
            return Verdict(True)

        bills.say, bills.asked = slowly, []
        turns = Admission(plane.service)
        assert turns.go_on(None, 1) == {"active": 1}
        plane.store.transact(lambda tx: rename(tx, pool_id))
        assert turns.go_on([pool_id], 9) == {"active": 4}
        assert not turns
        assert [asked.meter for asked in bills.asked] == ["gpu.h100.hours", *["gpu.h200.hours"] * 4]

    def test_what_billing_gives_no_word_about_waits_for_the_next_whole_turn(
        self, plane: Plane, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Also where its pool is told of; what is new there is asked about."""
        bills = Bills()
        pool_id = metered_pool(billed(plane, bills), 64)
        for gpus in (1, 2, 3, 4):
            plane.reserve(pool_id, resources={"gpu": gpus})

        def strange(_: Spending) -> Verdict:
            plane.time.passed += 1
            raise unread("it answered with status 500")

        bills.say, bills.asked = strange, []
        turns = Admission(plane.service)
        for pools in (None, [pool_id], [pool_id], [pool_id]):
            turns.go_on(pools, 2)
        assert sorted(asked.atoms for asked in bills.asked) == [1, 2, 3, 4]
        assert caplog.text.count("status 500") == 1
        bills.say = yes
        new = plane.reserve(pool_id)
        assert turns.go_on([pool_id], 2) == {"active": 1}
        assert shown(plane, new)["state"] == "active"
        bills.say, bills.asked = strange, []
        while turns.go_on(None, 9) or turns:
            pass
        assert sorted(asked.atoms for asked in bills.asked) == [1, 2, 3, 4]
        assert caplog.text.count("status 500") == 2
        bills.say = yes
        assert turns.go_on(None, 2) == {"active": 4}

    def test_another_question_about_what_got_no_word_is_asked_at_once(self, plane: Plane) -> None:
        bills = Bills()
        pool_id = metered_pool(billed(plane, bills), 8)
        plane.reserve(pool_id)
        bills.say = down
        turns = Admission(plane.service)
        assert turns.go_on(None, 2) == {}
        plane.store.transact(lambda tx: rename(tx, pool_id))
        bills.say = yes
        assert turns.go_on([pool_id], 2) == {"active": 1}

    def test_the_reason_stays_the_one_of_today(self, plane: Plane) -> None:
        bills = Bills()
        pool_id = metered_pool(billed(plane, bills), 1)
        reservation = plane.reserve(pool_id)
        [node] = plane.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"]
        bills.say = down
        turns = Admission(plane.service)
        reasons: list[str] = []
        for gpus in ([CARD], [], [CARD]):
            plane.ask("sa_fleet", "nodes/report", nodeId=node["id"], inventory={"gpus": gpus})
            turns.go_on([pool_id] if reasons else None, 2)
            reasons.append(shown(plane, reservation)["reason"])
        assert reasons == [UNREACHED, "its host does not provide it now", UNREACHED]


def test_what_is_no_answer_is_asked_again_by_another_round(plane: Plane) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 8)
    reservations = [plane.reserve(pool_id) for _ in range(3)]
    bills.asked = []

    def strange_at_first(_: Spending) -> Verdict:
        if len(bills.asked) == 1:
            raise unread("it answered with status 500")
        return Verdict(True)

    bills.say = strange_at_first
    assert admit_all(plane.service) == {}
    assert len(bills.asked) == 1
    assert admit_all(plane.service) == {"active": 3}
    assert all("reason" not in shown(plane, r) for r in reservations)


def test_one_tenant_that_billing_is_slow_to_say_nothing_of_keeps_no_other_of_its_pool_waiting(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of its reservations came before."""
    monkeypatch.setattr(admission, "MOST", 2)
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 64)
    for gpus in (1, 1, 1, 2, 2, 3):
        plane.reserve(pool_id, resources={"gpu": gpus})
        plane.time.now += 1
    theirs = plane.ask("sa_globex", "reservations/create", poolId=pool_id, resources={"gpu": 1}).data
    bills.asked = []

    def slow(spending: Spending) -> Verdict:
        plane.time.passed += 1
        if spending.tenant_id == "acme":
            raise unread("it answered with status 500")
        return Verdict(True)

    bills.say = slow
    assert admit_all(plane.service) == {"active": 1}
    assert len(bills.asked) == 4, "each question once"
    assert plane.ask("sa_globex", "reservations/get", reservationId=theirs["id"]).data["state"] == "active"


def test_however_long_it_takes_to_read_what_waits_billing_is_asked(plane: Plane) -> None:
    bills = Bills()
    plane.reserve(metered_pool(billed(plane, bills), 8))
    view = plane.store.view

    def slowly(work: Any) -> Any:
        plane.time.passed += admission.LONGEST
        return view(work)

    with pytest.MonkeyPatch.context() as slow:
        slow.setattr(plane.store, "view", slowly)
        assert admit_all(plane.service) == {"active": 1}


def test_a_word_about_something_else_lets_nothing_in(plane: Plane) -> None:
    """The policy is read again under the lock: it may want a word that was not asked for."""
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 8)
    reservation = plane.reserve(pool_id)

    def meanwhile(_: Spending) -> Verdict:
        plane.store.transact(lambda tx: rename(tx, pool_id))
        return Verdict(True)

    bills.say = meanwhile
    assert admit_all(plane.service) == {}
    assert shown(plane, reservation)["state"] == "placed"
    bills.say = yes
    assert admit_all(plane.service) == {"active": 1}
    assert bills.asked[-1].meter == "gpu.h200.hours"


def test_what_ends_while_billing_thinks_stays_ended(plane: Plane) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 8)
    reservation = plane.reserve(pool_id)

    def meanwhile(_: Spending) -> Verdict:
        plane.ask("sa_acme", "reservations/end", reservationId=reservation["id"])
        return Verdict(True)

    bills.say = meanwhile
    assert admit_all(plane.service) == {}
    assert shown(plane, reservation)["state"] == "ended"
    assert plane.used(pool_id) == {}


def test_what_is_placed_in_a_pool_that_was_archived_becomes_active(plane: Plane) -> None:
    pool_id = metered_pool(plane, 8, policy={})
    reservation = plane.reserve(pool_id)
    plane.ask("sa_fleet", "pools/archive", poolId=pool_id)
    assert admit_all(plane.service) == {"active": 1}
    assert shown(plane, reservation)["state"] == "active"


def test_what_goes_wrong_in_one_pool_keeps_no_other_waiting(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    bills = Bills()
    pools = sorted(metered_pool(billed(plane, bills), 8) for _ in range(3))
    reservations = [plane.reserve(pool_id) for pool_id in pools]

    def broken(spending: Spending) -> Verdict:
        match pools.index(spending.pool_id):
            case 0:
                raise RuntimeError("a fault")
            case 1:
                raise ComputeError(Problem("INVALID_INPUT", "", "a strange word"))
        return Verdict(True)

    bills.say = broken
    assert admit_all(plane.service) == {"active": 1}
    assert [shown(plane, r)["state"] for r in reservations] == ["placed", "placed", "active"]
    assert all(pool_id in caplog.text for pool_id in pools[:2])


def test_more_than_one_transaction_takes_are_all_let_in(either: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MOST", 2)
    pool_id = metered_pool(either, 8, policy={})
    for _ in range(5):
        either.reserve(pool_id)
        either.time.now += 1
    assert admit_all(either.service) == {"active": 5}


def test_a_kill_between_two_transactions_leaves_whole_steps(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MOST", 2)
    pool_id = metered_pool(plane, 8, policy={})
    reservations = [plane.reserve(pool_id) for _ in range(5)]
    some, steps = admission._some, iter(range(9))

    def killed(*given: Any) -> Any:
        if next(steps) == 1:
            some(*given)
            raise KeyboardInterrupt
        return some(*given)

    monkeypatch.setattr(admission, "_some", killed)
    with pytest.raises(KeyboardInterrupt):
        admit_all(plane.service)
    states = [shown(plane, r)["state"] for r in reservations]
    assert sorted(states) == ["active"] * 2 + ["placed"] * 3
    assert len(told(plane, "activated")) == 2
    monkeypatch.setattr(admission, "_some", some)
    assert admit_all(plane.service) == {"active": 3}
    assert len(told(plane, "activated")) == 5


def test_several_processes_at_once_let_each_in_once(either: Plane) -> None:
    pool_id = metered_pool(either, 8, 8, policy={})
    for _ in range(12):
        either.reserve(pool_id)
    begin = threading.Barrier(3, timeout=20)

    def admit(_: int) -> Counter[str]:
        begin.wait()
        return admit_all(either.service)

    with ThreadPoolExecutor(3) as threads:
        done = sum(threads.map(admit, range(3)), Counter[str]())
    assert done == {"active": 12}
    assert len(told(either, "activated")) == 12
    either.time.now += HOUR
    [used_of_all] = either.ask("sa_acme", "usage/list", {"from": START, "to": 2 * START}).data["items"]
    assert used_of_all["hours"] == "12.000000"


def test_what_ends_while_it_is_let_in_is_metered_to_its_end(either: Plane) -> None:
    """Whichever comes first: nothing that ended is metered on."""
    pool_id = metered_pool(either, 8, policy={})
    reservations = [either.reserve(pool_id) for _ in range(8)]

    def end(reservation: Any) -> str:
        return either.ask("sa_acme", "reservations/end", reservationId=reservation["id"]).code

    with ThreadPoolExecutor(4) as threads:
        admitting = threads.submit(admit_all, either.service)
        codes = list(threads.map(end, reservations))
        admitting.result()
    assert codes == ["OK"] * 8
    either.time.now += HOUR
    assert either.ask("sa_acme", "usage/list", {"from": START, "to": 2 * START}).data["items"] == []
    assert either.used(pool_id) == {}


@pytest.mark.parametrize("inventory", [{"gpus": []}, {"gpus": ["NVIDIA PG506-232"]}], ids=["gone", "not understood"])
def test_what_its_host_cannot_serve_is_not_active_and_costs_nothing(either: Plane, inventory: dict[str, Any]) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 2)
    reservation = plane.reserve(pool_id, resources={"gpu": 2})
    [node] = plane.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"]
    assert plane.ask("sa_fleet", "nodes/report", nodeId=node["id"], inventory=inventory).data
    bills.asked.clear()
    assert admit_all(plane.service) == {}
    assert (shown(plane, reservation)["state"], bills.asked) == ("placed", [])
    assert shown(plane, reservation)["reason"] == "its host does not provide it now"
    with counted() as statements:
        assert admit_all(plane.service) == {}
    assert not [s for s in statements if not s.lstrip().startswith(("SELECT", "BEGIN DEFERRED"))], "said once"
    plane.ask("sa_fleet", "nodes/report", nodeId=node["id"], inventory={"gpus": [CARD, CARD]})
    assert admit_all(plane.service) == {"active": 1}
    assert "reason" not in shown(plane, reservation)
