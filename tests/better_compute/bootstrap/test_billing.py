"""Billing over HTTP: what it answers counts, and whatever else comes is no answer, within a few seconds."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from better_compute.bootstrap.billing import AT_ONCE, MOST, REASON, HttpBilling, http_billing
from better_compute.bootstrap.billing_stand_in import stand_in
from better_compute.domain.problems import ComputeError
from better_compute.service.billing import UNREACHED, UnreachedError
from better_compute.service.ports import Spending, Verdict
from tests.better_compute.api.served import served
from tests.better_compute.client.conftest import Handler, Server, Step, reply, reset, serving

SPENDING = Spending(tenant_id="acme", pool_id="pool_1", meter="gpu.h100.hours", atom="gpu", atoms=8)


@contextmanager
def billing(step: Step, seconds: float = 5.0) -> Iterator[tuple[HttpBilling, Server]]:
    """Billing that answers so."""
    with serving() as server:
        server.script = [step]
        asked = http_billing(server.url, seconds)
        yield asked, server
        asked.http.close()


def failure(asked: HttpBilling) -> ComputeError:
    with pytest.raises(ComputeError) as caught:
        asked.check(SPENDING)
    assert caught.value.code == "UNAVAILABLE"
    return caught.value


def is_silent(failure: ComputeError) -> bool:
    """Whether it says of billing itself that it is of no use to ask now, and not of one question alone."""
    return isinstance(failure, UnreachedError)


def test_billing_is_asked_what_is_booked_and_by_whom() -> None:
    with billing(reply(200, {"allowed": True})) as (asked, server):
        assert asked.check(SPENDING) == Verdict(True)
    [received] = server.received
    assert received.path == "/check"
    wanted = {"tenantId": "acme", "poolId": "pool_1", "meter": "gpu.h100.hours", "atom": "gpu", "atoms": 8}
    assert received.body == wanted


def test_it_may_stand_below_a_path_and_say_more_than_it_is_asked() -> None:
    with serving() as server:
        server.script = [reply(200, {"allowed": False, "reason": "over budget", "left": [{"usd": 0}]})]
        asked = http_billing(f"{server.url}/billing/v1/")
        assert asked.check(SPENDING) == Verdict(False, "over budget")
        asked.http.close()
    assert server.received[0].path == "/billing/v1/check"


def test_its_reason_is_one_short_line_that_commands_nothing() -> None:
    reason = "no\x1b[2J\n::error::\u202e" + "x" * 10_000
    with billing(reply(200, {"allowed": False, "reason": reason})) as (asked, _):
        told = asked.check(SPENDING).reason
    assert len(told) == REASON
    assert told.startswith("no\\x1b[2J\\n::error::\\u202exxx")
    assert told.isprintable()


ANSWERS = {
    "not JSON": b"<html>ok</html>",
    "nothing": b"",
    "null": b"null",
    "a list": b"[true]",
    "no word": b"{}",
    "a word that is none": b'{"allowed": "true"}',
    "a number": b'{"allowed": 1}',
    "null as the word": b'{"allowed": null}',
    "a reason that is none": b'{"allowed": false, "reason": {}}',
    "not UTF-8": b'{"allowed": false, "reason": "\xff"}',
    "half a surrogate pair": b'{"allowed": false, "reason": "\\ud800"}',
    "deep": b'{"allowed": true, "more": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "deep without an end": b'{"allowed": true, "more": ' + b'{"a":' * 10_000,
    "too large": b'{"allowed": true}' + b" " * MOST,
}


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
def test_what_is_no_word_of_billing_is_no_answer_to_this_question(body: bytes) -> None:
    with billing(reply(200, body)) as (asked, _):
        assert not is_silent(failure(asked))


@pytest.mark.parametrize("status", [201, 204, 302, 307, 400, 401, 402, 404, 429, 500, 503])
def test_another_status_is_no_answer_to_this_question_and_a_redirect_is_not_followed(status: int) -> None:
    with billing(reply(status, {"allowed": True}, Location="/elsewhere/check")) as (asked, server):
        assert not is_silent(failure(asked))
    assert len(server.received) == 1


def dripping(handler: Handler) -> None:
    """Its head comes at once, and its body a byte now and then."""
    handler.send_response_only(200)
    handler.send_header("Content-Length", "10000")
    handler.end_headers()
    for _ in range(300):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def silent(_: Handler) -> None:
    time.sleep(3)


def flooding(handler: Handler) -> None:
    """A hundred megabytes, as fast as they are read."""
    handler.send_response_only(200)
    handler.send_header("Content-Length", str(100 << 20))
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" " * (1 << 20))


@pytest.mark.parametrize("step", [dripping, silent], ids=["dripping", "silent"])
def test_nobody_waits_for_it_longer_than_the_whole_question_may_take(step: Step) -> None:
    with billing(step, seconds=0.5) as (asked, _):
        begin = time.monotonic()
        assert is_silent(failure(asked))
        assert time.monotonic() - begin < 1.5


def test_a_billing_that_hangs_holds_up_so_many_callers_and_no_more() -> None:
    released = threading.Event()

    def hanging(handler: Handler) -> None:
        released.wait(20)
        reply(200, {"allowed": True})(handler)

    with billing(hanging, seconds=20) as (asked, server), ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [threads.submit(asked.check, SPENDING) for _ in range(AT_ONCE)]
        deadline = time.monotonic() + 20
        while len(server.received) < AT_ONCE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        begin = time.monotonic()
        assert failure(asked).__notes__ == [f"16 questions wait for an answer of {server.url}"]
        assert time.monotonic() - begin < 3
        released.set()
        assert all(answer.result().allowed for answer in answers)
        assert asked.check(SPENDING).allowed


def test_of_a_large_answer_no_more_is_read_than_an_answer_may_have() -> None:
    with billing(flooding) as (asked, _):
        begin = time.monotonic()
        assert failure(asked).__notes__ == [f"the answer of {asked.http.server} is larger than 64 KiB"]
        assert time.monotonic() - begin < 2


def test_a_connection_that_breaks_is_no_answer_and_the_next_question_is_asked_anew() -> None:
    with billing(reset) as (asked, server):
        assert is_silent(failure(asked))
        server.script = [reply(200, {"allowed": True})]
        assert asked.check(SPENDING) == Verdict(True)


def test_where_nobody_listens_there_is_no_answer() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        asked = http_billing(f"http://127.0.0.1:{nobody.getsockname()[1]}")
        assert is_silent(failure(asked))
        asked.http.close()


def test_a_caller_is_not_told_where_billing_stands_and_the_operator_is() -> None:
    with billing(reply(500, {})) as (asked, server):
        error = failure(asked)
    assert str(error) == UNREACHED == "billing could not be asked"
    assert server.url not in repr(error.problems)
    assert error.__notes__ == [f"{server.url} answered with status 500"]


@pytest.mark.parametrize("url", ["", "billing:80", "ftp://billing", "http://ci:pw-example@billing", "http://"])
def test_what_is_no_url_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(ComputeError) as caught:
        http_billing(url)
    assert caught.value.code == "INVALID_INPUT"
    assert "pw-example" not in repr(caught.value.problems)


def test_the_stand_in_allows_a_tenant_so_many_at_once_and_others_any_number() -> None:
    with served(stand_in({"acme": 8, "globex": 0})) as url:
        asked = http_billing(url)
        for tenant_id, atoms, allowed in (("acme", 8, True), ("acme", 9, False), ("globex", 1, False), ("x", 99, True)):
            spending = Spending(tenant_id=tenant_id, pool_id="p", meter="m", atom="gpu", atoms=atoms)
            assert asked.check(spending).allowed is allowed
        assert asked.check(spending).reason == ""
        refused = Spending(tenant_id="acme", pool_id="p", meter="m", atom="gpu", atoms=9)
        assert asked.check(refused).reason == "acme may have 8 at once, and asks for 9"
        for path, body, status in (("/check", b"{", 400), ("/check", b"[" * 9999, 400), ("/", b"{}", 404)):
            answer = asked.http.post(path, body, {})
            assert (answer.status, list(json.loads(answer.body))) == (status, ["error"])
        asked.http.close()
