"""What a served control plane does by itself: every so often all that is due, and at once what a call let go on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM, arrivals
from better_compute.bootstrap.outside import Outside
from better_compute.bootstrap.plane import ControlPlane, opened
from better_compute.bootstrap.rhythm import ASKING, in_rhythm
from better_compute.client import Client
from better_compute.domain.commands import OfferPool
from better_compute.reconcilers import admission, hosts, placer, rounds
from better_compute.service.billing import unread
from better_compute.service.core import Service
from better_compute.service.ports import Spending, Verdict
from tests.better_compute.bills import METERED, Bills
from tests.better_compute.bootstrap.test_arrivals import client_of, create
from tests.waiting import until

Write = Callable[[str], Path]

ONE = "machines: [{pool: k1, gpus: {name: NVIDIA H100 80GB HBM3, count: 1}}]"
NEVER = 3600.0


def machines(pools: int) -> str:
    """A world with a machine for each of so many pools."""
    each = (f"{{pool: k{n}, gpus: {{name: NVIDIA H100 80GB HBM3, count: 16}}}}" for n in range(1, pools + 1))
    return f"machines: [{', '.join(each)}]"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "plane.db")


def state(client: Client, reservation: Any) -> str:
    return client.reservations.get(reservation.id).state


def test_what_ends_lets_what_waits_go_on_at_once(write: Write, database_url: str) -> None:
    with opened(database_url, SYSTEM, write(ONE)) as plane, in_rhythm(plane, every=NEVER) as served:
        client = client_of(served)
        pool_id = create(client)
        first, second = (client.reservations.create(pool_id, {"gpu": 1}) for _ in range(2))
        until(lambda: state(client, first) == "active")
        assert state(client, second) == "pending"
        client.reservations.end(first.id)
        until(lambda: state(client, second) == "active")


def test_quota_that_came_lets_what_waits_for_it_go_on(write: Write, database_url: str) -> None:
    with opened(database_url, SYSTEM, write(ONE)) as plane, in_rhythm(plane, every=NEVER) as served:
        client, acme = client_of(served), client_of(served, "sa_acme").acting_as("acme")
        pool_id = create(client)
        offer: dict[str, Any] = {"tenant_id": "root", "pool_id": pool_id, "to_tenant_id": "acme"}
        client.pools.offer(OfferPool(**offer, quota={"gpu": 1}))
        own = client.reservations.create(pool_id, {"gpu": 1})
        waits = acme.reservations.create(pool_id, {"gpu": 1})
        client.pools.offer(OfferPool(**offer, quota={"gpu": 0}))
        client.reservations.end(own.id)
        until(lambda: acme.reservations.get(waits.id).reason == "quota")
        client.pools.offer(OfferPool(**offer, quota={"gpu": 1}))
        until(lambda: acme.reservations.get(waits.id).state == "active")


def test_what_is_booked_in_a_new_pool_before_its_machines_came_goes_on_at_once(
    write: Write, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id is known before it is made, and machines of a world take their time."""
    join, booked = arrivals._join_pool, list[Any]()
    with opened(database_url, SYSTEM, write(ONE)) as plane, in_rhythm(plane, every=NEVER) as served:
        client = client_of(served)

        def later(service: Service, sleep: Any, pool_id: str, groups: Any) -> Any:
            booked.append(client.reservations.create(pool_id, {"gpu": 1}))
            return join(service, sleep, pool_id, groups)

        monkeypatch.setattr(arrivals, "_join_pool", later)
        create(client)
        until(lambda: state(client, booked[0]) == "active")


def test_what_another_process_left_is_done_by_the_next_round(write: Write, database_url: str) -> None:
    with opened(database_url, SYSTEM, write(ONE)) as beside, opened(database_url, SYSTEM) as plane:
        quiet = client_of(without_hook(beside))
        with in_rhythm(plane, every=0.05):
            pool_id = create(quiet)
            reservation = quiet.reservations.create(pool_id, {"gpu": 1})
            until(lambda: state(quiet, reservation) == "active")


def test_what_was_due_before_is_done_when_it_begins(write: Write, database_url: str) -> None:
    with opened(database_url, SYSTEM, write(ONE)) as plane:
        quiet = client_of(without_hook(plane))
        reservation = quiet.reservations.create(create(quiet), {"gpu": 1})
        assert state(quiet, reservation) == "placed"
        with in_rhythm(plane, every=NEVER):
            until(lambda: state(quiet, reservation) == "active")


def test_why_machines_wait_is_logged_when_it_changes_and_not_every_round(
    write: Write, database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds_done: list[object] = []
    keep_hosts = rounds.keep_hosts

    def noted(keeper: hosts.Keeper) -> int:
        rounds_done.append(keeper)
        return keep_hosts(keeper)

    monkeypatch.setattr(rounds, "keep_hosts", noted)
    with opened(database, SYSTEM, write(ONE.replace("H100 80GB HBM3", "A100-SXM4-80GB"))) as plane:
        create(client_of(plane))
        caplog.clear()
        rounds_done.clear()
        with in_rhythm(plane, every=0.02):
            until(lambda: len(rounds_done) > 4)
    assert len([r for r in caplog.records if "k1" in r.message]) == 1


def test_no_failure_ends_it(
    write: Write, database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a fault")

    with opened(database, SYSTEM, write(ONE)) as plane, monkeypatch.context() as broken:
        broken.setattr(hosts.Keeper, "_look", fails)
        broken.setattr(placer, "pools_where", fails)
        broken.setattr(admission, "pools_where", fails)
        with in_rhythm(plane, every=0.05) as served:
            client = client_of(served)
            reservation = client.reservations.create(create(client), {"gpu": 1})
            waits = client.reservations.create(reservation.pool_id, {"gpu": 1})
            client.reservations.end(reservation.id)
            failures = ("hosts waits for the next", "what waits is", "what is placed waits", "what calls let go on")
            until(lambda: all(failure in caplog.text for failure in failures))
            broken.undo()
            until(lambda: state(client, waits) == "active")


def test_a_call_does_not_wait_for_what_it_lets_go_on_nor_does_the_end(
    write: Write, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, entered = threading.Event(), threading.Event()

    def waits(*_: object) -> Counter[str]:
        entered.set()
        held.wait(20)
        return Counter()

    monkeypatch.setattr(placer.Turns, "go_on", waits)
    monkeypatch.setattr(admission.Admission, "go_on", waits)
    with opened(database, SYSTEM, write(ONE)) as plane:
        with in_rhythm(plane, every=NEVER) as served:
            client = client_of(served)
            first, _ = (client.reservations.create(create(client), {"gpu": 1}) for _ in range(2))
            client.reservations.end(first.id)
            assert entered.wait(20)
            begin = time.monotonic()
            client.reservations.create(first.pool_id, {"gpu": 1})
            assert time.monotonic() - begin < 5
        assert time.monotonic() - begin < 5
        held.set()


def test_however_often_a_pool_is_told_of_it_is_looked_at_as_often_as_there_is_time(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: dict[str, list[Any]] = {"pending": [], "placed": [], "hosts": []}
    held = threading.Event()

    def look(_: object, state: str, pools: Collection[str] | None) -> list[str]:
        looked[state].append(None if pools is None else sorted(pools))
        if pools:
            held.wait(20)
        return []

    monkeypatch.setattr(placer, "pools_where", look)
    monkeypatch.setattr(admission, "pools_where", look)
    monkeypatch.setattr(hosts.Keeper, "in_pools", lambda _, pools: looked["hosts"].append(sorted(pools)))
    with in_rhythm(plane, every=NEVER) as served:
        until(lambda: looked["placed"] == [None])
        for _ in range(100):
            served.service.freed("pool_1")
        until(lambda: len(looked["pending"]) == len(looked["placed"]) == 2)
        for _ in range(100):
            served.service.freed("pool_1")
        held.set()
        until(lambda: len(looked["pending"]) == len(looked["placed"]) == 3)
        served.service.placed("pool_2")
        until(lambda: len(looked["placed"]) == 4)
        served.service.changed("pool_3")
        until(lambda: len(looked["pending"]) == 4 and len(looked["placed"]) == 5)
    assert looked == {
        "pending": [None, ["pool_1"], ["pool_1"], ["pool_3"]],
        "placed": [None, ["pool_1"], ["pool_1"], ["pool_2"], ["pool_3"]],
        "hosts": [["pool_3"]],
    }


def test_a_billing_that_says_nothing_keeps_nothing_from_being_placed(write: Write, database_url: str) -> None:
    asked, held = threading.Event(), threading.Event()

    def check(_: Spending) -> Verdict:
        if threading.current_thread() is not threading.main_thread():
            asked.set()
            held.wait(20)
        return Verdict(allowed=True)

    with opened(database_url, SYSTEM, write(ONE)) as plane:
        plane = replace(plane, service=replace(plane.service, billing=Bills(check)))
        with in_rhythm(plane, every=NEVER) as served:
            client = client_of(served)
            pool_id = create(client, policy=METERED)
            first, second = (client.reservations.create(pool_id, {"gpu": 1}) for _ in range(2))
            assert asked.wait(20)
            client.reservations.end(first.id)
            until(lambda: state(client, second) == "placed")
            held.set()
            until(lambda: state(client, second) == "active")


def test_what_there_is_no_time_to_ask_is_asked_at_once_and_costs_no_other_look(
    write: Write, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that waits is let in by as many looks as there are pools, however slow billing is."""
    passed, looked, placed = [0.0], Counter[str](), admission._placed

    def slowly(_: Spending) -> Verdict:
        passed[0] += ASKING
        return Verdict(allowed=True)

    def noted(pool_id: str, *given: Any) -> Any:
        looked[pool_id] += 1
        return placed(pool_id, *given)

    monkeypatch.setattr(admission, "_placed", noted)
    with opened(database, SYSTEM, write(machines(6)), outside=Outside(billing=Bills(slowly))) as plane:
        quiet = client_of(without_hook(plane))
        made = [quiet.reservations.create(create(quiet, f"k{n}", policy=METERED), {"gpu": 1}) for n in range(1, 7)]
        looked.clear()
        plane = replace(plane, service=replace(plane.service, stopwatch=lambda: passed[0]))
        with in_rhythm(plane, every=NEVER):
            until(lambda: all(state(quiet, each) == "active" for each in made))
    assert looked == {each.pool_id: 3 for each in made}


def test_what_billing_gives_no_word_about_waits_for_the_next_whole_round(
    write: Write, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when there was no time for all, and something else goes on."""
    passed = [0.0]

    def strange(_: Spending) -> Verdict:
        passed[0] += ASKING
        raise unread("it answered with status 500")

    bills = Bills()
    with opened(database, SYSTEM, write(machines(2)), outside=Outside(billing=bills)) as plane:
        quiet = client_of(without_hook(plane))
        pool_id = create(quiet, policy=METERED)
        made = [quiet.reservations.create(pool_id, {"gpu": gpus}) for gpus in (1, 2, 3, 4)]
        bills.say, bills.asked = strange, []
        plane = replace(plane, service=replace(plane.service, stopwatch=lambda: passed[0]))
        with in_rhythm(plane, every=NEVER) as served:
            client = client_of(served)
            until(lambda: all(state(quiet, each) == "placed" for each in made))
            until(lambda: len(bills.asked) >= 4)
            served.service.placed(pool_id)
            free = client.reservations.create(create(client, "k2"), {"gpu": 1})
            until(lambda: state(client, free) == "active")
    assert sorted(asked.atoms for asked in bills.asked) == [1, 2, 3, 4]
    assert caplog.text.count("status 500") == 1


def test_what_billing_refuses_lets_what_waits_go_on_at_once(
    write: Write, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused when all that waits was tried in vain, and the next round is far away."""
    tried, go_on = threading.Event(), placer.Turns.go_on

    def noted(turns: placer.Turns) -> Counter[str]:
        done = go_on(turns)
        tried.set()
        return done

    bills = Bills()
    with opened(database_url, SYSTEM, write(ONE), outside=Outside(billing=bills)) as plane:
        quiet = client_of(without_hook(plane))
        pool_id = create(quiet, policy=METERED)
        first, second = (quiet.reservations.create(pool_id, {"gpu": 1}) for _ in range(2))
        assert (state(quiet, first), state(quiet, second)) == ("placed", "pending")
        bills.asked.clear()

        def no_and_yes(_: Spending) -> Verdict:
            assert tried.wait(20)
            return Verdict(len(bills.asked) > 1)

        bills.say = no_and_yes
        monkeypatch.setattr(placer.Turns, "go_on", noted)
        with in_rhythm(plane, every=NEVER):
            until(lambda: state(quiet, second) == "active")
        assert state(quiet, first) == "failed"


def without_hook(plane: ControlPlane) -> ControlPlane:
    """As a process that ends right after its commit."""
    return replace(
        plane, service=replace(plane.service, freed=lambda _: None, placed=lambda _: None, changed=lambda _: None)
    )
