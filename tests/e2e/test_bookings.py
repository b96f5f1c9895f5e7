"""Ten thousand bookings of one quota row by fifty clients at once grant exactly what it allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from better_compute.bootstrap.tokens import new_token
from better_compute.domain.atoms import UNLIMITED
from tests.e2e.conftest import serving
from tests.e2e.quick import Quick
from tests.invariants import broken

GRANTED = 1_000
ASKED = 10_000
CLIENTS = 50
WORLD = """\
tenants: [{id: acme}]
sites: [{id: site_fra1, tenantId: root, kind: shared, region: eu}]
identities: [{id: sa_fleet, tenantId: root}, {id: sa_acme, tenantId: acme}]
machines:
  - {pool: big, count: 130, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 64}
  - {pool: big, count: 1, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 2147483647}
"""


@dataclass
class Crowd:
    """Clients of one or more servers of one database, which book in one pool."""

    database: str
    urls: list[str]
    token: str
    pool: str

    def book(self, wishes: list[dict[str, int]]) -> list[dict[str, Any]]:
        """What fifty clients are answered to as many bookings."""

        def client(share: tuple[int, list[dict[str, int]]]) -> list[dict[str, Any]]:
            number, mine = share
            url = self.urls[number % len(self.urls)]
            with Quick(url, 60) as http:
                return [self.ask(http, "reservations/create", resources=wish) for wish in mine]

        shares = [(number, wishes[number::CLIENTS]) for number in range(min(CLIENTS, len(wishes)))]
        with ThreadPoolExecutor(CLIENTS) as executor:
            return [answer for answers in executor.map(client, shares) for answer in answers]

    def ask(self, http: Quick, operation: str, **body: Any) -> dict[str, Any]:
        while True:
            status, answer = http.post(operation, self.token, {"tenantId": "acme", "poolId": self.pool, **body})
            assert status in (200, 409, 503), answer
            if status != 503:  # nothing was done
                found: dict[str, Any] = answer
                return found

    def rows(self) -> dict[str, tuple[int, int]]:
        with Quick(self.urls[0], 60) as http:
            items = self.ask(http, "quotas/list")["data"]["items"]
        return {row["resource"]: (row["max"], row["used"]) for row in items}

    def live(self) -> list[dict[str, Any]]:
        found, cursor = [], None
        with Quick(self.urls[0], 60) as http:
            while True:
                more: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
                page = self.ask(http, "reservations/list", states=["placed", "active"], limit=1000, **more)["data"]
                found += page["items"]
                if (cursor := page["nextCursor"]) is None:
                    return found


@pytest.fixture
def crowd(database_url: str, tmp_path: Path) -> Iterator[Crowd]:
    """One server on SQLite, two on PostgreSQL."""
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    with opened(database_url, SYSTEM, world) as plane, ExitStack() as stack:
        tokens = {name: new_token(plane, name) for name in ("sa_fleet", "sa_acme")}
        servers = 1 if database_url.startswith("sqlite") else 2
        urls = [stack.enter_context(serving(database_url)).url for _ in range(servers)]
        with Quick(urls[0], 60) as http:
            made = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "idempotencyKey": "big"}
            policy = {"overcommit": {"vcpu": 2}}
            _, pool = http.post("pools/create", tokens["sa_fleet"], {"tenantId": "root", **made, "policy": policy})
            pool_id = pool["data"]["id"]
            offer = {"tenantId": "root", "poolId": pool_id, "toTenantId": "acme"}
            quota = {"gpu": UNLIMITED, "vcpu": UNLIMITED}
            assert http.post("pools/offer", tokens["sa_fleet"], {**offer, "quota": quota})[0] == 200
        yield Crowd(database_url, urls, tokens["sa_acme"], pool_id)


def assert_exact(crowd: Crowd, answers: list[dict[str, Any]], resource: str, most: int, before: int = 0) -> None:
    """So many are granted as the row has room for, and replies, rows and reservations agree."""
    outcomes = Counter(a["data"]["state"] if "data" in a else a["error"]["code"] for a in answers)
    assert outcomes == {"placed": GRANTED, "LIMIT_EXCEEDED": len(answers) - GRANTED}
    assert {a["error"]["rule"] for a in answers if "error" in a} == {"quota.exact"}
    assert crowd.rows()[resource] == (most, most)
    placed = {a["data"]["id"] for a in answers if "data" in a}
    live = {r["id"]: r["resources"] for r in crowd.live()}
    assert placed <= live.keys()
    assert len(live) == GRANTED + before
    assert sum(r.get(resource, 0) for r in live.values()) == most
    with opened(crowd.database, SYSTEM) as plane:
        assert plane.store._database.read(broken) == []  # type: ignore[attr-defined]


def test_a_row_of_a_thousand_grants_a_thousand(crowd: Crowd, database_url: str) -> None:
    with opened(database_url, SYSTEM) as plane, Quick(crowd.urls[0], 60) as http:
        body = {"tenantId": "root", "poolId": crowd.pool, "toTenantId": "acme", "quota": {"gpu": GRANTED}}
        assert http.post("quotas/set", new_token(plane, "sa_fleet"), body)[0] == 200
    assert_exact(crowd, crowd.book([{"gpu": 1}] * ASKED), "gpu", GRANTED)


def test_so_does_the_largest_row_when_a_thousand_are_left_of_it(crowd: Crowd) -> None:
    [first] = crowd.book([{"gpu": 1, "vcpu": UNLIMITED - GRANTED}])
    assert first["data"]["state"] == "placed"
    assert_exact(crowd, crowd.book([{"gpu": 1, "vcpu": 1}] * (2 * GRANTED)), "vcpu", UNLIMITED, 1)
