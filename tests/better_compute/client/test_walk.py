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
    after = f"pools/list told of event {again} as the last one"
    says = f"{server.url} goes back: events/list told of event 9, and then {after}"
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


def test_events_of_pools_that_were_not_asked_for_are_not_taken(server: Server, connect: Connect) -> None:
    server.script = [page(event("a", 8), event("z", 9))]
    for latest in (False, True):
        said = strange(lambda latest=latest: connect(server.url).events.all(pool_ids=["a", "b"], latest=latest))  # type: ignore[misc]
        assert said.endswith("events/list is not understood: it tells of z, which was not asked for")


def test_a_pool_of_another_tenant_is_none_that_was_asked_for(server: Server, connect: Connect) -> None:
    theirs = pool("b", ownerTenantId="acme")
    says = "pools/list is not understood: it tells of b of acme, and those of root were asked for"
    for script in ([page(pool("a"), theirs)], [page(pool("a")), page(event("b", 8)), page(theirs, sequence=8)]):
        server.script = list(script)
        assert strange(lambda: connect(server.url).pools.all()).endswith(says)
    server.script = [page(pool("a"), theirs), page()]
    assert seen(connect(server.url), owned=None) == ({"a": 1, "b": 1}, 7)


@pytest.mark.parametrize("filters", [{}, {"owned": None}])
@pytest.mark.parametrize(("lost", "more"), [("ab", " and 1 more"), ("b", "")])
def test_a_pool_that_has_an_event_is_there(
    server: Server, connect: Connect, filters: dict[str, Any], lost: str, more: str
) -> None:
    """Also one that no page had: it may be new."""
    there = [pool(name) for name in "ab" if name not in lost]
    server.script = [page(pool("a")), page(event("a", 8), event("b", 9)), page(*there, sequence=9), page(sequence=9)]
    says = f"{server.url} told of events of {lost[0]}{more}, and pools/list does not have it"
    assert strange(lambda: connect(server.url).pools.all(**filters)) == says


@pytest.mark.parametrize("filters", [{"archived": False}, {"archived": True}, {"owned": False}])
def test_a_pool_that_has_an_event_may_be_one_that_the_filters_do_not_let_through(
    server: Server, connect: Connect, filters: dict[str, Any]
) -> None:
    server.script = [page(), page(event("a", 8)), page(sequence=8), page(sequence=8)]
    assert seen(connect(server.url), **filters) == ({}, 8)


OLDER: dict[str, tuple[list[Step], Callable[[Client], object], str]] = {
    "a page than the one before": (
        [page(pool("a"), cursor="x", sequence=9), page(pool("b"), sequence=7)],
        lambda client: client.pools.all(),
        "pools/list told of event 9, and then pools/list told of event 7 as the last one",
    ),
    "events than the pools": (
        [page(pool("a"), sequence=9), page(sequence=8)],
        lambda client: client.pools.all(),
        "pools/list told of event 9, and then events/list told of event 8 as the last one",
    ),
    "a later list": (
        [page(pool("a"), sequence=9), page(sequence=9), page(sequence=8)],
        lambda client: (client.pools.all(), client.sites.list()),
        "pools/list told of event 9, and then sites/list told of event 8 as the last one",
    ),
    "last events than events": (
        [page(event("a", 12), sequence=7), page(event("a", 11), sequence=11)],
        lambda client: (client.events.all(), client.events.all(pool_ids=["a"], latest=True)),
        "events/list told of event 12, and then events/list told of event 11 as the last one",
    ),
}


@pytest.mark.parametrize("which", OLDER)
def test_what_is_older_than_what_was_told_is_not_taken(server: Server, connect: Connect, which: str) -> None:
    """A copy of the database that lags behind answers: it lacks what nobody would read again."""
    script, read, says = OLDER[which]
    server.script = list(script)
    assert strange(lambda: read(connect(server.url))) == f"{server.url} goes back: {says}"


def test_what_one_tenant_was_told_is_nothing_about_another(server: Server, connect: Connect) -> None:
    server.script = [page(sequence=9), page(sequence=3), page(sequence=8)]
    client = connect(server.url)
    client.sites.list()
    client.acting_as("acme").sites.list()
    assert "goes back" in strange(lambda: client.sites.list())


def strange(read: Callable[[], object]) -> str:
    """What is told of a server that answers as no control plane does."""
    with pytest.raises(ComputeError) as caught:
        read()
    problem = caught.value.problems[0]
    assert (problem.code, problem.rule) == ("UNAVAILABLE", "client.answer")
    return problem.message


@pytest.mark.parametrize("cursors", ["xx", "xyx", "xyzy"])
@pytest.mark.parametrize("filled", [False, True], ids=["empty", "in order"])
def test_a_cursor_that_leads_back_is_given_up_at_once(
    server: Server, connect: Connect, cursors: str, filled: bool
) -> None:
    items = [named(SITE, f"site_{n}") if filled else [] for n in range(9)]
    server.script = [page(*some, cursor=cursor) for some, cursor in zip(items, cursors * 2, strict=False)]
    assert "does not come to the end of sites/list" in strange(lambda: connect(server.url).sites.list())
    assert len(server.received) == len(cursors)


def test_pages_without_end_and_without_an_item_are_given_up(server: Server, connect: Connect) -> None:
    server.script = [page(cursor=f"c{n}") for n in range(500)]
    with pytest.raises(ComputeError, match="does not come to the end of sites/list"):
        connect(server.url).sites.list()
    assert len(server.received) < 200
