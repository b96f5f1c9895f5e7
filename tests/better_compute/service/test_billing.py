"""Billing's word when a reservation is created: asked while no row is locked, and binding."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from better_compute.service.ports import Spending, Tx, Verdict
from tests.better_compute.bills import Bills, billed, down, metered_pool, no
from tests.better_compute.plane import Plane


def stored(plane: Plane, pool_id: str) -> tuple[list[Any], list[str], int]:
    """What a pool holds of reservations: they, their events, and acme's use."""
    listed = plane.ask("sa_fleet", "reservations/list", poolId=pool_id).data["items"]
    told = [e["type"] for e in plane.events() if e["type"].startswith("reservation.")]
    [row] = plane.ask("sa_acme", "pools/get", poolId=pool_id).data["quotas"]
    return listed, told, row["used"]


def test_billing_is_asked_once_and_about_what_is_booked(either: Plane) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 8)
    assert plane.reserve(pool_id, resources={"gpu": 3})["state"] == "placed"
    assert bills.asked == [Spending(tenant_id="acme", pool_id=pool_id, meter="gpu.h100.hours", atom="gpu", atoms=3)]


def test_a_pool_that_does_not_want_its_word_does_not_ask_it(plane: Plane) -> None:
    bills = Bills(no)
    pool_id = metered_pool(billed(plane, bills), 8, policy={"admission": {}})
    assert plane.reserve(pool_id)["state"] == "placed"
    assert bills.asked == []


@pytest.mark.parametrize(("say", "code"), [(no, "SPEND_LIMIT_REACHED"), (down, "UNAVAILABLE")])
def test_without_its_word_nothing_is_stored(either: Plane, say: Any, code: str) -> None:
    plane = billed(either, Bills(say))
    pool_id = metered_pool(plane, 8)
    before = stored(plane, pool_id)
    answer = plane.ask("sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1}, idempotencyKey="k")
    assert (answer.code, answer.error["rule"]) == (code, "admission.budgetCheck")
    assert stored(plane, pool_id) == before == ([], [], 0)


def test_a_refusal_says_why_and_a_silence_does_not_say_where_billing_stands(plane: Plane) -> None:
    bills = Bills(no)
    pool_id = metered_pool(billed(plane, bills), 8)
    create = {"poolId": pool_id, "resources": {"gpu": 1}}
    refused = plane.ask("sa_acme", "reservations/create", create)
    assert refused.raw.status == 402
    assert refused.error["message"] == "billing allows no more of this; over budget"
    bills.say = down
    silent = plane.ask("sa_acme", "reservations/create", create)
    assert silent.raw.status == 503
    assert silent.error["message"] == "billing could not be asked"
    assert b"10.0.0.7" not in silent.raw.body


def test_where_no_billing_is_set_a_pool_that_wants_its_word_takes_nothing(plane: Plane) -> None:
    pool_id = metered_pool(plane, 8)
    assert plane.ask("sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1}).code == "UNAVAILABLE"


@pytest.mark.parametrize(
    "wish",
    [
        {"resources": {"gpu": 65}},
        {"resources": {"gpu": 1, "vcpu": 1}},
        {"resources": {"gpu.mig": 1}},
        {"resources": {}},
        {"resources": {"gpu": 1}, "selectors": {"gpuProduct": "none such"}},
    ],
)
def test_it_is_not_asked_about_what_would_not_be_stored(plane: Plane, wish: Any) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 1)
    assert plane.ask("sa_acme", "reservations/create", poolId=pool_id, **wish).raw.status in (400, 409)
    assert bills.asked == []


def test_a_key_that_made_a_reservation_is_answered_without_asking_again(plane: Plane) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 8)
    first = plane.reserve(pool_id, idempotencyKey="k")
    bills.say = no
    assert plane.reserve(pool_id, idempotencyKey="k") == first
    assert len(bills.asked) == 1


def test_what_waits_for_a_host_is_asked_about_too(plane: Plane) -> None:
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 1)
    assert plane.reserve(pool_id, resources={"gpu": 2})["state"] == "pending"
    assert len(bills.asked) == 1


def test_the_pool_is_free_while_billing_thinks(either: Plane) -> None:
    bills = Bills()
    plane = billed(either, bills)
    pool_id = metered_pool(plane, 8)

    def meanwhile(_: Spending) -> Verdict:
        plane.offer(pool_id, "globex", quota={"gpu": 5})
        return Verdict(True)

    bills.say = meanwhile
    assert plane.reserve(pool_id)["state"] == "placed"


def test_a_policy_that_wants_its_word_meanwhile_is_heard(plane: Plane) -> None:
    """It is read again under the lock: what was not asked for is never taken as given."""
    bills = Bills()
    pool_id = metered_pool(billed(plane, bills), 8)

    def other_model(_: Spending) -> Verdict:
        plane.store.transact(lambda tx: rename(tx, pool_id))
        return Verdict(True)

    bills.say = other_model
    answer = plane.ask("sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1})
    assert answer.code == "UNAVAILABLE"
    assert "changed while billing was asked" in answer.error["message"]
    assert stored(plane, pool_id) == ([], [], 0)


def rename(tx: Tx, pool_id: str) -> None:
    """Another model, as if all of the pool's machines had been exchanged for others."""
    statement = text("UPDATE pools SET gpu_model = 'H200' WHERE id = :p")
    tx._connection.execute(statement, {"p": pool_id})  # type: ignore[attr-defined]
