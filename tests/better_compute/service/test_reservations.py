"""Reservations: what is asked for is booked whole, waits, or is refused; and what ends gives back all that it held."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain import reservations as rules
from better_compute.domain.ids import derive
from tests.better_compute.plane import CARD, START, Plane

NVL = "NVIDIA H100 NVL"


def told(plane: Plane, kind: str = "reservation.*") -> list[str]:
    return [event["type"] for event in plane.events(types=[kind])]


def test_what_fits_is_placed_with_quota_devices_and_node_resources(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    node_id = either.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"][0]["id"]
    made = either.reserve(pool_id, resources={"gpu": 3, "vcpu": 24, "memoryGiB": 100}, idempotencyKey="train-1")
    assert made == {
        "id": derive("rsv", "acme", "sa_acme", "train-1"),
        "poolId": pool_id,
        "tenantId": "acme",
        "state": "placed",
        "resources": {"gpu": 3, "vcpu": 24, "memoryGiB": 100},
        "selectors": {},
        "idempotencyKey": "train-1",
        "createdBy": "sa_acme",
        "createdAt": START,
        "placedAt": START,
    }
    assert either.used(pool_id) == {"gpu": 3, "vcpu": 24, "memoryGiB": 100}
    node = either.ask("sa_fleet", "nodes/get", nodeId=node_id).data
    assert node["devices"] == {"total": 8, "booked": 3}
    assert {name: row["booked"] for name, row in node["resources"].items() if row["booked"]} == {
        "vcpu": 24,
        "memoryGiB": 100,
    }
    assert either.ask("sa_fleet", "reservations/get", reservationId=made["id"]).data["nodeId"] == node_id
    [event] = either.events(types=["reservation.*"])
    assert (event["type"], event["toTenantId"], event["actorId"]) == ("reservation.placed", "acme", "sa_acme")
    assert event["data"] == {
        "before": None,
        "after": {
            "reservationId": made["id"],
            "state": "placed",
            "resources": {"gpu": 3, "vcpu": 24, "memoryGiB": 100},
            "nodeId": node_id,
        },
    }


def test_what_finds_no_host_waits_and_holds_nothing(either: Plane) -> None:
    pool_id = either.hosts_pool(4, 4)
    made = either.reserve(pool_id, resources={"gpu": 5})
    assert (made["state"], made["reason"]) == ("pending", "no-capacity")
    assert either.used(pool_id) == {}
    assert told(either) == ["reservation.pending"]


def test_a_host_without_the_scalars_is_passed_by(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    assert either.reserve(pool_id, resources={"gpu": 1, "vcpu": 190})["state"] == "placed"
    assert either.reserve(pool_id, resources={"gpu": 1, "vcpu": 3})["state"] == "pending"
    assert either.reserve(pool_id, resources={"gpu": 1, "vcpu": 2})["state"] == "placed"
    assert either.reserve(pool_id, resources={"gpu": 1, "vcpu": 1})["state"] == "pending"


def test_a_begun_host_is_filled_before_another_is_begun(either: Plane) -> None:
    """Else eight of eight would find no whole host."""
    pool_id = either.hosts_pool(8, 8)
    for _ in range(8):
        assert either.reserve(pool_id)["state"] == "placed"
    assert either.reserve(pool_id, resources={"gpu": 8})["state"] == "placed"


def test_hosts_far_down_the_order_are_found(either: Plane) -> None:
    """More of them than are read at once, and the last alone has the vcpu."""
    pool_id = either.hosts_pool(quota={"gpu": 1000, "vcpu": 10_000})
    token = {"poolId": pool_id}
    for n in range(60):
        join_token = either.ask("sa_fleet", "nodes/createJoinToken", token).data["joinToken"]
        inventory = {"gpus": [CARD] * 2, "vcpu": 64 if n == 59 else 8}
        either.ask("sa_fleet", "nodes/join", poolId=pool_id, joinToken=join_token, inventory=inventory)
    assert either.reserve(pool_id, resources={"gpu": 2, "vcpu": 64})["state"] == "placed"
    assert either.reserve(pool_id, resources={"gpu": 2, "vcpu": 64})["state"] == "pending"


def test_an_end_gives_back_all_that_was_held_once(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    made = either.reserve(pool_id, resources={"gpu": 8, "vcpu": 8})
    either.time.now += 5
    ended = either.end(made["id"])
    assert (ended["state"], ended["endedAt"]) == ("ended", START + 5)
    either.time.now += 5
    assert either.end(made["id"]) == ended
    assert either.end(made["id"], "sa_fleet")["state"] == "ended"
    assert either.used(pool_id) == {}
    assert told(either) == ["reservation.placed", "reservation.ended"]
    assert either.reserve(pool_id, resources={"gpu": 8, "vcpu": 192})["state"] == "placed"


def test_a_pending_one_ends_without_giving_back_what_it_never_held(either: Plane) -> None:
    pool_id = either.hosts_pool(2)
    either.reserve(pool_id, resources={"gpu": 2})
    waiting = either.reserve(pool_id, resources={"gpu": 2})
    assert either.end(waiting["id"])["state"] == "ended"
    assert either.used(pool_id) == {"gpu": 2}


def test_the_owner_of_the_pool_ends_and_sees_all_of_it_and_a_stranger_nothing(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    made = either.reserve(pool_id, idempotencyKey="k")
    seen = either.ask("sa_fleet", "reservations/list", poolId=pool_id).data["items"]
    assert [r["id"] for r in seen] == [made["id"]]
    assert not {"idempotencyKey", "createdBy"} & seen[0].keys()
    for operation in ("reservations/get", "reservations/end"):
        absent, hidden = (either.ask("sa_globex", operation, reservationId=i) for i in ("rsv_none", made["id"]))
        assert absent.raw.body == hidden.raw.body
        assert absent.code == "NOT_FOUND"
    assert either.ask("sa_globex", "reservations/list").data["items"] == []
    assert either.end(made["id"], "sa_fleet")["state"] == "ended"


@pytest.mark.parametrize(
    ("resources", "rule", "field"),
    [
        ({}, "reservation.atoms", "resources"),
        ({"vcpu": 1}, "reservation.atoms", "resources"),
        ({"gpu": 0}, "reservation.resources", "resources.gpu"),
        ({"gpu": -1}, "reservation.resources", "resources.gpu"),
        ({"gpu": True}, "reservation.resources", "resources.gpu"),
        ({"gpu": 1.0}, "reservation.resources", "resources.gpu"),
        ({"gpu": "1"}, "reservation.resources", "resources.gpu"),
        ({"gpu": None}, "reservation.resources", "resources.gpu"),
        ({"gpu": 2**31}, "reservation.resources", "resources.gpu"),
        ({"gpu": 1, "vcpu": 0}, "reservation.resources", "resources.vcpu"),
        ({"gpu": 1, "vcpus": 1}, "reservation.resources", "resources.vcpus"),
        ({"gpu": 1, "gpu.slot": 1}, "reservation.atoms", "resources.gpu.slot"),
        ({"gpu.mig": 1}, "reservation.atoms", "resources.gpu.mig"),
        ({f"r{n}": 1 for n in range(9)}, "reservation.resources", "resources"),
    ],
    ids=str,
)
def test_what_no_pool_could_book_is_refused(plane: Plane, resources: dict[str, Any], rule: str, field: str) -> None:
    pool_id = plane.hosts_pool(8)
    error = plane.ask("sa_acme", "reservations/create", poolId=pool_id, resources=resources).error
    assert (error["code"], error["rule"], error["field"]) == ("INVALID_INPUT", rule, field)
    assert plane.ask("sa_acme", "reservations/list").data["items"] == []


@pytest.mark.parametrize(
    ("resources", "rule", "field"),
    [({"gpu": 9}, "quota.exact", "resources.gpu"), ({"gpu": 1, "diskGiB": 1}, "quota.missing", "resources.diskGiB")],
)
def test_what_the_quota_does_not_grant_is_refused_and_nothing_stored(
    either: Plane, resources: dict[str, int], rule: str, field: str
) -> None:
    pool_id = either.hosts_pool(8, 8, quota={"gpu": 8})
    error = either.ask("sa_acme", "reservations/create", poolId=pool_id, resources=resources, idempotencyKey="k").error
    assert (error["code"], error["rule"], error["field"]) == ("LIMIT_EXCEEDED", rule, field)
    assert either.ask("sa_acme", "reservations/list").data["items"] == []
    assert told(either) == []
    assert either.reserve(pool_id, idempotencyKey="k")["state"] == "placed"


def test_in_each_mode_its_own_atoms_are_booked(either: Plane) -> None:
    mig = either.pool(sharing="mig", ownerQuota={"gpu.mig": 9}, policy={"gpu": {"mig": {"devices": {"3g.40gb": 2}}}})
    slots = either.pool(sharing="mps", ownerQuota={"gpu.slot": 9}, policy={"gpu": {"slots": 4}})
    for pool_id, atom, there in ((mig, "gpu.mig", 2), (slots, "gpu.slot", 4)):
        either.join(pool_id, CARD)
        ask = {"poolId": pool_id, "resources": {atom: there}}
        assert either.ask("sa_fleet", "reservations/create", ask).data["state"] == "placed"
        assert either.ask("sa_fleet", "reservations/create", ask).data["state"] == "pending"
        assert either.get(pool_id)["rollup"]["atoms"] == {"total": there, "booked": there}


def mixed(plane: Plane) -> str:
    """A pool with two machines that differ: rack r1 has HBM3 cards, r2 NVL ones."""
    pool_id = plane.hosts_pool()
    for rack, card in (("r1", CARD), ("r2", NVL)):
        token = plane.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).data["joinToken"]
        inventory = {"gpus": [card] * 2, "attributes": {"rack": rack, "row": 4, "vramGiB": 94 if card == NVL else 80}}
        plane.ask("sa_fleet", "nodes/join", poolId=pool_id, joinToken=token, inventory=inventory)
    return pool_id


@pytest.mark.parametrize(
    ("selectors", "fit"),
    [
        ({"gpuProduct": NVL}, 2),
        ({"gpuProduct": [NVL, CARD]}, 4),
        ({"vramGiB": 80}, 2),
        ({"vramGiB": [94, 80]}, 4),
        ({"rack": "r2", "row": 4}, 2),
        ({"rack": "r1", "vramGiB": [80, 12]}, 2),
    ],
    ids=str,
)
def test_selectors_narrow_to_devices_that_have_all_of_them(either: Plane, selectors: dict[str, Any], fit: int) -> None:
    pool_id = mixed(either)
    states = [either.reserve(pool_id, selectors=selectors)["state"] for _ in range(fit + 1)]
    assert states == ["placed"] * fit + ["pending"]


@pytest.mark.parametrize(
    ("selectors", "field", "says"),
    [
        ({"gpuProduct": "NVIDIA H100 80GB HBM2"}, "selectors.gpuProduct", f'did you mean "{CARD}"?'),
        ({"vramGiB": 90}, "selectors.vramGiB", "the nearest is 94"),
        ({"vramGiB": "80"}, "selectors.vramGiB", "the nearest is 80"),
        ({"rack": "r3"}, "selectors.rack", "no device of this pool has this"),
        ({"row": "4"}, "selectors.row", "no device of this pool has this"),
        ({"cooling": "liquid"}, "selectors.cooling", "no device of this pool has this"),
        ({"rack": "r1", "vramGiB": 94}, "selectors", "no device of this pool has all of these at once"),
    ],
    ids=str,
)
def test_selectors_that_nothing_can_ever_have_are_refused(
    either: Plane, selectors: dict[str, Any], field: str, says: str
) -> None:
    pool_id = mixed(either)
    error = either.ask(
        "sa_acme", "reservations/create", poolId=pool_id, resources={"gpu": 1}, selectors=selectors
    ).error
    assert (error["code"], error["rule"], error["field"]) == ("INVALID_INPUT", "reservation.selectors", field)
    assert says in error["message"]
    assert not {"r1", "r2"} & set(error["message"].replace(";", " ").split())


def test_what_is_busy_may_be_selected_and_what_is_quarantined_may_not(either: Plane) -> None:
    pool_id = mixed(either)
    for _ in range(2):
        either.reserve(pool_id, selectors={"rack": "r2"})
    assert either.reserve(pool_id, selectors={"rack": "r2"})["state"] == "pending"
    token = either.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).data["joinToken"]
    strange = {"gpus": [CARD, "NVIDIA Quux 9"], "attributes": {"rack": "r9"}}
    either.ask("sa_fleet", "nodes/join", poolId=pool_id, joinToken=token, inventory=strange)
    ask = {"poolId": pool_id, "resources": {"gpu": 1}, "selectors": {"rack": "r9"}}
    assert either.ask("sa_acme", "reservations/create", ask).error["rule"] == "reservation.selectors"


def test_selectors_are_judged_from_the_first_device_on(either: Plane) -> None:
    """Until then they wait as a wish without any does."""
    pool_id = either.hosts_pool()
    ask: dict[str, Any] = {"poolId": pool_id, "resources": {"gpu": 1}, "selectors": {"rack": "r9"}}
    assert either.reserve(pool_id)["state"] == "pending"
    assert either.reserve(pool_id, selectors={"rack": "r9"})["state"] == "pending"
    either.join(pool_id, "NVIDIA Quux 9")
    assert either.reserve(pool_id, selectors={"rack": "r9"})["state"] == "pending", "quarantined: no device"
    either.join(pool_id, CARD)
    assert either.ask("sa_acme", "reservations/create", ask).error["rule"] == "reservation.selectors"


def test_more_than_any_host_has_waits_for_a_larger_one(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    assert either.reserve(pool_id, resources={"gpu": 9})["state"] == "pending"


PROVIDER = {"class": "provider", "agent": "none", "providerAccountId": "pa_north"}


@pytest.mark.parametrize("shape", [{"class": "infra"}, PROVIDER], ids=["infra", "provider"])
def test_a_pool_that_never_has_hosts_takes_none(either: Plane, shape: dict[str, str]) -> None:
    pool_id = either.pool(**shape)
    either.offer(pool_id)
    for who in ("sa_acme", "sa_fleet"):
        error = either.ask(who, "reservations/create", poolId=pool_id, resources={"gpu": 1}).error
        assert (error["code"], error["rule"], error["field"]) == ("INVALID_INPUT", "reservation.class", "poolId")
    assert either.ask("sa_fleet", "reservations/list").data["items"] == []
    assert either.ask("sa_globex", "reservations/create", poolId=pool_id, resources={"gpu": 1}).code == "NOT_FOUND"


def test_quota_is_judged_before_selectors(plane: Plane) -> None:
    pool_id = mixed(plane)
    ask = {"poolId": pool_id, "resources": {"gpu": 101}, "selectors": {"rack": "r9"}}
    assert plane.ask("sa_acme", "reservations/create", ask).code == "LIMIT_EXCEEDED"


def test_a_key_answers_its_reservation_whenever(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    ask = {"resources": {"gpu": 2}, "selectors": {"gpuProduct": [CARD, "x"]}, "idempotencyKey": "k"}
    made = either.reserve(pool_id, **ask)
    assert either.reserve(pool_id, **{**ask, "selectors": {"gpuProduct": ["x", CARD, "x"]}}) == made
    ended = either.end(made["id"])
    assert either.reserve(pool_id, **ask) == ended
    either.ask("sa_fleet", "pools/archive", poolId=pool_id)
    assert either.reserve(pool_id, **ask) == ended
    assert either.used(pool_id) == {}
    assert either.reserve(either.hosts_pool(8), "sa_acme2", **ask)["id"] != made["id"], "a key is its caller's own"


def test_a_key_with_another_wish_is_a_conflict(either: Plane) -> None:
    pool_id, other = either.hosts_pool(8), either.hosts_pool(8)
    ask = {"poolId": pool_id, "resources": {"gpu": 2}, "selectors": {"vramGiB": 80}, "idempotencyKey": "k"}
    either.reserve(pool_id, **ask)
    for field, value in (
        ("poolId", other),
        ("resources", {"gpu": 3}),
        ("resources", {"gpu": 2, "vcpu": 1}),
        ("selectors", {}),
        ("selectors", {"vramGiB": "80"}),
    ):
        error = either.ask("sa_acme", "reservations/create", {**ask, field: value}).error
        assert (error["code"], error["rule"], error["field"]) == ("CONFLICT", "reservation.key", field)
    assert either.ask("sa_acme", "reservations/create", {**ask, "poolId": "pool_none"}).code == "NOT_FOUND"
    assert either.used(pool_id) == {"gpu": 2}
    assert either.used(other) == {}


def test_pools_that_are_hidden_archived_or_absent_take_none_and_look_alike(either: Plane) -> None:
    hidden, archived = either.pool(), either.hosts_pool(8)
    either.ask("sa_fleet", "pools/archive", poolId=archived)
    ask = {"resources": {"gpu": 1}}
    answers = [
        either.ask("sa_acme", "reservations/create", ask, poolId=i).raw.body for i in (hidden, archived, "pool_none")
    ]
    assert len(set(answers)) == 1
    assert either.ask("sa_fleet", "reservations/create", ask, poolId=archived).code == "NOT_FOUND"


def test_bookings_outlive_unoffer_and_archive(either: Plane) -> None:
    pool_id = either.hosts_pool(8, quota={"gpu": 8})
    first, second = (either.reserve(pool_id, resources={"gpu": 2})["id"] for _ in range(2))
    either.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="acme")
    assert [r["state"] for r in either.ask("sa_acme", "reservations/list", poolId=pool_id).data["items"]] == [
        "placed"
    ] * 2
    assert either.end(first)["state"] == "ended"
    assert either.used(pool_id) == {"gpu": 2}
    either.ask("sa_fleet", "pools/archive", poolId=pool_id)
    assert either.ask("sa_acme", "reservations/get", reservationId=second).data["state"] == "placed"
    assert either.end(second)["state"] == "ended"
    assert either.used(pool_id) == {}


def test_what_waits_in_an_archived_pool_says_so(either: Plane) -> None:
    pool_id = either.hosts_pool(2)
    ask = {"poolId": pool_id, "resources": {"gpu": 3}, "idempotencyKey": "k"}
    made = either.reserve(pool_id, **ask)
    either.ask("sa_fleet", "pools/archive", poolId=pool_id)
    seen = [
        either.ask("sa_acme", "reservations/get", reservationId=made["id"]).data,
        either.ask("sa_acme", "reservations/list").data["items"][0],
        either.ask("sa_fleet", "reservations/list", states=["pending"]).data["items"][0],
        either.reserve(pool_id, **ask),
    ]
    assert {(r["state"], r["reason"]) for r in seen} == {("pending", "the pool is archived")}


def test_so_many_wait_and_no_more(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_PENDING", 3)
    monkeypatch.setattr(rules, "MOST_PENDING_OF_ONE", 2)
    pool_id = plane.hosts_pool(1)
    plane.offer(pool_id, "globex")
    ask = {"poolId": pool_id, "resources": {"gpu": 2}}

    def asked(who: str) -> Any:
        return plane.ask(who, "reservations/create", ask)

    assert [asked("sa_acme").code for _ in range(3)] == ["OK", "OK", "LIMIT_EXCEEDED"]
    assert [asked("sa_globex").code for _ in range(2)] == ["OK", "LIMIT_EXCEEDED"]
    assert asked("sa_globex").error["rule"] == "reservation.waiting"
    assert plane.reserve(pool_id)["state"] == "placed", "what fits needs not wait"


def test_the_rollup_tells_work_by_tenant_and_node_resources(either: Plane) -> None:
    pool_id = either.hosts_pool(8)
    either.reserve(pool_id, resources={"gpu": 3, "vcpu": 24})
    either.reserve(pool_id, resources={"gpu": 6})
    either.reserve(pool_id, "sa_fleet", resources={"gpu": 2})
    either.end(either.reserve(pool_id, resources={"gpu": 1})["id"])
    empty = either.pool()
    rollup = either.get(pool_id)["rollup"]
    assert rollup["atoms"] == {"total": 8, "booked": 5}
    assert rollup["reservations"] == {
        "acme": {"pending": 1, "placed": 1, "active": 0, "pendingAtoms": 6, "bookedAtoms": 3},
        "root": {"pending": 0, "placed": 1, "active": 0, "pendingAtoms": 0, "bookedAtoms": 2},
    }
    assert rollup["resources"]["vcpu"] == {"total": 192, "booked": 24}
    listed = either.ask("sa_fleet", "pools/list", include=["rollup"]).data["items"]
    assert {p["id"]: p["rollup"] for p in listed} == {pool_id: rollup, empty: either.get(empty)["rollup"]}
    assert either.get(empty)["rollup"]["reservations"] == {}
