"""Lists of what pools hold, offers and quota rows: what they show, and what a page of them costs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from better_compute.domain.ids import derive
from better_compute.service.pages import encode_cursor
from better_compute.service.ports import Tx
from tests.better_compute.plane import CARD, Plane, open_plane
from tests.better_compute.service.test_lists import KEYS, fleet, walk
from tests.builders import a_tenant


def test_offers_and_rows_are_those_of_their_pools(either: Plane) -> None:
    """Also an offer without rows, rows without an offer, and who owns some pools and is offered others."""
    ids = fleet(either)
    own = either.pool("sa_acme")
    either.ask("sa_acme", "pools/offer", poolId=own, toTenantId="globex", quota={})
    either.offer(ids[1], "acme", quota={})
    either.join(ids[3], *[CARD] * 3)
    either.book(ids[3], "sa_globex", gpu=3)
    either.ask("sa_fleet", "pools/unoffer", poolId=ids[3], toTenantId="globex")
    for who in ("sa_fleet", "sa_acme"):
        pools = [either.get(pool["id"], who) for page in walk(either, "pools/list", 3, who) for pool in page]
        offers = [offer for pool in pools for offer in pool.get("offers", [])]
        assert [o for page in walk(either, "pools/listOffers", 2, who) for o in page] == offers
        rows = [q for page in walk(either, "quotas/list", 2, who) for q in page]
        tenant_id = who.removeprefix("sa_").replace("fleet", "root")
        assert [q for q in rows if q["tenantId"] == tenant_id] == [q for pool in pools for q in pool["quotas"]]
        held = [q for pool in pools if pool["owned"] for o in pool["offers"] for q in o["quotas"]]
        assert [q for q in rows if q in held] == held
        left = {(q["poolId"], q["tenantId"], q["max"]) for q in rows if q not in held and q["tenantId"] != tenant_id}
        # An archived pool keeps the rows, at what is in use.
        frozen = {(ids[2], "acme", 0), (ids[2], "globex", 0), (ids[3], "globex", 3)}
        assert left == (frozen if who == "sa_fleet" else set())


@pytest.mark.parametrize("limit", [1, 3, 1000])
@pytest.mark.parametrize("who", ["sa_fleet", "sa_acme", "sa_globex"])
def test_rows_can_be_listed_of_a_pool_and_of_a_tenant(either: Plane, who: str, limit: int) -> None:
    ids = fleet(either)
    own = [either.pool("sa_acme", idempotencyKey=f"own{n}") for n in range(3)]
    either.ask("sa_acme", "pools/offer", poolId=own[0], toTenantId="globex", quota={"gpu": 1, "vcpu": 2})
    whole = either.ask(who, "quotas/list", limit=1000).data["items"]
    keys = [(q["poolId"], q["tenantId"], q["resource"]) for q in whole]
    assert keys == sorted(set(keys)) != []
    assert min(ids) < max(own), "those of acme are not behind those that it is offered"
    assert max(ids) > min(own)
    for pool_id in (*ids, *own, None):
        for tenant_id in ("acme", "globex", "root", "nobody", None):
            wanted = {n: v for n, v in {"poolId": pool_id, "tenantId": tenant_id}.items() if v}
            expected = [q for q in whole if wanted.items() <= q.items()]
            if pool_id and not any(q["poolId"] == pool_id for q in whole):
                assert either.ask(who, "quotas/list", poolId=pool_id).code == "NOT_FOUND"
                continue
            asked = {"poolId": pool_id, "toTenantId": tenant_id}
            pages = walk(either, "quotas/list", limit, who, **{n: v for n, v in asked.items() if v})
            assert [q for page in pages for q in page] == expected


@pytest.mark.parametrize("operation", ["pools/listOffers", "quotas/list"])
def test_a_cursor_in_another_pool_goes_on_behind_it(plane: Plane, operation: str) -> None:
    ids = fleet(plane)
    whole = plane.ask("sa_fleet", operation, poolId=ids[3]).data["items"]
    for other, expected in ((ids[0], whole), (ids[4], [])):
        cursor = encode_cursor(operation, [other, *"aa"][: len(KEYS[operation])])
        assert plane.ask("sa_fleet", operation, poolId=ids[3], cursor=cursor).data["items"] == expected


@pytest.fixture(scope="module")
def crowded(fresh_plane: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Plane]]:
    """Planes where one pool is offered to so many tenants, and to acme; tests only read them."""
    with ExitStack() as stack:
        planes = {}
        for number in (40, 400):
            path = shutil.copy(fresh_plane, tmp_path_factory.mktemp("crowded"))
            planes[number] = plane = open_plane(f"sqlite:///{path}")
            stack.callback(plane.store.close)
            names = [f"t{n:03}" for n in range(number)]
            plane.store.transact(partial(add_tenants, names))
            pool_id = plane.pool(idempotencyKey="crowded")
            for name in ("acme", *names):
                plane.offer(pool_id, name)
        yield planes


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("who", ["sa_fleet", "sa_acme"])
@pytest.mark.parametrize("operation", ["pools/listOffers", "quotas/list"])
def test_a_page_costs_what_it_holds(
    crowded: dict[int, Plane], operation: str, who: str, one: bool, begun: bool
) -> None:
    """However many tenants a pool is offered to."""
    pool_id = derive("pool", "root", "sa_fleet", "crowded")
    body = {"poolId": pool_id} if one and not (who == "sa_acme" and operation == "pools/listOffers") else {}
    if begun:
        body["cursor"] = encode_cursor(operation, (pool_id, "t020", "gpu")[: len(KEYS[operation])])

    def steps(plane: Plane) -> int:
        with stepped() as taken:
            plane.ask(who, operation, {**body, "limit": 10})
        return len(taken)

    few = steps(crowded[40])
    assert 0 < steps(crowded[400]) < few * 1.2


def add_tenants(names: Sequence[str], tx: Tx) -> None:
    for name in names:
        tx.add_tenant(a_tenant(name))


@contextmanager
def stepped() -> Iterator[list[None]]:
    """An item for every ten steps of SQLite's machine in the block."""
    taken: list[None] = []
    used: set[Any] = set()

    def watch(_connection: Any, cursor: Any, *_: Any) -> None:
        used.add(cursor.connection)
        cursor.connection.set_progress_handler(lambda: taken.append(None), 10)

    event.listen(Engine, "before_cursor_execute", watch)
    try:
        yield taken
    finally:
        event.remove(Engine, "before_cursor_execute", watch)
        for connection in used:
            connection.set_progress_handler(None, 10)
