"""An apply over a bad network and beside others: answers lost, servers busy or gone, runs interrupted, two at once."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Server
from tests.e2e.homes import Home, entry, pool_id, served
from tests.e2e.proxy import Exchange, Proxy, Rule, once_each

ALLOWED = ("--allow", "archives=1", "--reason", "test")


@dataclass
class Site:
    """A server, and a fleet of the test's own in it: keys begin with `prefix`."""

    home: Home
    server: Server
    proxy: Proxy
    prefix: str = ""
    fleets: int = 0

    def wish(self, *pools: dict[str, Any]) -> None:
        self.home.wish(*pools, fleet=self.prefix.strip("-"), keyPrefix=self.prefix)

    def key(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def one_of_each(self) -> None:
        """Files that ask for one operation of every kind."""
        a, b, c = map(self.key, "abc")
        self.wish(entry(a, {"acme": 8, "globex": 8}), entry(b, {"acme": 8}))
        self.home.apply()
        self.wish(
            entry(a, {"acme": 9}, policy={"maxPending": "6h"}, ownerQuota={"gpu": 64}),
            {"idempotencyKey": b, "archived": True},
            entry(c, []),
        )

    def events(self, after: int) -> Counter[str]:
        """How often each kind of change to this fleet's pools happened."""
        ids = [pool_id(self.key(name)) for name in "abc"]
        with self.home.hand() as client:
            return Counter(event.type for event in client.events.all(after=after, pool_ids=ids))


ONE_OF_EACH = {
    "pool.created": 1,
    "pool.updated": 1,
    "pool.offered": 1,
    "pool.unoffered": 1,
    "quota.updated": 1,
    "pool.archived": 1,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Home(tmp_path_factory.mktemp("network"))
    with served(home) as (server, proxy):
        yield Site(home, server, proxy)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process nobody waits between attempts, unless a server asked for it."""
    monkeypatch.setattr("better_compute.client.retry.Retry.backoff", lambda *_: 0.01)


@pytest.fixture
def site(shared: Site) -> Site:
    shared.fleets += 1
    shared.prefix = f"fleet-{shared.fleets}-"
    shared.proxy.reset()
    return shared


def became(report: dict[str, Any]) -> dict[str, int]:
    """How many operations there were, and what became of them."""
    return {name: report["summary"][name] for name in ("operations", "done", "failed", "blocked", "notStarted")}


def check_done_once(site: Site, rule: Rule) -> dict[str, Any]:
    """Under `rule` the apply reports everything done, and everything was done once."""
    site.one_of_each()
    before = site.home.plan(*ALLOWED).report["sequence"]
    site.proxy.reset(rule)
    report: dict[str, Any] = site.home.apply(*ALLOWED).report
    assert became(report) == {"operations": 6, "done": 6, "failed": 0, "blocked": 0, "notStarted": 0}
    assert site.events(before) == ONE_OF_EACH
    site.proxy.reset()
    assert site.home.is_settled()
    return report


# Answers that do not come.


def test_a_lost_answer_is_found_done(site: Site) -> None:
    report = check_done_once(site, once_each(Exchange.lose))
    assert [o["attempts"] for o in report["done"]] == [2] * 6
    assert {o["action"] for o in report["done"] if o["found"]} == {"offer", "update", "setQuota", "unoffer"}


def test_a_retry_carries_the_same_key_and_precondition(site: Site) -> None:
    check_done_once(site, once_each(Exchange.lose))
    by_operation: dict[str, list[Exchange]] = {}
    for exchange in site.proxy.writes:
        by_operation.setdefault(exchange.operation, []).append(exchange)
    for exchanges in by_operation.values():
        assert len({json.dumps(exchange.body, sort_keys=True) for exchange in exchanges}) == 1
        assert len({exchange.headers["x-better-compute-change"] for exchange in exchanges}) == 1


def test_k035_a_create_whose_answers_are_lost_makes_one_pool(site: Site) -> None:
    def rule(exchange: Exchange) -> None:
        lose = exchange.operation == "pools/create" and exchange.write is not None and exchange.write < 4
        (Exchange.lose if lose else Exchange.pass_on)(exchange)

    site.wish(entry(site.key("a"), []))
    site.proxy.reset(rule)
    report = site.home.apply().report
    assert [(o["action"], o["attempts"], o["found"]) for o in report["done"]] == [("create", 4, False)]
    assert {e.body["idempotencyKey"] for e in site.proxy.writes} == {site.key("a")}
    assert site.events(0) == {"pool.created": 1}


def test_a_request_that_did_not_arrive_is_made_again(site: Site) -> None:
    check_done_once(site, once_each(Exchange.drop))


def test_an_apply_that_takes_lost_answers_for_failures_breaks_the_law(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: what a lost answer left done is not looked at."""
    monkeypatch.setattr("fleetctl.apply.answers.is_as_wished", lambda *_: False)
    with pytest.raises(AssertionError, match=r"(?s)it ends with 5: .*VERSION_CONFLICT"):
        check_done_once(site, once_each(Exchange.lose))


# Servers that are busy, or answer nonsense.


def busy(**headers: str) -> Rule:
    return lambda exchange: exchange.refuse(503, "UNAVAILABLE", **headers)


def test_a_busy_server_is_asked_again_when_it_said(site: Site) -> None:
    times: dict[str, list[float]] = {}

    def rule(exchange: Exchange) -> None:
        times.setdefault(exchange.operation, []).append(time.monotonic())
        (busy(Retry_After="1") if len(times[exchange.operation]) == 1 else Exchange.pass_on)(exchange)

    site.wish(entry(site.key("a"), []))
    site.proxy.reset(lambda exchange: rule(exchange) if exchange.write else exchange.pass_on())
    report = site.home.apply().report
    assert report["done"][0]["attempts"] == 2
    first, second = times["pools/create"]
    assert 1 <= second - first < 10


@pytest.mark.parametrize(
    "value", ["-1", "0", "abc", "", "1.5", "Thu, 01 Jan 1998 00:00:00 GMT", formatdate(0, usegmt=True)]
)
def test_k039_an_odd_retry_after_neither_fails_nor_blocks(site: Site, value: str) -> None:
    site.wish(entry(site.key("a"), []))
    site.proxy.reset(once_each(busy(Retry_After=value)))
    started = time.monotonic()
    assert site.home.apply().report["done"][0]["attempts"] == 2
    assert time.monotonic() - started < 10


def test_k039_a_wait_of_a_day_is_given_up(site: Site) -> None:
    site.wish(entry(site.key("a"), []))
    site.proxy.reset(once_each(busy(Retry_After="86400")))
    report = site.home.apply(code=1).report
    assert "the server asks to wait 86400 s" in report["failed"][0]["problem"]["message"]


def test_a_server_that_answers_with_something_else_did_not_do_it(site: Site) -> None:
    """K044: the pool of the key is there already, and otherwise."""

    def rule(exchange: Exchange) -> None:
        if exchange.write:
            exchange.body["gpuModel"] = "H200"
        exchange.pass_on()

    site.wish(entry(site.key("a"), {"acme": 8}))
    site.proxy.reset(rule)
    report = site.home.apply(code=1).report
    assert report["done"] == []
    assert "gpuModel H200, not H100" in report["failed"][0]["problem"]["message"]
    assert report["blocked"][0]["waitsFor"] == [report["failed"][0]["n"]]


# Servers that are gone, and operations that fail.


def test_a_server_that_goes_away_leaves_a_report_of_what_was_done(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("fra1-a", {"acme": 8, "globex": 8}))
    with served(home) as (server, proxy):

        def rule(exchange: Exchange) -> None:
            if exchange.write == 2:
                server.process.kill()
                server.process.wait()
            exchange.pass_on()

        proxy.reset(rule)
        report = home.apply(code=5).report
        assert [o["action"] for o in report["done"]] == ["create"]
        assert [(o["action"], o["problem"]["code"]) for o in report["failed"]] == [("offer", "UNAVAILABLE")] * 2
        # The first that gives up sees that the server is gone, and then no other asks again.
        assert max(o["attempts"] for o in report["failed"]) == 5
    home.target, home.environ = (), {}
    assert len(home.apply().report["done"]) == 2
    assert home.is_settled()


def test_a_server_that_is_gone_before_the_first_write_is_an_error(site: Site) -> None:
    site.wish(entry(site.key("a"), {"acme": 8}))
    site.proxy.reset(lambda e: e.refuse(500, "INTERNAL_ERROR") if e.write else e.pass_on())
    report = site.home.apply(code=1).report
    assert [o["action"] for o in report["failed"]] == ["create"]
    assert [o["action"] for o in report["blocked"]] == ["offer"]


def test_a_failed_operation_blocks_what_waits_for_it_and_nothing_else(site: Site) -> None:
    """K056: the new half of a move fails, so the old pool is left alone; everything else goes on."""
    old, new, other = site.key("a"), site.key("b"), site.key("c")
    site.wish(entry(old, {"acme": 8}))
    site.home.apply()
    site.wish({"idempotencyKey": old, "archived": True}, entry(new, {"acme": 8}), entry(other, {"globex": 8}))
    site.proxy.reset(lambda e: e.refuse(409, "INVALID_STATE") if e.body.get("toTenantId") == "acme" else e.pass_on())
    report = site.home.apply(*ALLOWED, code=5).report
    assert {(o["action"], o["key"]) for o in report["done"]} == {("create", new), ("create", other), ("offer", other)}
    assert [(o["action"], o["key"]) for o in report["failed"]] == [("offer", new)]
    assert [(o["action"], o["key"]) for o in report["blocked"]] == [("archive", old)]
    site.proxy.reset()
    assert len(site.home.apply(*ALLOWED).report["done"]) == 2


def test_k042_what_is_gone_already_is_done(site: Site) -> None:
    """Somebody was quicker than the second operation; the others go on."""
    site.one_of_each()

    def rule(exchange: Exchange) -> None:
        if exchange.operation == "pools/unoffer":
            with site.home.hand() as client:
                client.call("pools/unoffer", {"poolId": pool_id(site.key("a")), "toTenantId": "globex"})
        exchange.pass_on()

    site.proxy.reset(rule)
    report = site.home.apply(*ALLOWED).report
    assert [o["action"] for o in report["done"] if o["found"]] == ["unoffer"]
    assert report["summary"]["done"] == 6


@pytest.mark.parametrize("change", ["update", "offer"])
def test_a_change_of_the_same_moment_is_kept_and_reported(site: Site, change: str) -> None:
    """Judged again at the moment of the write: somebody else's change is not written over."""
    bodies = {
        "update": {"poolId": pool_id(site.key("a")), "policy": {"maxPending": "7d"}},
        "offer": {"poolId": pool_id(site.key("a")), "toTenantId": "acme", "quota": {"gpu": 1}},
    }
    site.one_of_each()

    def rule(exchange: Exchange) -> None:
        if exchange.operation == f"pools/{change}":
            with site.home.hand() as client:
                client.call(f"pools/{change}", bodies[change])
        exchange.pass_on()

    site.proxy.reset(rule)
    report = site.home.apply(*ALLOWED, code=5).report
    assert [(o["action"], o["problem"]["code"]) for o in report["failed"]] == [(change, "VERSION_CONFLICT")]
    with site.home.hand() as client:
        state = client.pools.get(pool_id(site.key("a")))
    if change == "update":
        assert state.pool is not None
        assert state.pool.policy == {"maxPending": "7d"}
    else:
        assert state.limits("acme") == {"gpu": 1}


# Two at once.


def apply_both(site: Site, one: list[dict[str, Any]], other: list[dict[str, Any]], tmp_path: Path) -> list[Any]:
    """Two processes that have both planned before either writes; how each ended, the winner first."""
    both, lock = threading.Barrier(2, timeout=30), threading.Lock()
    seen: set[str] = set()

    def rule(exchange: Exchange) -> None:
        if exchange.write:
            run = json.loads(exchange.headers["x-better-compute-change"])["digest"]
            with lock:
                first = run not in seen
                seen.add(run)
            if first:
                both.wait()
        exchange.pass_on()

    site.proxy.reset(rule)
    processes = []
    for number, pools in enumerate((one, other)):
        site.home.directory = tmp_path / f"{number}"
        site.home.directory.mkdir()
        site.wish(*pools)
        processes.append(site.home.start("apply", "--yes", "--format", "json", "--parallelism", "1"))
    ended = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        ended.append((process.returncode, json.loads(out)))
    return sorted(ended, key=lambda end: end[0])


def test_k032_two_applies_at_once_make_one_pool_and_mix_nothing(site: Site, tmp_path: Path) -> None:
    before, key = site.home.directory, site.key("a")
    one = [entry(key, [], policy={"maxPending": "12h"})]
    other = [entry(key, [], policy={"maxPending": "6h", "overcommit": 2})]
    (won, first), (lost, second) = apply_both(site, one, other, tmp_path)
    assert (won, lost) == (0, 1)
    assert first["done"][0]["poolId"] == second["failed"][0]["poolId"]
    assert second["failed"][0]["problem"]["code"] == "CONFLICT"
    assert site.events(0) == {"pool.created": 1}
    with site.home.hand() as client:
        state = client.pools.get(pool_id(key))
    assert state.pool is not None
    assert state.pool.policy in (one[0]["policy"], other[0]["policy"])
    site.home.directory = before


def test_k032_the_later_of_two_updates_fails_on_its_version(site: Site, tmp_path: Path) -> None:
    before, key = site.home.directory, site.key("a")
    site.wish(entry(key, [], policy={"maxPending": "7d"}))
    site.home.apply()
    one = [entry(key, [], policy={"maxPending": "12h"})]
    other = [entry(key, [], policy={"maxPending": "6h", "overcommit": 2})]
    (won, _), (lost, second) = apply_both(site, one, other, tmp_path)
    assert (won, lost) == (0, 1)
    assert second["failed"][0]["problem"]["code"] == "VERSION_CONFLICT"
    assert site.events(0) == {"pool.created": 1, "pool.updated": 1}
    site.home.directory = before


# Signals.


@pytest.mark.parametrize(
    ("number", "code", "parallelism"), [(signal.SIGINT, 130, "1"), (signal.SIGTERM, 143, "4")], ids=["INT", "TERM"]
)
def test_a_signal_lets_calls_in_flight_finish_and_starts_nothing_new(
    site: Site, number: signal.Signals, code: int, parallelism: str
) -> None:
    site.wish(*(entry(site.key(str(n)), {"acme": 8}) for n in range(10)))

    def rule(exchange: Exchange) -> None:
        if exchange.write == 5:
            process.send_signal(number)
        exchange.pass_on()

    site.proxy.reset(rule)
    process = site.home.start("apply", "--yes", "--format", "json", "--parallelism", parallelism)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    assert "Traceback" not in err
    report = json.loads(out)
    done = report["summary"]["done"]
    assert report["interrupted"] == number.name
    assert became(report) == {
        "operations": 20,
        "done": done,
        "failed": 0,
        "blocked": 0,
        "notStarted": 20 - done,
    }
    assert 5 <= done < 20
    assert len(site.proxy.writes) == done
    assert len(site.home.apply().report["done"]) == 20 - done


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
def test_a_second_signal_ends_the_run_and_says_what_is_not_known(site: Site, number: signal.Signals, code: int) -> None:
    site.wish(*(entry(site.key(str(n)), []) for n in range(4)))
    ended = threading.Event()

    def rule(exchange: Exchange) -> None:
        if exchange.write == 2:
            process.send_signal(number)
            time.sleep(0.5)
            process.send_signal(number)
            assert ended.wait(20), "a call under way is waited for"
        exchange.pass_on()

    site.proxy.reset(rule)
    process = site.home.start("apply", "--yes", "--format", "json", "--parallelism", "1")
    out, err = process.communicate(timeout=60)
    ended.set()
    assert process.returncode == code, out + err
    assert err.endswith(
        "STOPPED: a second signal came: what was under way may have been carried out, and is not reported\n"
        "Hint: the same command again finds out\n"
    )
    site.home.apply()
    assert site.home.is_settled()


def test_a_signal_while_it_waits_for_a_busy_server_ends_the_run_with_a_report(site: Site) -> None:
    site.wish(entry(site.key("a"), []), entry(site.key("b"), []))

    def rule(exchange: Exchange) -> None:
        if exchange.write == 1:
            exchange.refuse(503, "UNAVAILABLE", Retry_After="20")
            process.send_signal(signal.SIGTERM)
        else:
            exchange.pass_on()

    site.proxy.reset(rule)
    process = site.home.start("apply", "--yes", "--format", "json", "--parallelism", "1")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, out + err
    summary = json.loads(out)["summary"]
    assert (summary["failed"], summary["notStarted"]) == (1, 1), "what is asked again is a new call"
    assert len(site.home.apply().report["done"]) == 2


def test_a_signal_ends_the_wait_for_a_busy_server(site: Site) -> None:
    site.wish(entry(site.key("a"), []))

    def rule(exchange: Exchange) -> None:
        if exchange.write:
            exchange.refuse(503, "UNAVAILABLE", Retry_After="40")
            threading.Timer(0.5, process.send_signal, [signal.SIGTERM]).start()
        else:
            exchange.pass_on()

    site.proxy.reset(rule)
    process = site.home.start("apply", "--yes", "--format", "json")
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, out + err
    assert time.monotonic() - started < 30
    assert [o["attempts"] for o in json.loads(out)["failed"]] == [1]
    assert len(site.proxy.writes) == 1


def test_a_reader_that_is_interrupted_ends_with_the_signals_code(site: Site) -> None:
    site.wish(entry(site.key("a"), []))
    held = threading.Event()

    def rule(exchange: Exchange) -> None:
        if exchange.operation == "pools/list":
            process.send_signal(signal.SIGTERM)
            held.wait(10)
        exchange.pass_on()

    site.proxy.reset(rule)
    process = site.home.start("plan")
    out, err = process.communicate(timeout=60)
    held.set()
    assert (process.returncode, out, "Traceback" in err) == (143, "", False)


# Reads in parts.


def paged(exchange: Exchange) -> None:
    """A server that gives twenty at a time, whatever is asked."""
    if exchange.operation.endswith("/list"):
        exchange.body["limit"] = 20
    exchange.pass_on()


@pytest.fixture(scope="module")
def many(shared: Site) -> list[dict[str, Any]]:
    """Forty-five pools that are as wished."""
    pools = [entry(f"many-{n:02}", {"acme": 1}) for n in range(45)]
    shared.proxy.reset()
    shared.home.wish(*pools)
    shared.home.apply()
    return pools


def test_k037_every_page_is_read(site: Site, many: list[dict[str, Any]]) -> None:
    site.home.wish(*many)
    site.proxy.reset(paged)
    assert site.home.is_settled()
    assert sum(exchange.operation == "pools/list" for exchange in site.proxy.seen) >= 3


def refuses(exchange: Exchange) -> None:
    exchange.refuse(500, "INTERNAL_ERROR", "no")


def truncates(exchange: Exchange) -> None:
    exchange.answer(200, b'{"data": {"items": [', **exchange.named())


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("what", [refuses, truncates])
@pytest.mark.parametrize("command", ["plan", "drift", "apply"])
def test_k037_a_page_that_fails_ends_the_run(site: Site, command: str, what: Rule) -> None:
    site.home.wish(entry("many-00", {"acme": 2}), entry(site.key("a"), []))

    def rule(exchange: Exchange) -> None:
        (what if exchange.operation == "pools/list" and "cursor" in exchange.body else paged)(exchange)

    site.proxy.reset(rule)
    ran = site.home.run(command, *(("--yes",) if command == "apply" else ()))
    assert (ran.code, ran.out) == (1, ""), ran.said
    assert site.proxy.seen[-1].body["cursor"]
    assert site.proxy.writes == []
