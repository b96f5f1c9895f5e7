"""After a call the control plane is told of the pool where something may go on, and of no other: what is pending is
tried again where something changed, and what was placed becomes active."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.storage.pools import PoolTx
from tests.better_compute.plane import CARD, START, Plane

STRANGE = {"gpus": ["NVIDIA Strange 9000"], "vcpu": 192, "memoryGiB": 2048}


class Told:
    """What the hooks of a plane are told, until it is asked for."""

    def __init__(self, plane: Plane) -> None:
        self._heard: list[tuple[str, str]] = []
        for hook in ("freed", "placed", "changed"):
            object.__setattr__(plane.service, hook, self._hear(hook))

    def _hear(self, hook: str) -> Any:
        return lambda pool_id: self._heard.append((hook, pool_id))

    def now(self) -> list[tuple[str, str]]:
        heard, self._heard = self._heard, []
        return heard


@pytest.fixture
def told(plane: Plane) -> Told:
    return Told(plane)


def test_a_machine_that_joins_brings_capacity(plane: Plane, told: Told) -> None:
    pool_id = plane.pool()
    assert told.now() == []
    plane.join(pool_id, CARD)
    assert told.now() == [("freed", pool_id)]
    plane.try_join(pool_id, "NVIDIA A100-SXM4-80GB")
    assert told.now() == [], "it was refused"


def test_a_machine_that_changed_may_fit_and_one_that_did_not_frees_nothing(plane: Plane, told: Told) -> None:
    pool_id = plane.pool()
    node_id = plane.join(pool_id, CARD)["id"]
    told.now()

    def report(**inventory: Any) -> list[tuple[str, str]]:
        plane.ask("sa_fleet", "nodes/report", nodeId=node_id, inventory=inventory)
        return told.now()

    now = {"gpus": [CARD, CARD], "vcpu": 192, "memoryGiB": 2048}
    assert [report(**now), report(**now)] == [[("freed", pool_id)], []]

    def control(**given: Any) -> list[tuple[str, str]]:
        plane.ask("sa_fleet", "nodes/setControl", nodeId=node_id, **given)
        return told.now()

    assert [control(ownerTenantId="acme"), control(ownerTenantId="acme")] == [[("freed", pool_id)], []]


def test_what_a_call_places_waits_to_become_active_and_frees_nothing(plane: Plane, told: Told) -> None:
    pool_id = plane.pool()
    plane.join(pool_id, CARD)
    plane.offer(pool_id)
    told.now()
    assert plane.reserve(pool_id)["state"] == "placed"
    assert told.now() == [("placed", pool_id)]
    assert plane.reserve(pool_id)["state"] == "pending"
    assert told.now() == []


def test_what_ends_frees_what_it_had_once(plane: Plane, told: Told) -> None:
    pool_id = plane.pool()
    plane.join(pool_id, CARD)
    plane.offer(pool_id)
    booked, waiting = plane.reserve(pool_id)["id"], plane.reserve(pool_id)["id"]
    told.now()
    for reservation_id, heard in ((waiting, []), (booked, [("freed", pool_id)]), (booked, [])):
        plane.ask("sa_acme", "reservations/end", reservationId=reservation_id)
        assert told.now() == heard


def test_quota_and_offers_that_stay_as_they_are_free_nothing(plane: Plane, told: Told) -> None:
    pool_id = plane.pool()
    for operation in ("pools/offer", "quotas/set"):
        for gpu, heard in ((3, [("freed", pool_id)]), (3, []), (4, [("freed", pool_id)])):
            given = {"poolId": pool_id, "toTenantId": "acme", "quota": {"gpu": gpu}}
            assert plane.ask("sa_fleet", operation, given).code == "OK"
            assert told.now() == heard, (operation, gpu)


def test_a_pool_that_is_updated_is_told_of_where_that_changed_it(plane: Plane, told: Told) -> None:
    pool_id = plane.pool()
    for policy, heard in (({"overcommit": 2}, [("changed", pool_id)]), ({"overcommit": 2}, [])):
        assert plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy=policy).code == "OK"
        assert told.now() == heard


def test_times_are_read_when_the_pool_stands_still(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waited for the lock of a pool comes after what happened there meanwhile."""
    pool_id = plane.pool()
    plane.join(pool_id, CARD)
    plane.offer(pool_id)
    pool_state = PoolTx.pool_state

    def waits(self: PoolTx, *given: Any) -> Any:
        plane.time.now = START + 5_000
        return pool_state(self, *given)

    monkeypatch.setattr(PoolTx, "pool_state", waits)
    for again in range(2):
        plane.time.now = START
        if again:
            plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"overcommit": 2})
        else:
            assert plane.reserve(pool_id)["createdAt"] == START + 5_000
        plane.time.now = START
        assert plane.events()[-1]["time"] == START + 5_000
