"""Kind g: limits that hold whoever books at the same time, and requests that are granted whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from better_compute.client import Client
from better_compute.domain.problems import ComputeError
from tests.better_compute.plane import CARD
from tests.e2e.conftest import WORLD, serving
from tests.e2e.homes import H100, Home, entry, pool_id

BOOKED = {"placed", "active"}


@contextmanager
def clients(database: str, directory: Path) -> Iterator[tuple[Client, Client]]:
    """Root's and acme's, at a server of their own."""
    world = directory / "world.yaml"
    world.write_text(WORLD)
    with (
        serving(database, "--world", str(world)) as server,
        server.connect() as root,
        server.connect("sa_acme", "acme") as acme,
    ):
        yield root.client, acme.client


def a_pool(root: Client, hosts: int, limit: int) -> str:
    """A pool with hosts of eight GPUs, of which acme may book so many."""
    pool: str = root.call("pools/create", H100)["id"]
    for _ in range(hosts):
        token = root.nodes.create_join_token(pool).join_token
        root.nodes.join(pool, join_token=token, inventory={"gpus": [CARD] * 8, "vcpu": 64})
    root.call("pools/offer", {"poolId": pool, "toTenantId": "acme", "quota": {"gpu": limit}})
    return pool


def outcome(call: Any) -> str:
    """The state of what was reserved, or the code of the refusal."""
    try:
        found = call()
        return "booked" if getattr(found, "state", "") in BOOKED else str(getattr(found, "state", "done"))
    except ComputeError as error:
        return error.code


def used(root: Client, pool: str) -> int:
    return sum(row.used for row in root.quotas.list(pool, "acme"))


def held(acme: Client, pool: str) -> int:
    return sum(r.resources["gpu"] for r in acme.reservations.list(pool) if r.state in BOOKED)


def test_k062_nothing_new_fits_below_what_is_in_use_until_enough_has_ended(home: Home) -> None:
    home.wish(entry("racked", {"acme": 32}))
    home.apply()
    pool = pool_id("racked")
    with home.hand("sa_acme", "acme") as acme:
        made = [acme.reservations.create(pool, {"gpu": 5}).id for _ in range(4)]
    home.wish(entry("racked", {"acme": 8}))
    planned = home.plan(code=3)
    assert [f["rule"] for f in planned.report["findings"] if f["severity"] == "error"] == ["guard.belowUse"]
    [operation] = planned.report["operations"]
    assert "gpu: 8 is below the 20 in use; bookings stay, nothing new fits" in operation["effects"]
    assert "8 is below the 20 in use" in home.run("plan").out
    home.apply("--allow", "belowUse=1", "--reason", "test")
    assert home.is_settled()
    with home.hand("sa_acme", "acme") as acme:
        assert [(r.max, r.used, r.available) for r in acme.quotas.list(pool)] == [(8, 20, 0)]
        assert {r.state for r in acme.reservations.list(pool)} <= BOOKED
        told = []
        for reservation_id in made:
            told.append(outcome(lambda: acme.reservations.create(pool, {"gpu": 1})))
            acme.reservations.end(reservation_id)
        assert told == ["LIMIT_EXCEEDED", "LIMIT_EXCEEDED", "LIMIT_EXCEEDED", "booked"]
    assert home.is_settled()


def test_k067_of_two_that_do_not_both_fit_one_is_granted(database_url: str, tmp_path: Path) -> None:
    with clients(database_url, tmp_path) as (root, acme):
        pools = [a_pool(root, hosts=2, limit=8) for _ in range(5)]
        calls = [lambda p=p: acme.reservations.create(p, {"gpu": 5}) for p in pools for _ in range(2)]
        for _ in range(10):
            with ThreadPoolExecutor(10) as threads:
                outcomes = list(threads.map(outcome, calls))
            pairs = [sorted(outcomes[n : n + 2]) for n in range(0, 10, 2)]
            assert pairs == [["LIMIT_EXCEEDED", "booked"]] * 5
            assert {used(root, pool) for pool in pools} == {held(acme, pool) for pool in pools} == {5}
            for reservation in acme.reservations.list(states=["placed", "active"]):
                acme.reservations.end(reservation.id)


def test_k067_a_booking_beside_a_cut_of_its_quota_is_before_or_after_it(database_url: str, tmp_path: Path) -> None:
    with clients(database_url, tmp_path) as (root, acme):
        pool = a_pool(root, hosts=2, limit=8)
        cut = {"poolId": pool, "toTenantId": "acme", "quota": {"gpu": 3}}
        for _ in range(10):
            root.call("quotas/set", {**cut, "quota": {"gpu": 8}})
            calls = [lambda: acme.reservations.create(pool, {"gpu": 5}), lambda: root.call("quotas/set", cut)]
            with ThreadPoolExecutor(2) as threads:
                booked, done = threads.map(outcome, calls)
            assert done == "done"
            assert booked in ("booked", "LIMIT_EXCEEDED")
            assert used(root, pool) == held(acme, pool) == (5 if booked == "booked" else 0)
            assert outcome(lambda: acme.reservations.create(pool, {"gpu": 4})) == "LIMIT_EXCEEDED"
            for reservation in acme.reservations.list(pool, ["placed", "active"]):
                acme.reservations.end(reservation.id)


@pytest.mark.parametrize(("asks", "granted"), [([16], 0), ([8, 8], 1), ([1] * 16, 8)], ids=["one", "two", "sixteen"])
def test_k070_of_what_is_asked_for_as_much_is_granted_as_fits(
    database_url: str, tmp_path: Path, asks: list[int], granted: int
) -> None:
    """32 may be booked and 24 are: of 16 more, in whatever pieces, each is granted whole or refused whole."""
    with clients(database_url, tmp_path) as (root, acme):
        pool = a_pool(root, hosts=6, limit=32)
        for _ in range(3):
            assert outcome(lambda: acme.reservations.create(pool, {"gpu": 8})) == "booked"
        calls = [lambda n=n: acme.reservations.create(pool, {"gpu": n}) for n in asks]
        with ThreadPoolExecutor(16) as threads:
            outcomes = Counter(threads.map(outcome, calls))
        assert outcomes["booked"] == granted
        assert outcomes["LIMIT_EXCEEDED"] == len(asks) - granted
        expected = 24 + granted * asks[0]
        assert used(root, pool) == held(acme, pool) == expected
        assert len(acme.reservations.list(pool)) == 3 + granted
        assert outcome(lambda: acme.reservations.create(pool, {"gpu": 33 - expected})) == "LIMIT_EXCEEDED"
