"""Many pages make one state, or none."""

import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from better_compute.client import Client
from better_compute.domain.problems import ComputeError
from tests.better_compute.client.conftest import Server, Step, data, error, pool

Connect = Callable[..., Client]


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
    changes = [[page(event("a", n), sequence=n), page(pool("a"), sequence=n)] for n in range(8, 48)]
    server.script = [page(pool("a")), *chain.from_iterable(changes)]
    with pytest.raises(ComputeError, match="change faster than they can be read"):
        connect(server.url).pools.all()


@pytest.mark.parametrize(("first", "again"), [(0, 0), (7, 7), (7, 0)])
def test_a_sequence_that_stays_behind_the_events_is_told_as_such(
    server: Server, connect: Connect, first: int, again: int
) -> None:
    changed = page(event("a", 8), event("a", 9), sequence=9)
    server.script = [page(pool("a"), sequence=first), changed, page(pool("a"), sequence=again)]
    says = f"{server.url} goes back: events/list told of event 9, and then pools/list of {again} as the last one"
    assert strange(lambda: connect(server.url).pools.all()) == says
    assert len(server.received) == 3


@pytest.mark.parametrize("sequence", [-5, 2**53, 2**62, 10**400, "7", None, 1.5, True], ids=lambda n: str(n)[:20])
def test_a_broken_sequence_is_the_servers_fault(server: Server, connect: Connect, sequence: Any) -> None:
    broken = page(sequence=sequence)
    reads: dict[str, tuple[list[Step], Callable[[Client], object]]] = {
        "pools/list": ([broken], lambda client: client.pools.all()),
        "events/list": ([page(), broken], lambda client: client.pools.all()),
        "sites/list": ([broken], lambda client: client.sites.list()),
    }
    for name, (script, read) in reads.items():
        server.script = script
        said = strange(lambda read=read: read(connect(server.url)))  # type: ignore[misc]
        assert said.startswith(f"the answer of {server.url} to {name} is not understood: Expected `int`")
        assert said.endswith("at `$.data.sequence`")
        assert len(said) < 300


def test_pages_that_are_the_same_for_ever_are_given_up(server: Server, connect: Connect) -> None:
    for items in ([pool("a"), pool("b")], [pool("b")]):
        server.received.clear()
        server.script = [page(*items, cursor=f"c{n}") for n in range(50)]
        said = strange(lambda: connect(server.url).pools.all())
        assert said.startswith(f"the answer of {server.url} to pools/list is not understood: ")
        assert said.endswith(f"{items[0]['id']} stands after b, out of order")
        assert len(server.received) == 2


SITE = {"tenantId": "root", "name": "n", "kind": "shared", "region": "r"}
OFFER = {"priority": 0, "includeDescendants": False, "version": 1, "quotas": []}
ROW = {"max": 1, "used": 0, "available": 1}


def named(shared: dict[str, Any], *ids: str) -> list[dict[str, Any]]:
    return [{"id": name, **shared} for name in ids]


def offers(*ids: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"poolId": pool_id, "toTenantId": tenant_id, **OFFER} for pool_id, tenant_id in ids]


def rows(*ids: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [{"poolId": p, "tenantId": t, "resource": r, **ROW} for p, t, r in ids]


@pytest.mark.parametrize(
    ("read", "first", "second", "says"),
    [
        (lambda c: c.sites.list(), named(SITE, "a", "b"), named(SITE, "b"), "sites/list .*: b stands after b"),
        (lambda c: c.sites.list(), named(SITE, "b"), named(SITE, "a"), "sites/list .*: a stands after b"),
        (lambda c: c.sites.list(), named(SITE, "a", "c", "b"), [], "sites/list .*: b stands after c"),
        (
            lambda c: c.pools.list_offers(),
            offers(("a", "t2"), ("b", "t1")),
            offers(("b", "t1")),
            "pools/listOffers .*: b/t1 stands after b/t1",
        ),
        (
            lambda c: c.quotas.list(),
            rows(("a", "t", "gpu"), ("a", "t", "vcpu"), ("b", "a", "gpu")),
            rows(("a", "t", "vcpu")),
            "quotas/list .*: a/t/vcpu stands after b/a/gpu",
        ),
        (lambda c: c.events.all(), [event("b", 8), event("a", 9)], [event("a", 9)], "events/list .*: 9 stands after 9"),
        (lambda c: c.events.all(after=8), [event("b", 8)], [], "events/list .*: 8 stands after 8"),
        (lambda c: c.events.all(), [event("b", -1)], [], "events/list .*: -1 stands after 0"),
    ],
)
def test_every_list_is_read_in_its_order(
    server: Server, connect: Connect, read: Callable[[Client], object], first: Any, second: Any, says: str
) -> None:
    server.script = [page(*first, cursor="x"), page(*second)]
    assert re.search(f"{says}, out of order$", strange(lambda: read(connect(server.url))))


def test_pools_that_were_not_asked_for_are_not_taken(server: Server, connect: Connect) -> None:
    server.script = [page(pool("a")), page(event("a", 8), sequence=8), page(pool("a"), pool("z"), sequence=8)]
    says = "it tells of z, which was not asked for"
    assert strange(lambda: connect(server.url).pools.all()).endswith(f"pools/list is not understood: {says}")


def strange(read: Callable[[], object]) -> str:
    """What is told of a server that answers as no control plane does."""
    with pytest.raises(ComputeError) as caught:
        read()
    problem = caught.value.problems[0]
    assert (problem.code, problem.rule) == ("UNAVAILABLE", "client.answer")
    return problem.message


def test_a_cursor_that_leads_back_is_given_up(server: Server, connect: Connect) -> None:
    server.script = [page(cursor="x"), page(cursor="y")] * 100
    assert "does not come to the end of sites/list" in strange(lambda: connect(server.url).sites.list())


def test_pages_without_end_and_without_an_item_are_given_up(server: Server, connect: Connect) -> None:
    server.script = [page(cursor=f"c{n}") for n in range(500)]
    with pytest.raises(ComputeError, match="does not come to the end of sites/list"):
        connect(server.url).sites.list()
    assert len(server.received) < 200
