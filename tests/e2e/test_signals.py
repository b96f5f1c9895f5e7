"""Signals to an apply that waits: for a server that is busy, with calls under way beside it or none."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.homes import Home, entry, served
from tests.e2e.proxy import Exchange, Proxy

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, Proxy]]:
    home = Home(tmp_path_factory.mktemp("signals"))
    with served(home) as (_, proxy):
        yield home, proxy


def held_back(exchange: Exchange) -> None:
    exchange.refuse(429, "RATE_LIMITED", Retry_After="40")


@pytest.mark.parametrize(("number", "code"), CODES, ids=["INT", "TERM"])
def test_one_signal_ends_an_apply_that_is_held_back_with_a_report(
    server: tuple[Home, Proxy], number: signal.Signals, code: int
) -> None:
    home, proxy = server
    home.wish(*(entry(f"{number.name}-{n}", []) for n in range(6)))

    def rule(exchange: Exchange) -> None:
        if exchange.write is None:
            exchange.pass_on()
            return
        held_back(exchange)
        if exchange.write == 2:
            threading.Timer(0.3, process.send_signal, [number]).start()

    proxy.reset(rule)
    process = home.start("apply", "--yes", "--format", "json", "--parallelism", "2")
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    assert time.monotonic() - started < 30
    report = json.loads(out)
    assert report["interrupted"] == number.name
    assert {o["attempts"] for o in report["failed"]} == {1}
    assert (len(report["failed"]), len(report["notStarted"]), len(proxy.writes)) == (2, 4, 2)


@pytest.mark.parametrize(("number", "code"), CODES, ids=["INT", "TERM"])
def test_a_second_signal_ends_it_at_once_while_one_call_is_under_way_and_the_rest_is_held_back(
    server: tuple[Home, Proxy], number: signal.Signals, code: int
) -> None:
    home, proxy = server
    home.wish(*(entry(f"{number.name}-again-{n}", []) for n in range(4)))
    ended = threading.Event()

    def rule(exchange: Exchange) -> None:
        if exchange.write is None:
            exchange.pass_on()
        elif exchange.write == 1:
            held_back(exchange)
        else:
            time.sleep(0.2)
            process.send_signal(number)
            time.sleep(0.3)
            process.send_signal(number)
            assert ended.wait(20), "a call under way is waited for"
            exchange.drop()

    proxy.reset(rule)
    process = home.start("apply", "--yes", "--format", "json", "--parallelism", "2")
    out, err = process.communicate(timeout=60)
    ended.set()
    assert (process.returncode, out) == (code, ""), err
    assert "STOPPED: a second signal came" in err
    assert len(proxy.writes) == 2


def test_a_signal_to_an_apply_that_is_held_back_leaves_a_journal_of_whole_lines(
    server: tuple[Home, Proxy], tmp_path: Path
) -> None:
    home, proxy = server
    home.wish(*(entry(f"journal-{n}", []) for n in range(4)))
    path = tmp_path / "journal.jsonl"

    def rule(exchange: Exchange) -> None:
        if exchange.write is None:
            exchange.pass_on()
            return
        held_back(exchange)
        if exchange.write == 2:
            threading.Timer(0.3, process.send_signal, [signal.SIGTERM]).start()

    proxy.reset(rule)
    process = home.start("apply", "--yes", "--format", "json", "--parallelism", "2", "--journal", str(path))
    process.communicate(timeout=60)
    assert process.returncode == 143
    events = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert sorted(events) == ["attempt"] * 2 + ["begin"] + ["failed"] * 2 + ["slower"]
