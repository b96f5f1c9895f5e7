"""Many pages make one state, or none."""

from collections.abc import Callable
from typing import Any

import pytest

from better_compute.client import Client
from better_compute.domain.problems import ComputeError
from tests.better_compute.client.conftest import Server, Step, data, error

Connect = Callable[..., Client]


def pool(pool_id: str, version: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "id": pool_id,
        "ownerTenantId": "root",
        "siteId": "site_a",
        "class": "metal-host",
        "gpuModel": "H100",
        "sharing": "exclusive",
        "agent": "bcd",
        "policy": {},
        "version": version,
        "owned": True,
        "archived": False,
        "quotas": [],
        "offersVersion": 1,
        "ownerQuotaVersion": 1,
        "offers": [],
        "rollup": {"nodes": 0, "hostNodes": 0, "tenantOwnedNodes": 0, "models": {}, "gpus": 0, "atoms": {"total": 0}},
        **fields,
    }


def page(*items: Any, cursor: str | None = None, sequence: int = 7) -> Step:
    return data({"items": items, "nextCursor": cursor, "sequence": sequence})


def event(pool_id: str, sequence: int) -> dict[str, Any]:
    shared = {"type": "pool.updated", "tenantId": "root", "actorId": "a", "time": 0, "data": {}}
    return {"id": f"evt_{sequence}", "poolId": pool_id, "sequence": sequence, **shared}


def seen(client: Client, **filters: Any) -> tuple[dict[str, int], int]:
    states, sequence = client.pools.all(**filters)
    pools = [state.pool for state in states]
    return {pool.id: pool.version for pool in pools if pool}, sequence


def test_pages_are_read_to_the_end(server: Server, connect: Connect) -> None:
    server.script = [page(pool("a"), pool("b"), cursor="x"), page(pool("c")), page()]
    assert seen(connect(server.url)) == ({"a": 1, "b": 1, "c": 1}, 7)
    bodies = [r.body for r in server.received]
    asked = {"tenantId": "root", "limit": 1000, "owned": True, "include": ["offers", "rollup"]}
    assert bodies[:2] == [asked, {**asked, "cursor": "x"}]
    assert bodies[2]["after"] == 7
    assert bodies[2]["types"] == ["pool.*", "quota.*", "node.*"]


def test_a_page_that_ends_exactly_at_the_last_pool_is_the_last(server: Server, connect: Connect) -> None:
    server.script = [page(pool("a")), page()]
    assert seen(connect(server.url)) == ({"a": 1}, 7)


def test_a_second_page_that_fails_leaves_nothing(server: Server, connect: Connect) -> None:
    server.script = [page(pool("a"), cursor="x"), error(500, "INTERNAL_ERROR")]
    with pytest.raises(ComputeError) as caught:
        connect(server.url).pools.all()
    assert caught.value.code == "INTERNAL_ERROR"


def test_what_changed_between_the_pages_is_read_again_until_nothing_does(server: Server, connect: Connect) -> None:
    server.script = [
        page(pool("a"), pool("b"), cursor="x", sequence=7),
        page(pool("c"), sequence=9),
        page(event("a", 8), event("a", 9), event("d", 10), sequence=10),
        page(pool("a", 3), pool("d"), sequence=11),
        page(event("b", 12), sequence=12),
        page(pool("b", 2), sequence=12),
        page(sequence=12),
    ]
    assert seen(connect(server.url)) == ({"a": 3, "b": 2, "c": 1, "d": 1}, 12)
    assert [r.body.get("ids") for r in server.received] == [None, None, None, ["a", "d"], None, ["b"], None]
    assert [r.body.get("after") for r in server.received] == [None, None, 7, None, 11, None, 12]


def test_a_pool_that_the_filters_no_longer_let_through_is_dropped(server: Server, connect: Connect) -> None:
    server.script = [page(pool("a"), pool("b")), page(event("a", 8)), page(sequence=8), page(sequence=8)]
    assert seen(connect(server.url), archived=False) == ({"b": 1}, 8)
    assert server.received[2].body["archived"] is False


def test_a_state_that_never_rests_is_given_up(server: Server, connect: Connect) -> None:
    server.script = [page(pool("a"))] + [page(event("a", 8)), page(pool("a"))] * 30
    with pytest.raises(ComputeError, match="change faster than they can be read"):
        connect(server.url).pools.all()


def test_a_cursor_that_leads_back_is_given_up(server: Server, connect: Connect) -> None:
    server.script = [page(cursor="x"), page(cursor="y"), page(cursor="x"), error(500, "INTERNAL_ERROR")]
    with pytest.raises(ComputeError, match="does not come to the end of sites/list"):
        connect(server.url).sites.list()


def test_pages_without_end_and_without_an_item_are_given_up(server: Server, connect: Connect) -> None:
    server.script = [page(cursor=f"c{n}") for n in range(500)]
    with pytest.raises(ComputeError, match="does not come to the end of sites/list"):
        connect(server.url).sites.list()
    assert len(server.received) < 200
