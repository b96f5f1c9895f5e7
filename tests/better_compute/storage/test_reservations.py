"""Reservations as they are kept: found by their keys, in order, and written with all that they book or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from random import Random
from typing import Any

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.exc import IntegrityError

from better_compute.domain.devices import Device
from better_compute.domain.hosts import Host, NodeResource
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.domain.placement import choose
from better_compute.domain.reservations import (
    LIVE,
    Reservation,
    Selectors,
    activate,
    canonical,
    end,
    fail,
    place,
    wait,
)
from better_compute.domain.state import PoolState, Provided, Work
from better_compute.service.ports import HeldReservation, ReservationQuery, Tx
from better_compute.storage import SqlStore
from better_compute.storage import tables as t
from better_compute.storage.attributes import _counts, digest_of
from better_compute.storage.rows import to_json
from tests.better_compute.plane import CARD
from tests.better_compute.storage.changes import (
    carry_out,
    counted,
    events,
    is_chain,
    new_event,
    opened,
    pool_state,
    populate,
)
from tests.better_compute.storage.test_lists import explained
from tests.builders import NOW, a_node, a_reservation
from tests.decisions import create, offer


@pytest.fixture
def pools(store: SqlStore) -> SqlStore:
    """Two pools of root's that acme is offered, the first with a host of four GPUs and 16 vcpu."""
    for pool_id in ("pool_1", "pool_2"):
        carry_out(store, create(pool_id=pool_id))
        carry_out(store, offer("acme", {"gpu": 8, "vcpu": 100}, pool_id=pool_id))
    add_hosts(store, a_host("node_1", 4))
    return store


def a_host(node_id: str, gpus: int, pool_id: str = "pool_1", **fields: Any) -> Host:
    devices = tuple(Device(position=n, product=CARD, vram_gib=80) for n in range(gpus))
    rows = {"vcpu": NodeResource(resource="vcpu", provided=16, ratio="1")}
    return Host(node=a_node(node_id, pool_id=pool_id, **fields), devices=devices, resources=rows)


def add_hosts(store: SqlStore, *hosts: Host) -> None:
    store.transact(lambda tx: tx.save_hosts([(None, host) for host in hosts]))


def save(
    store: SqlStore, before: Reservation | None, after: Reservation, *positions: int, event: bool = False
) -> Reservation:
    def work(tx: Tx) -> None:
        tx.pool(after.pool_id)
        told = new_event(type="reservation.placed", pool_id=after.pool_id) if event else None
        tx.save_reservation(before, after, told, positions)

    store.transact(work)
    return after


def placed(reservation_id: str = "rsv_1", **fields: Any) -> Reservation:
    return place(a_reservation(reservation_id, **fields), "node_1", NOW + 1)


def host(store: SqlStore) -> Host:
    found = store.view(lambda tx: tx.host("node_1"))
    assert found is not None
    return found


def free(store: SqlStore) -> int:
    """How many devices of the host are free by its count."""
    found = select(t.nodes.c.free).where(t.nodes.c.id == "node_1")
    return store._database.read(lambda connection: int(connection.execute(found).scalar_one()))


def test_a_reservation_comes_back_as_it_was(pools: SqlStore) -> None:
    selectors = canonical({"rack": ["r1", "r2"], "vramGiB": [80, "80"]})
    first = a_reservation(
        selectors=selectors, idempotency_key="k", reason="no-capacity", resources={"gpu": 2, "vcpu": 3}
    )
    save(pools, None, first)
    assert pools.view(lambda tx: tx.reservation("rsv_1")) == HeldReservation(first, "root", archived=False)
    second = save(pools, first, place(first, "node_1", NOW + 1), 0, 1)
    third = save(pools, second, wait(second, "billing could not be asked"))
    fourth = save(pools, third, activate(third, NOW + 2))
    fifth = save(pools, fourth, end(fourth, NOW + 3))
    assert pools.view(lambda tx: tx.reservation("rsv_1")) == HeldReservation(fifth, "root", archived=False)
    assert pools.view(lambda tx: tx.reservation("rsv_2")) is None


def test_a_booking_takes_and_its_end_gives_back(pools: SqlStore) -> None:
    first = save(pools, None, placed(resources={"gpu": 2, "vcpu": 10}), 1, 3)
    held = host(pools)
    assert [d.reservation_id for d in held.devices] == [None, "rsv_1", None, "rsv_1"]
    assert (held.resources["vcpu"].allocated, free(pools)) == (10, 2)
    assert {r: row.used for r, row in pool_state(pools).rows("acme").items()} == {"gpu": 2, "vcpu": 10}
    active = save(pools, first, activate(first, NOW + 2))
    assert host(pools) == held
    save(pools, active, end(active, NOW + 3))
    assert host(pools) == a_host("node_1", 4)
    assert free(pools) == 4
    assert {r: row.used for r, row in pool_state(pools).rows("acme").items()} == {"gpu": 0, "vcpu": 0}


def test_a_device_that_is_leaving_goes_with_its_booking(pools: SqlStore) -> None:
    first = save(pools, None, placed(resources={"gpu": 2}), 0, 1)
    before = host(pools)
    kept = tuple(replace(d, leaving=d.position == 1) for d in before.devices)
    after = replace(before, devices=kept)
    pools.transact(lambda tx: tx.save_hosts([(before, after)]))
    save(pools, first, end(first, NOW + 2))
    assert [d.position for d in host(pools).devices] == [0, 2, 3]
    assert free(pools) == 3


def test_what_ends_on_a_machine_that_cannot_be_booked_any_more_frees_no_device_of_it(pools: SqlStore) -> None:
    first = save(pools, None, placed(resources={"gpu": 2}), 0, 1)
    before = host(pools)
    after = replace(before, node=a_node("node_1", quarantined="Quux"))
    pools.transact(lambda tx: tx.save_hosts([(before, after)]))
    save(pools, first, end(first, NOW + 2))
    assert [d.reservation_id for d in host(pools).devices] == [None] * 4
    assert free(pools) == 0
    assert bookable(pools, 1) is None


WRONG: dict[str, tuple[Reservation, tuple[int, ...]]] = {
    "more than the quota": (placed(resources={"gpu": 3}), (0, 1, 2)),
    "no quota row": (placed(resources={"gpu": 1, "diskGiB": 1}), (0,)),
    "more than the host provides": (placed(resources={"gpu": 1, "vcpu": 17}), (0,)),
    "nothing that the host provides": (placed(resources={"gpu": 1, "memoryGiB": 1}), (0,)),
    "a device that is booked": (placed("rsv_2"), (3,)),
    "a device that is not there": (placed("rsv_2"), (4,)),
    "fewer devices than atoms": (placed("rsv_2", resources={"gpu": 2}), (0,)),
    "a device twice": (placed("rsv_2", resources={"gpu": 2}), (0, 0)),
    "another node": (place(a_reservation("rsv_2"), "node_9", NOW), (0,)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_booking_that_is_not_so_is_a_fault_and_leaves_nothing(pools: SqlStore, wrong: str) -> None:
    carry_out(pools, offer("acme", {"gpu": 3, "vcpu": 100, "memoryGiB": 100}))
    save(pools, None, placed("rsv_0"), 3)
    before, rows = host(pools), pool_state(pools).quotas
    reservation, positions = WRONG[wrong]
    with pytest.raises(RuntimeError):
        save(pools, None, reservation, *positions)
    assert host(pools) == before
    assert pool_state(pools).quotas == rows
    assert pools.view(lambda tx: tx.reservation(reservation.id)) is None


def test_a_step_from_a_state_that_it_is_not_in_is_a_fault(pools: SqlStore) -> None:
    first = save(pools, None, placed(), 0)
    save(pools, first, end(first, NOW + 2))
    with pytest.raises(RuntimeError):
        save(pools, first, end(first, NOW + 3))
    assert pool_state(pools).rows("acme")["gpu"].used == 0


@pytest.mark.parametrize("step", [wait, fail])
def test_one_that_is_over_takes_no_step_that_was_meant_for_it_while_it_waited(
    pools: SqlStore, step: Callable[..., Reservation]
) -> None:
    """Nothing is booked or given back here: the state alone tells."""
    first = save(pools, None, a_reservation())
    over = save(pools, first, end(first, NOW + 2))
    with pytest.raises(RuntimeError):
        save(pools, first, step(first, "quota", *((NOW + 3,) if step is fail else ())))
    assert pools.view(lambda tx: tx.reservation("rsv_1")) == HeldReservation(over, "root", archived=False)


def test_a_second_one_of_an_id_is_never_taken_for_the_first(pools: SqlStore) -> None:
    first = save(pools, None, a_reservation())
    with pytest.raises(IntegrityError):
        save(pools, None, a_reservation(pool_id="pool_2"))
    found = pools.view(lambda tx: tx.reservation("rsv_1"))
    assert found is not None
    assert found.reservation == first


def fill(store: SqlStore) -> None:
    """In each pool two of acme's, one of root's and one of globex's, in states of all kinds."""
    numbers = iter(range(100))
    for pool_id in ("pool_1", "pool_2"):
        for tenant_id in ("acme", "root", "acme", "globex"):
            number = next(numbers)
            made = a_reservation(f"rsv_{99 - number}", pool_id=pool_id, tenant_id=tenant_id, created_at=NOW + number)
            save(store, None, made)
            if number % 2:
                save(store, made, end(made, NOW))


Key = tuple[str, str]


def page(
    store: SqlStore, tenant_id: str, after: Sequence[Key], limit: int, room: int | None = None, **query: Any
) -> tuple[list[Key], bool]:
    """Pool and id of those after the last of some, and whether there was no room for more."""

    def read(tx: Tx) -> tuple[list[Key], bool]:
        tx.room = room
        last = after[-1] if after else ()
        found = tx.reservations(ReservationQuery(tenant_id=tenant_id, limit=limit, after=last, **query))
        return [(held.reservation.pool_id, held.reservation.id) for held in found], tx.cut

    return store.view(read)


def walk(store: SqlStore, tenant_id: str, limit: int, **query: Any) -> list[Key]:
    """All of them, page by page."""
    found: list[Key] = []
    while more := page(store, tenant_id, found, limit, **query)[0]:
        assert len(more) <= limit
        found += more
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_the_owner_walks_all_of_its_pools_and_others_their_own(pools: SqlStore, limit: int) -> None:
    carry_out(pools, create(pool_id="pool_3"))
    fill(pools)
    everything = [(p, f"rsv_{n}") for p, ns in (("pool_1", (96, 97, 98, 99)), ("pool_2", (92, 93, 94, 95))) for n in ns]
    assert walk(pools, "root", limit) == everything
    acmes = [("pool_1", "rsv_97"), ("pool_1", "rsv_99"), ("pool_2", "rsv_93"), ("pool_2", "rsv_95")]
    assert walk(pools, "acme", limit) == acmes
    assert walk(pools, "acme", limit, pool_id="pool_2") == acmes[2:]
    assert walk(pools, "root", limit, pool_id="pool_1") == everything[:4]
    assert walk(pools, "initech", limit) == []
    for states, parity in (
        ({"pending", "placed", "active"}, 1),
        ({"pending"}, 1),
        ({"ended"}, 0),
        ({"ended", "failed"}, 0),
    ):
        found = walk(pools, "root", limit, states=states)
        assert found == [key for key in everything if int(key[1][4:]) % 2 == parity]


def test_a_page_without_room_ends_where_both_of_its_parts_are_whole(pools: SqlStore) -> None:
    fill(pools)
    whole = walk(pools, "root", 100)
    for room in (1, 200, 300, 600, 10_000):
        found: list[Key] = []
        cut = True
        while cut:
            more, cut = page(pools, "root", found, 100, room)
            assert more
            found += more
        assert found == whole


def test_the_oldest_of_a_pool_in_a_state_come_first(pools: SqlStore) -> None:
    for n, at in enumerate((5, 3, 3, 9)):
        save(pools, None, a_reservation(f"rsv_{n}", created_at=NOW + at))
    save(pools, None, placed("rsv_8"), 0)
    save(pools, None, a_reservation("rsv_9", pool_id="pool_2"))

    def oldest(limit: int, after: Reservation | None) -> list[Reservation]:
        return pools.view(lambda tx: tx.oldest("pool_1", "pending", limit, after))

    first = oldest(3, None)
    assert [r.id for r in first] == ["rsv_1", "rsv_2", "rsv_0"]
    assert [r.id for r in oldest(3, first[-1])] == ["rsv_3"]
    assert [r.id for r in pools.view(lambda tx: tx.oldest("pool_1", "placed", 9, None))] == ["rsv_8"]
    assert pools.view(lambda tx: tx.pools_with("pending")) == ["pool_1", "pool_2"]
    assert pools.view(lambda tx: tx.pools_with("placed")) == ["pool_1"]
    assert pools.view(lambda tx: tx.pending("pool_1", "acme")) == (4, 4)
    assert pools.view(lambda tx: tx.pending("pool_1", "root")) == (4, 0)
    assert pools.view(lambda tx: tx.pending("pool_3", "root")) == (0, 0)


def bookable(store: SqlStore, gpus: int, **wish: Any) -> str | None:
    """The machine that a wish is placed on."""
    asked = a_reservation(resources={"gpu": gpus}, **wish)
    host = store.view(lambda tx: tx.bookable(asked))
    return None if host is None else host.node.id


def test_the_host_with_the_fewest_free_devices_that_are_enough_is_taken(pools: SqlStore) -> None:
    add_hosts(
        pools,
        a_host("node_2", 2),
        a_host("node_3", 4),
        a_host("node_0", 4),
        a_host("node_4", 2, control="tenant"),
        a_host("node_5", 2, quarantined="Quux"),
        a_host("node_6", 2, role="infra"),
        a_host("node_7", 2, "pool_2"),
    )
    assert [bookable(pools, gpus) for gpus in (1, 2, 3, 4, 5)] == ["node_2", "node_2", "node_0", "node_0", None]
    wish = a_reservation(resources={"gpu": 1, "vcpu": 16})
    with counted(pools) as statements:
        assert pools.view(lambda tx: tx.bookable(wish)) == replace(a_host("node_2", 2), resources={})
    assert len([s for s in statements if s.startswith("SELECT")]) == 2, "the host, and its devices"


CARDS = ((CARD, 80), ("NVIDIA H100 NVL", 94), ("NVIDIA H100 PCIe", None))


def some_hosts(random: Random) -> list[Host]:
    """Hosts that differ in everything that a wish may ask for; some of their devices are booked by `rsv_0`."""
    hosts = []
    for n in range(2, 26):
        cards = [random.choice(CARDS) for _ in range(random.randint(0, 4))]
        devices = [
            Device(
                position=i,
                product=card,
                vram_gib=gib,
                profile=random.choice((None, "3g.40gb")),
                reservation_id=random.choice((None, None, None, "rsv_0")),
            )
            for i, (card, gib) in enumerate(cards)
        ]
        total = random.randint(0, 8)
        rows = {"vcpu": NodeResource(resource="vcpu", provided=total, ratio="1", allocated=random.randint(0, total))}
        inventory = Inventory(
            attributes={"rack": random.choice(("r1", "r2", "r3", "r4", "r5")), "row": random.choice((1, "1"))}
        )
        node = a_node(f"node_{n:02d}", inventory=inventory)
        hosts.append(Host(node=node, devices=tuple(devices), resources=random.choice((rows, {}))))
    return hosts


SELECTORS: dict[str, tuple[str | int, ...]] = {
    "gpuProduct": ("NVIDIA H100 NVL", "NVIDIA H100 PCIe", 80),
    "vramGiB": (80, "80", 94),
    "migProfile": ("3g.40gb",),
    "rack": ("r1", "r9"),
    "row": (1, "1"),
}


def has_room(host: Host, wish: Reservation) -> bool:
    """All of the scalars, and devices enough that are free and selected."""
    room = {resource: row.provided - row.allocated for resource, row in host.resources.items()}
    scalars = all(room.get(resource, 0) >= amount for resource, amount in wish.scalars.items())
    return scalars and len(choose(host, wish).positions) == wish.atoms


@pytest.fixture(params=[0, 5, 1000])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many machines are few: those of few are found in another way than those of many."""
    count: int = request.param
    monkeypatch.setattr("better_compute.storage.attributes.FEW", count)
    return count


def has_device(host: Host, selectors: Selectors) -> bool:
    """Whether one of its devices, free or not, has all of it."""
    all_free = replace(host, devices=tuple(replace(d, reservation_id=None) for d in host.devices))
    return bool(choose(all_free, a_reservation(selectors=selectors)).positions)


@pytest.mark.usefixtures("few")
def test_the_database_takes_the_first_host_that_has_room(pools: SqlStore) -> None:
    random = Random(7)
    hosts = some_hosts(random)
    save(pools, None, a_reservation("rsv_0"))
    add_hosts(pools, *hosts)
    everything = [host(pools), *hosts]
    placed = had = 0
    for _ in range(150):
        names = random.sample(sorted(SELECTORS), random.choice((0, 0, 1, 1, 2)))
        chosen = {n: random.sample(SELECTORS[n], random.randint(1, min(2, len(SELECTORS[n])))) for n in names}
        scalars = {"vcpu": random.randint(1, 8)} if random.random() < 0.4 else {}
        wish = a_reservation(resources={"gpu": random.randint(1, 4), **scalars}, selectors=canonical(chosen))
        in_order = sorted(everything, key=lambda h: (h.free, h.node.id))
        expected = next((h for h in in_order if has_room(h, wish)), None)
        found = pools.view(lambda tx, wish=wish: tx.bookable(wish))  # type: ignore[misc]
        assert found == (None if expected is None else replace(expected, resources={}))
        placed += expected is not None
        there = pools.view(lambda tx, wish=wish: tx.has_device("pool_1", wish.selectors))  # type: ignore[misc]
        assert there == any(has_device(h, wish.selectors) for h in everything)
        had += there
    assert 30 < placed < had < 150
    kinds = {(d.product, d.profile, d.vram_gib) for h in everything for d in h.devices}
    assert sorted(pools.view(lambda tx: tx.kinds("pool_1")), key=str) == sorted(kinds, key=str), "each kind once"


def saying(node_id: str, gpus: int = 4, pool_id: str = "pool_1", /, **attributes: str | int) -> Host:
    """A host that says this of itself."""
    return a_host(node_id, gpus, pool_id, inventory=Inventory(attributes=attributes))


def selected(store: SqlStore, gpus: int = 1, /, **selectors: Any) -> str | None:
    """The machine that a wish with these selectors is placed on."""
    return bookable(store, gpus, selectors=canonical(selectors))


@pytest.mark.usefixtures("few")
def test_a_machine_is_found_behind_many_that_are_as_free_and_say_something_else(pools: SqlStore) -> None:
    add_hosts(pools, *(a_host(f"node_2{n}", 4) for n in range(7)))
    add_hosts(pools, *(saying(node_id, rack="r1") for node_id in ("node_27", "node_29")))
    add_hosts(pools, a_host("node_28", 4), saying("node_20_", 4, "pool_2", rack="r1"))
    assert selected(pools, rack="r1") == "node_27"
    assert selected(pools, rack="r2") is None


@pytest.mark.usefixtures("few")
def test_all_that_is_selected_by_is_said_by_one_machine(pools: SqlStore) -> None:
    add_hosts(pools, saying("node_2", rack="r1", row=1), saying("node_3", rack="r2", row="1", room="a" * 200_000))
    assert selected(pools, rack="r1", row=1) == "node_2"
    assert selected(pools, rack=["r0", "r1", "r2"], row="1") == "node_3"
    assert selected(pools, room=["a" * 199_999, "a" * 200_000]) == "node_3"
    assert selected(pools, rack="r1", row="1") is None
    assert selected(pools, rack=["r1", "r2"], row=[1, "1"]) == "node_2", "the first of two"
    assert selected(pools, row="r1", rack=1) is None, "a name and its value stand together"


@pytest.mark.usefixtures("few")
def test_a_machine_is_found_by_what_it_says_now(pools: SqlStore) -> None:
    first, other = saying("node_2", rack="r1", row=1), saying("node_3", 2, rack="r2")
    add_hosts(pools, first, other)
    moved = saying("node_2", rack="r2", row=1, room="a")
    with counted(pools) as statements:
        pools.transact(lambda tx: tx.save_hosts([(first, moved), (other, other)]))
    assert len([s for s in statements if "node_attributes" in s]) == 2, "what went, and what came"
    found = [selected(pools, 3, **{name: value}) for name, value in {"rack": "r2", "row": 1, "room": "a"}.items()]
    assert found == ["node_2"] * 3
    assert selected(pools, rack="r1") is None
    with counted(pools) as statements:
        pools.transact(lambda tx: tx.save_hosts([(moved, replace(moved, node=replace(moved.node, gpu_model="H100")))]))
    assert not any("node_attributes" in s for s in statements), "it says what it said"
    pools.transact(lambda tx: tx.save_hosts([(moved, None)]))
    assert selected(pools, 3, rack="r2") is None
    assert selected(pools, rack="r2") == "node_3"


def test_those_that_have_an_attribute_are_counted_until_they_are_many(pools: SqlStore) -> None:
    add_hosts(pools, *(saying(f"node_2{n}", 1, all="x", own=n) for n in range(9)))
    sets = {"of_0": [digest_of("own", 1), digest_of("own", 2)], "of_1": [digest_of("all", "x")]}
    counts = pools.view(lambda tx: tx._first(_counts(2), pool_id="pool_1", enough=4, **sets))  # type: ignore[attr-defined]
    assert counts == (2, 4)


def test_where_a_machine_is_found_that_does_not_say_so_nothing_is_booked(pools: SqlStore) -> None:
    """The rows are wrong then, and its inventory counts."""
    told = saying("node_2", rack="r1")
    add_hosts(pools, told)
    wrong = replace(told.node, inventory=Inventory(attributes={"rack": "r2"}))
    pools.transact(lambda tx: tx._write(t.nodes.update().where(t.nodes.c.id == "node_2"), _inventory(wrong)))  # type: ignore[attr-defined]
    wish = a_reservation(selectors=canonical({"rack": "r1"}))
    found = pools.view(lambda tx: tx.bookable(wish))
    assert found is not None
    with pytest.raises(RuntimeError):
        save(pools, None, place(wish, "node_2", NOW), *choose(found, wish).positions)


def _inventory(node: Node) -> dict[str, Any]:
    return {"inventory": to_json(asdict(node.inventory))}


@pytest.mark.usefixtures("few")
def test_only_what_can_be_booked_counts_and_of_it_the_devices_that_stay(pools: SqlStore) -> None:
    strange = Inventory(attributes={"rack": "r9"})
    add_hosts(
        pools,
        a_host("node_2", 1, quarantined="Quux", inventory=strange),
        a_host("node_3", 1, control="tenant", inventory=strange),
        a_host("node_4", 0, inventory=strange),
    )
    [kind] = pools.view(lambda tx: tx.kinds("pool_1"))
    assert kind == (CARD, None, 80)
    save(pools, None, placed(resources={"gpu": 4}), 0, 1, 2, 3)
    assert pools.view(lambda tx: tx.kinds("pool_1")) == [kind]
    had = [{}, {"vramGiB": (80,)}, {"rack": ("r9",)}]
    assert [pools.view(lambda tx, s=s: tx.has_device("pool_1", s)) for s in had] == [True, True, False]  # type: ignore[misc]
    before = host(pools)
    after = replace(before, devices=tuple(replace(d, leaving=True) for d in before.devices))
    pools.transact(lambda tx: tx.save_hosts([(before, after)]))
    assert pools.view(lambda tx: tx.kinds("pool_1")) == []
    assert [pools.view(lambda tx, s=s: tx.has_device("pool_1", s)) for s in had] == [False] * 3  # type: ignore[misc]


def test_work_and_node_resources_are_summed_up_in_three_statements(pools: SqlStore) -> None:
    fill(pools)
    save(pools, None, placed("rsv_1", resources={"gpu": 2, "vcpu": 5}), 0, 1)
    add_hosts(pools, a_host("node_2", 2))
    states: list[PoolState] = [pool_state(pools, "pool_1"), pool_state(pools, "pool_2")]
    with counted(pools) as statements:
        pools.view(lambda tx: tx.roll_up(states))
    assert len([s for s in statements if s.startswith("SELECT")]) == 3
    first, second = (state.rollup for state in states)
    assert first.work == {"acme": Work(2, 1, 0, 2, 2)}
    assert first.resources == {"vcpu": Provided(32, 5)}
    assert (first.atoms, second.atoms) == (6, 0)
    assert second.work == {"acme": Work(pending=2, pending_atoms=2)}
    assert second.resources == {}


def test_an_event_is_written_with_its_step_and_raises_the_pools_revision(pools: SqlStore) -> None:
    save(pools, None, placed(), 0, event=True)
    found = events(pools)
    assert found[-1].type == "reservation.placed"
    assert is_chain(found)


WISH = a_reservation(
    resources={"gpu": 1, "vcpu": 1},
    selectors=canonical({"vramGiB": 80, "gpuProduct": "x", "migProfile": "y", "rack": 1, "row": 2}),
)


def test_nothing_that_grows_is_read_whole(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite tells how it finds its rows."""
    with opened(sqlite_url) as store:
        populate(store)
        carry_out(store, create())
        carry_out(store, offer("acme", {"gpu": 8, "vcpu": 100}))
        add_hosts(store, a_host("node_1", 4))
        with counted(store) as statements:
            first = save(store, None, placed(resources={"gpu": 1, "vcpu": 1}), 0, event=True)
            save(store, first, end(first, NOW))
            store.view(lambda tx: tx.reservation("rsv_1"))
            store.view(lambda tx: tx.reservation_for("acme", "rsv_1"))
            store.view(lambda tx: tx.has_reservations("acme", "pool_1"))
            store.view(lambda tx: tx.oldest("pool_1", "pending", 50, first))
            store.view(lambda tx: tx.pending("pool_1", "acme"))
            for few in (-1, 1000):
                monkeypatch.setattr("better_compute.storage.attributes.FEW", few)
                store.view(lambda tx: tx.bookable(WISH))
                store.view(lambda tx: tx.has_device("pool_1", WISH.selectors))
            store.view(lambda tx: tx.kinds("pool_1"))
            store.view(lambda tx: tx.roll_up([pool_state(store)]))
            for pool_id in (None, "pool_1"):
                for after in ((), ("pool_1", "rsv_0")):
                    query = ReservationQuery(tenant_id="acme", limit=10, after=after, pool_id=pool_id)
                    store.view(lambda tx, q=query: tx.reservations(q))  # type: ignore[misc]
        assert len(statements) > 30
        for statement in statements:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                plan = store._database.read(lambda c, s=statement: explained(c, s))  # type: ignore[misc]
                # What is selected from by another statement is bounded by that one.
                assert "SCAN" not in re.sub(r"SCAN (anon_\d+|CONSTANT ROW)", "", plan), (statement, plan)
                assert (
                    any(word in statement for word in ("GROUP BY", "DISTINCT", " IN (")) or "TEMP B-TREE" not in plan
                ), (statement, plan)


FOUND_BY: list[dict[str, Any]] = [
    {"own": 77},
    {"all": "x"},
    {"own": [5, 1_400], "all": "x"},
    {"all": "x", "vramGiB": 80},
]
"""Attributes of one machine, of two, and of all of 1,500."""


ROOM_BY: list[dict[str, Any]] = [{}, {"all": "x"}, {"all": "x", "vramGiB": 80}]


def with_many_hosts(store: SqlStore) -> None:
    populate(store)
    carry_out(store, create())
    add_hosts(store, *(saying(f"node_{n:04}", 1, own=n, all="x") for n in range(1_500)))


@pytest.mark.parametrize("selectors", FOUND_BY, ids=str)
def test_sqlite_goes_by_what_few_say_or_from_the_first_host_on(sqlite_url: str, selectors: dict[str, Any]) -> None:
    wish = a_reservation(selectors=canonical(selectors))
    with opened(sqlite_url) as store:
        with_many_hosts(store)
        with counted(store) as statements:
            store.view(lambda tx: tx.bookable(wish))
        [statement] = [s for s in statements if "ORDER BY nodes.free" in s]
        plan = store._database.read(lambda c: explained(c, statement))
    assert ("SEARCH nodes USING INDEX sqlite_autoindex_nodes_1 (id=?)" in plan) == ("own" in selectors)
    assert ("SEARCH nodes USING INDEX ix_nodes_pool_id_free_id" in plan) == ("own" not in selectors)
    assert ("TEMP B-TREE" in plan) == ("own" in selectors), "in order already"


def test_postgresql_looks_at_few_machines_of_many(postgres_url: str) -> None:
    with opened(postgres_url) as store:
        with_many_hosts(store)
        store._database.write(lambda c: c.execute(text("ANALYZE")))
        for selectors in FOUND_BY:
            wish = a_reservation(selectors=canonical(selectors))
            for asked in (partial(_bookable, wish), partial(_has_device, wish)):
                assert 1 <= looked_at(store, asked) <= 2, (selectors, asked)


def _bookable(wish: Reservation, tx: Tx) -> bool:
    return tx.bookable(wish) is not None


def _has_device(wish: Reservation, tx: Tx) -> bool:
    return tx.has_device(wish.pool_id, wish.selectors)


def looked_at(store: SqlStore, asked: Callable[[Tx], bool]) -> int:
    """How many rows of machines PostgreSQL reads to find one."""
    found, plan = carried_out(store, asked)
    assert found
    parts = parts_about(plan, "nodes")
    rows = ((part["Actual Rows"] + part.get("Rows Removed by Filter", 0)) * part["Actual Loops"] for part in parts)
    return round(sum(map(float, rows)))


def carried_out(store: SqlStore, asked: Callable[[Tx], bool]) -> tuple[bool, dict[str, Any]]:
    """The answer, and how PostgreSQL finds the machine."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if " FROM nodes" in statement.replace("\n", ""):
            seen.append((statement, values))

    event.listen(store._database.engine, "before_cursor_execute", note)
    try:
        found = store.view(asked)
    finally:
        event.remove(store._database.engine, "before_cursor_execute", note)
    [(statement, values)] = seen
    explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}"
    [[plan]] = store._database.read(lambda c: c.exec_driver_sql(explain, values).all())
    return found, plan[0]["Plan"]


def parts_about(plan: dict[str, Any], table: str) -> list[dict[str, Any]]:
    """The parts of a plan that read a table."""
    mine = [plan] if plan.get("Relation Name") == table else []
    return mine + [part for below in plan.get("Plans", []) for part in parts_about(below, table)]


def test_postgresql_that_has_counted_nothing_yet_reads_the_room_of_one_machine_after_the_other(
    postgres_url: str,
) -> None:
    """It takes machines that say all for few then, and all resources of a pool for as few: they are never joined."""
    with opened(postgres_url) as store:
        with_many_hosts(store)
        for selectors in ROOM_BY:
            wish = a_reservation(resources={"gpu": 1, "vcpu": 17}, selectors=canonical(selectors))
            found, plan = carried_out(store, partial(_bookable, wish))
            assert not found
            [room] = parts_about(plan, "node_resources")
            assert room["Node Type"] == "Index Scan"
            assert room["Actual Loops"] == 1_500
            assert room["Actual Rows"] == 1


def test_no_index_holds_the_devices_that_are_free(postgres_url: str) -> None:
    """Where they are many, PostgreSQL that has counted nothing yet went through all of them for one that it takes."""
    with opened(postgres_url) as store:
        with_many_hosts(store)
        size = text("SELECT pg_relation_size('ix_node_devices_reservation_id')")
        empty = 8192
        assert store._database.read(lambda c: c.execute(size).scalar_one()) <= empty


def test_what_lives_is_found_among_much_that_is_over(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
        with counted(store) as statements:
            store.view(lambda tx: tx.pools_with("pending"))
            store.view(lambda tx: tx.oldest("pool_1", "pending", 50, None))
            store.view(lambda tx: tx.pending("pool_1", "acme"))
            for states in (LIVE[:1], LIVE):
                for pool_id in (None, "pool_1"):
                    query = ReservationQuery(tenant_id="acme", limit=10, pool_id=pool_id, states=states)
                    store.view(lambda tx, q=query: tx.reservations(q))  # type: ignore[misc]
        plans = [
            store._database.read(lambda c, s=s: explained(c, s))  # type: ignore[misc]
            for s in statements
            if s.startswith("SELECT")
        ]
        of_pools, its_own = plans[3::2], plans[4::2]
        assert (len(of_pools), len(its_own)) == (4, 4)
        assert all("ix_reservations_live" in plan for plan in (*plans[:3], *of_pools))
        assert all("ix_reservations_tenant_id" in plan for plan in its_own), "of others nothing is read"
        assert "COVERING INDEX ix_reservations_live" in plans[2], "under the pool's lock no reservation is read"
