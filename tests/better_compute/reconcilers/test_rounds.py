"""A round does all that is due, in an order in which what one step frees is used by the next."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import text

from better_compute.reconcilers import admission, hosts, placer
from better_compute.reconcilers.rounds import Round, everywhere, in_pools
from better_compute.service.ports import Spending, Verdict
from tests.better_compute.bills import Bills, billed, down, metered_pool, no, yes
from tests.better_compute.plane import CARD, Plane
from tests.better_compute.reconcilers.test_admission import shown
from tests.statements import counted


def placed_and_pending(plane: Plane) -> tuple[str, Any, Any]:
    """A pool whose only GPU the first of two reservations has; billing's word is wanted."""
    pool_id = metered_pool(plane, 1)
    first = plane.reserve(pool_id)
    plane.time.now += 1
    second = plane.reserve(pool_id)
    assert (first["state"], second["state"]) == ("placed", "pending")
    return pool_id, first, second


def test_what_admission_refuses_makes_room_for_what_waits_in_the_same_round(either: Plane) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id, first, second = placed_and_pending(plane)
    bills.say = no
    assert everywhere(plane.service).reservations == {"failed": 1, "placed": 1}
    assert [shown(plane, r)["state"] for r in (first, second)] == ["failed", "placed"]
    bills.say = yes
    assert in_pools(plane.service, [pool_id]) == {"active": 1}
    assert in_pools(plane.service, [pool_id]) == {}


@pytest.mark.parametrize("freed", [True, False])
def test_what_is_refused_makes_room_in_its_pool_at_once(either: Plane, freed: bool) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id, first, second = placed_and_pending(plane)
    bills.say = no
    assert in_pools(plane.service, [pool_id] * freed, [pool_id]) == {"failed": 1, "placed": 1}
    assert [shown(plane, r)["state"] for r in (first, second)] == ["failed", "placed"]


def test_where_something_is_placed_and_nothing_came_free_what_is_pending_is_not_tried(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool_id = metered_pool(plane, 1, policy={})
    tried: list[str] = []

    def noted(_: object, pool_id: str, *__: object) -> tuple[None, Counter[str]]:
        tried.append(pool_id)
        return None, Counter()

    monkeypatch.setattr(placer, "_turn", noted)
    plane.reserve(pool_id)
    assert in_pools(plane.service, [pool_id]) == {"active": 1}
    assert tried == [], "nothing is pending: no lock is asked for"
    plane.reserve(pool_id)
    assert in_pools(plane.service, (), [pool_id]) == {}
    assert tried == []
    in_pools(plane.service, [pool_id])
    assert tried == [pool_id]


def test_all_pools_are_placed_before_billing_is_waited_for_and_it_is_asked_by_one_round(plane: Plane) -> None:
    bills = Bills()
    pools = [metered_pool(billed(plane, bills), 1) for _ in range(3)]
    ended = [plane.reserve(pool_id) for pool_id in pools]
    waiting = [plane.reserve(pool_id) for pool_id in pools]
    for reservation in ended:
        plane.ask("sa_acme", "reservations/end", reservationId=reservation["id"])
    seen: list[list[str]] = []

    def hangs(spending: Spending) -> Verdict:
        seen.append([shown(plane, r)["state"] for r in waiting])
        return down(spending)

    bills.say = hangs
    assert in_pools(plane.service, pools) == {"placed": 3}
    assert seen == [["placed"] * 3]


def test_a_round_in_one_pool_leaves_the_others_to_theirs(plane: Plane) -> None:
    pools = [metered_pool(plane, 1, policy={}) for _ in range(2)]
    one, other = (plane.reserve(pool_id) for pool_id in pools)
    assert in_pools(plane.service, [pools[0]]) == {"active": 1}
    assert [shown(plane, r)["state"] for r in (one, other)] == ["active", "placed"]


def test_where_nothing_waits_a_round_asks_a_few_questions_and_locks_nothing(plane: Plane) -> None:
    pool_id = metered_pool(plane, 1, policy={})
    plane.reserve(pool_id)
    everywhere(plane.service)
    with counted() as statements:
        assert everywhere(plane.service) == Round(0, Counter())
        assert in_pools(plane.service, [pool_id]) == {}
    assert len([s for s in statements if s.startswith("SELECT")]) < 16
    assert [s for s in statements if not s.startswith(("SELECT", "BEGIN DEFERRED"))] == []


def test_a_pool_that_breaks_the_placer_keeps_admission_of_others_not_waiting(
    plane: Plane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = (metered_pool(plane, 1, policy={}) for _ in range(2))
    reservation = plane.reserve(fine)
    plane.reserve(broken)
    plane.reserve(broken)

    def fails(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(placer, "_turn", fails)
    assert everywhere(plane.service).reservations == {"active": 2}
    assert shown(plane, reservation)["state"] == "active"
    assert broken in caplog.text


@pytest.mark.parametrize(
    ("module", "name"),
    [(hosts.Keeper, "_look"), (placer, "place_all"), (admission, "admit_all")],
    ids=lambda v: str(v)[-30:],
)
def test_a_step_that_breaks_keeps_no_other_waiting(
    plane: Plane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, module: Any, name: str
) -> None:
    pool_id = metered_pool(plane, 1, policy={})
    first = plane.reserve(pool_id)
    plane.time.now += 1
    second = plane.reserve(pool_id)
    plane.ask("sa_acme", "reservations/end", reservationId=first["id"])
    third = plane.reserve(metered_pool(plane, 1, policy={}))

    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    broken.__name__ = name
    monkeypatch.setattr(module, name, broken)
    everywhere(plane.service)
    assert shown(plane, second)["state"] == {placer: "pending", admission: "placed"}.get(module, "active")
    assert shown(plane, third)["state"] == ("placed" if module is admission else "active")
    assert "waits for the next round" in caplog.text


def test_a_changed_pool_gives_more_at_once_and_other_pools_are_left_to_their_round(either: Plane) -> None:
    pools = [metered_pool(either, 1, policy={}) for _ in range(2)]
    for pool_id in pools:
        either.offer(pool_id, "acme", quota={"gpu": 1, "vcpu": 1000})
    waits = [either.reserve(pool_id, resources={"gpu": 1, "vcpu": 300}) for pool_id in pools]
    for pool_id in pools:
        either.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"overcommit": 2})
    assert in_pools(either.service, pools[1:]) == {}
    assert in_pools(either.service, (), (), pools[:1]) == {"placed": 1, "active": 1}
    assert [shown(either, r)["state"] for r in waits] == ["active", "pending"]


def test_a_policy_that_gives_more_lets_what_waits_for_it_go_on_in_one_round(either: Plane) -> None:
    pool_id = metered_pool(either, 1, policy={})
    either.offer(pool_id, "acme", quota={"gpu": 1, "vcpu": 1000})
    waits = either.reserve(pool_id, resources={"gpu": 1, "vcpu": 300})
    assert waits["state"] == "pending"
    either.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"overcommit": 2})
    assert everywhere(either.service) == Round(1, Counter(placed=1, active=1))
    assert shown(either, waits)["state"] == "active"


def test_a_machine_that_is_understood_anew_provides_all_that_it_has_after_one_round(either: Plane) -> None:
    pool_id = either.pool(**{"class": "vps-host"})
    node_id = either.join(pool_id, CARD)["id"]
    before = either.ask("sa_fleet", "nodes/get", nodeId=node_id).data
    for sql in (
        "DELETE FROM node_devices",
        "DELETE FROM node_resources",
        "UPDATE nodes SET quarantined = 'not understood by an older release', gpu_model = NULL, free = 0",
    ):
        either.store.transact(lambda tx, sql=sql: tx._connection.execute(text(sql)))  # type: ignore[misc]
    everywhere(either.service)
    assert either.ask("sa_fleet", "nodes/get", nodeId=node_id).data == before
    assert everywhere(either.service) == Round(0, Counter())
