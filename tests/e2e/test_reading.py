"""Live state is read whole or not at all: whatever is wrong with a list ends a command, and nothing is planned on it.

Over real HTTP, with a server that gives a few pools at a time. Each fault is found by the one check that is there for
it: without that check a plan is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import pytest

from better_compute.client import group, groups, walk
from better_compute.client.calls import Calls
from better_compute.client.peer import Peer
from better_compute.wire import decode
from better_compute.wire.views import EventView
from fleetctl import history, live
from fleetctl.session import opening
from tests.e2e.homes import Home, Ran, entry, pool_id, served
from tests.e2e.proxy import Exchange, Proxy, Rule

KEYS = [f"read-{n}" for n in range(9)]
GONE = KEYS[-1]
"""The key of a pool that left the files."""


@dataclass
class Site:
    home: Home
    proxy: Proxy
    pools: list[str]
    """Their ids, in the order in which they are listed."""

    def run(self, command: str, rule: Rule) -> Ran:
        self.proxy.reset(rule)
        return self.home.run(command, "--format", "json", *(("--yes",) if command == "apply" else ()))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nine pools; the files wish another offer of one and have let go of another, so that every list is read."""
    home = Home(tmp_path_factory.mktemp("reading"), keyPrefix="read-")
    home.wish(*(entry(key, {"acme": 1}) for key in KEYS))
    home.apply()
    home.wish(entry(KEYS[0], {"acme": 2}), *(entry(key, {"acme": 1}) for key in KEYS[1:-1]))
    with served(home) as (_, proxy):
        yield Site(home, proxy, sorted(map(pool_id, KEYS)))


@dataclass
class Answer:
    """That to one request of a list, on its way: what is in it, and who gave it."""

    exchange: Exchange
    data: dict[str, Any]
    headers: dict[str, str]

    def is_of(self, operation: str, *, names: str = "") -> bool:
        """Whether it is a list of `operation`, asked for with such a field."""
        return self.exchange.operation == operation and (not names or bool(self.exchange.body.get(names)))

    @property
    def is_later_page(self) -> bool:
        return self.is_of("pools/list", names="cursor")

    @property
    def is_latest(self) -> bool:
        return self.is_of("events/list", names="latest")


Fault = Callable[[Site, Answer], object]


def answered(site: Site, fault: Fault) -> Rule:
    """Lists three items at a time, with a fault in them."""

    def rule(exchange: Exchange) -> None:
        if not exchange.operation.endswith("/list"):
            exchange.pass_on()
            return
        exchange.body["limit"] = 3
        status, headers, body = exchange.forward()
        document = json.loads(body)
        named = {"X_Better_Compute_Instance": headers["x-better-compute-instance"]}
        fault(site, Answer(exchange, document["data"], named))
        exchange.answer(status, document, **named)

    return rule


def another(_: Site, answer: Answer) -> None:
    if answer.is_later_page:
        answer.headers["X_Better_Compute_Instance"] = "inst_another"


def nobody(_: Site, answer: Answer) -> None:
    if answer.is_later_page:
        answer.headers.clear()


def stays(_: Site, answer: Answer) -> None:
    if answer.is_later_page:
        answer.data.update(items=[], nextCursor=answer.exchange.body["cursor"])


def repeats(site: Site, answer: Answer) -> None:
    if answer.is_later_page:
        answer.data["items"][0]["id"] = site.pools[0]


def is_older(_: Site, answer: Answer) -> None:
    if answer.is_later_page:
        answer.data["sequence"] -= 1


def lags(_: Site, answer: Answer) -> None:
    if answer.is_of("events/list"):
        answer.data["sequence"] -= 1


NUMBERS = count()


def vanishes(site: Site, answer: Answer) -> None:
    """A pool changes between the pages, and is not there any more when it is read again."""
    if answer.is_later_page and answer.data["nextCursor"] is None:
        with site.home.hand() as client:
            client.call("pools/update", {"poolId": pool_id(GONE), "policy": {"number": next(NUMBERS)}})
    if answer.is_of("pools/list", names="ids"):
        answer.data["items"] = []


def stranger(_: Site, answer: Answer) -> None:
    if answer.is_later_page:
        answer.data["items"][0]["ownerTenantId"] = "acme"


def homeless(_: Site, answer: Answer) -> None:
    """The list of sites ends too early."""
    if answer.is_of("sites/list"):
        answer.data["items"] = [item for item in answer.data["items"] if item["id"] != "site_fra1"]


def forgets(_: Site, answer: Answer) -> None:
    if answer.is_latest:
        answer.data["items"] = []


def gossips(_: Site, answer: Answer) -> None:
    if answer.is_latest and answer.data["nextCursor"] is None:
        last = answer.data["items"][-1]
        answer.data["items"].append({**last, "poolId": "pool_of_somebody", "sequence": last["sequence"] + 1})


FAULTS: dict[str, tuple[Fault, str]] = {
    "another instance": (another, "another control plane answers behind the same URL: inst_another"),
    "no instance": (nobody, "another control plane answers behind the same URL: one that names itself nowhere"),
    "a cursor that stays": (stays, "does not come to the end of pools/list: its pages lead nowhere"),
    "a pool twice": (repeats, ", out of order"),
    "an older page": (is_older, "goes back: pools/list told of event"),
    "older events": (lags, "and then events/list told of event"),
    "a pool that vanishes": (vanishes, "and pools/list does not have it"),
    "a pool of another tenant": (stranger, "and those of root were asked for"),
    "a site that is not listed": (homeless, '"site_fra1", where pool_'),
    "a last event that is missing": (forgets, f"tells nothing of {pool_id(GONE)}, which is there"),
    "an event of another pool": (gossips, "it tells of pool_of_somebody, which was not asked for"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_list_that_is_not_whole_ends_a_plan(site: Site, fault: str) -> None:
    bend, says = FAULTS[fault]
    ran = site.run("plan", answered(site, bend))
    assert ran.code == 1, ran.said
    assert ran.report["kind"] == "error"
    assert says in ran.err


@pytest.mark.parametrize("fault", ["no instance", "a pool that vanishes", "a last event that is missing"])
@pytest.mark.parametrize("command", ["drift", "apply"])
def test_a_list_that_is_not_whole_ends_every_command(site: Site, command: str, fault: str) -> None:
    bend, says = FAULTS[fault]
    ran = site.run(command, answered(site, bend))
    assert (ran.code, ran.report["kind"], site.proxy.writes) == (1, "error", []), ran.said
    assert says in ran.err


def test_k037_what_is_whole_is_read_also_where_the_last_page_is_full(site: Site) -> None:
    ran = site.run("plan", answered(site, lambda *_: None))
    assert (ran.code, ran.operations) == (0, [f"offer {KEYS[0]} to acme"]), ran.said
    assert [bool(e.body.get("cursor")) for e in site.proxy.seen if e.operation == "pools/list"] == [False, True, True]


# Readers that take a part for the whole.


def naive(
    calls: Calls, operation: str, body: Mapping[str, Any], read: Callable[[bytes], decode.Listed[Any]]
) -> Iterator[decode.Listed[Any]]:
    """Pages up to one that has no other cursor."""
    cursor: str | None = None
    while True:
        page = calls.decoded(operation, {**body, **({"cursor": cursor} if cursor else {})}, read)
        yield page
        if page.next_cursor in (None, cursor):
            return
        cursor = page.next_cursor


def all_events(events: groups.Events, **body: Any) -> Any:
    return events._all("events/list", EventView, decode.event, poolIds=body.pop("pool_ids"), **body)


PAGES = [(walk, "pages", naive), (group, "pages", naive)]
UNCHECKED: dict[str, list[tuple[Any, str, Any]]] = {
    "another instance": [(Peer, "meet", lambda *_, **__: None)],
    "no instance": [(Peer, "meet", lambda *_, **__: None)],
    "a cursor that stays": PAGES,
    "a pool twice": PAGES,
    "an older page": PAGES,
    "older events": PAGES,
    "a pool that vanishes": [(walk, "_may_miss", lambda _: True)],
    "a pool of another tenant": [(walk, "_reader", lambda *_: decode.pool_state)],
    "a site that is not listed": [(live, "_check_sites", lambda _: None)],
    "a last event that is missing": [(opening, "_history", lambda client, _: partial(history.read, client))],
    "an event of another pool": [(groups.Events, "all", all_events)],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_reader_without_its_check_plans_on_it(site: Site, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, unchecked in UNCHECKED[fault]:
        monkeypatch.setattr(place, name, unchecked)
    bend, says = FAULTS[fault]
    ran = site.run("plan", answered(site, bend))
    assert (ran.report["kind"], says in ran.err) == ("plan", False), ran.said
