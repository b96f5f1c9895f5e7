"""What a client makes of answers, good and bad."""

import gzip
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from better_compute.client import Attempt, Client
from better_compute.domain.commands import ArchivePool, CreatePool, OfferPool, UnofferPool
from better_compute.domain.problems import ComputeError
from tests.better_compute.client.conftest import Handler, Server, Step, Waits, data, error, pool, reply, reset

Connect = Callable[..., Client]
TOKEN = "bc_0123456789abcdef"


def create(key: str | None = "k1") -> CreatePool:
    return CreatePool(
        tenant_id="root", pool_id="p", site_id="site_a", class_="metal-host", gpu_model="H100", idempotency_key=key
    )


def failure(client: Client) -> ComputeError:
    with pytest.raises(ComputeError) as caught:
        client.system.info()
    return caught.value


def info() -> dict[str, Any]:
    return {"instanceId": "i", "version": "1", "derivation": "d", "capabilities": [], "time": 5}


def test_a_call_names_the_tenant_and_the_change_and_shows_its_token(server: Server, connect: Connect) -> None:
    server.script = [data(info())]
    client = connect(server.url, token=TOKEN, tenant_id="acme").under({"fleet": "süd", "n": 1})
    assert client.system.info().instance_id == "i"
    sent = server.received[0]
    assert sent.path == "/api/compute/system/info"
    assert sent.body == {"tenantId": "acme"}
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"
    assert sent.headers["x-better-compute"] == "1"
    assert sent.headers["x-better-compute-change"] == '{"fleet":"s\\u00fcd","n":1}'


def test_a_change_that_is_too_long_is_refused_before_anything_is_sent(server: Server, connect: Connect) -> None:
    with pytest.raises(ComputeError, match="2048 bytes"):
        connect(server.url).under({"reason": "x" * 2048})
    assert server.received == []


def test_nothing_more_is_sent_once_another_control_plane_answers(server: Server, connect: Connect) -> None:
    """A name that moved, or a balancer before two databases: what was read is not what would be written to."""
    ours, theirs = ({"X-Better-Compute-Instance": name} for name in ("inst_ours", f"inst_theirs_{TOKEN}"))
    body = {"data": info()}
    between = [error(502, "BAD_GATEWAY"), reply(503, b"busy")]
    server.script = [reply(200, body, **ours), *between, reply(200, body, **ours), reply(200, body, **theirs)]
    client = connect(server.url, token=TOKEN)
    for _ in range(2):  # whoever stands between, and fails without a name, is nobody
        client.system.info()
    said = ["what it says is not used", *["this call was not sent"] * 2]
    for acting, consequence in zip((client, client.under({"n": 1}), client.acting_as("acme")), said, strict=True):
        problem = failure(acting).problems[0]
        assert (problem.code, problem.rule) == ("INVALID_STATE", "client.instance")
        assert f"inst_theirs_(token), and before it was inst_ours; {consequence}" in problem.message
    assert len(server.received) == 5


@pytest.mark.parametrize("names", [("inst_ours", None), (None, "inst_ours")], ids=["then nobody", "first nobody"])
def test_an_answer_that_names_nobody_is_not_that_of_who_names_itself(
    server: Server, connect: Connect, names: tuple[str | None, str | None]
) -> None:
    """A cache, or a page of another server."""
    for name in names:
        headers = {} if name is None else {"X_Better_Compute_Instance": name}
        server.script.append(reply(200, {"data": info()}, **headers))
    client = connect(server.url)
    assert client.system.info().instance_id == "i"
    says = [name or "one that names itself nowhere" for name in names]
    for consequence in ("what it says is not used", "this call was not sent"):
        problem = failure(client).problems[0]
        assert problem.rule == "client.instance"
        assert problem.message.endswith(f": {says[1]}, and before it was {says[0]}; {consequence}")
    assert len(server.received) == 2


def test_two_connections_are_two_conversations(server: Server, connect: Connect) -> None:
    for name in ("inst_a", "inst_b"):
        server.script = [reply(200, {"data": info()}, X_Better_Compute_Instance=name)]
        assert connect(server.url).system.info().instance_id == "i"


def test_an_error_comes_back_with_all_that_the_server_said(server: Server, connect: Connect) -> None:
    server.script = [error(409, "INVALID_STATE", "archived", rule="offer.archived", field="toTenantId")]
    problem = failure(connect(server.url)).problems[0]
    assert (problem.code, problem.rule, problem.message) == ("INVALID_STATE", "offer.archived", "archived")
    assert (problem.path, problem.severity) == ("toTenantId", "error")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reply(200, b"<html>Welcome</html>", Content_Type="text/html"), "is not understood"),
        (reply(200, b'{"data": {"instanceId": "i"'), "truncated"),
        (reply(200, b""), "truncated"),
        (reply(200, b"[" * 100_000), "is not understood"),
        (reply(200, b'{"data": null}'), r"Expected `object`, got `null` - at `\$.data`"),
        (reply(200, b'{"data": {"instanceId": 1}}'), r"\$.data.instanceId"),
        (reply(200, b'{"data": {"instanceId": "i"}}'), "missing required field `version`"),
        (reply(404, b"<html>gone</html>", Content_Type="text/html; charset=x"), "HTTP 404 and text/html"),
        (reply(500, b""), "HTTP 500"),
        (reply(500, b'{"error": "oops"}'), "HTTP 500"),
        (reply(500, b'{"error": {"code": ["X"]}}'), "HTTP 500"),
        (reply(204, b"", Content_Length="0"), "HTTP 204"),
    ],
)
def test_an_answer_that_no_control_plane_gives_is_a_clear_error(
    server: Server, connect: Connect, answer: Callable[[Handler], None], says: str
) -> None:
    server.script = [answer]
    caught = failure(connect(server.url))
    assert caught.code == "UNAVAILABLE"
    assert server.url in str(caught)
    with pytest.raises(ComputeError, match=says):
        connect(server.url).system.info()


def test_an_answer_that_is_nested_without_end_is_a_clear_error(server: Server, connect: Connect) -> None:
    server.script = [reply(200, b'{"data": ' + b"[" * 100_000)]
    with pytest.raises(ComputeError, match="is not understood"):
        connect(server.url).call("system/info", {})


def test_a_redirect_is_not_followed_and_takes_no_token_along(server: Server, connect: Connect) -> None:
    server.script = [reply(307, b"", Location=f"{server.url}/elsewhere?t={TOKEN}")]
    caught = failure(connect(server.url, token=TOKEN))
    assert "redirects to" in str(caught)
    assert TOKEN not in str(caught)
    assert [r.path for r in server.received] == ["/api/compute/system/info"]


def test_a_token_that_the_answer_repeats_is_in_no_error(server: Server, connect: Connect) -> None:
    said = f"who is Bearer {TOKEN}?"
    server.script = [
        error(401, "UNAUTHENTICATED", said, rule=TOKEN, field=TOKEN, hint=TOKEN),
        reply(200, {"data": {TOKEN: 1, "instanceId": [TOKEN]}}),
        reply(502, b"x", Content_Type=TOKEN),
    ]
    client = connect(server.url, token=TOKEN)
    for _ in range(3):
        caught = failure(client)
        assert TOKEN not in repr([caught, caught.problems])
        assert "(token)" in repr(caught.problems) or "repeats the token that asked" in str(caught)


SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": json.dumps,
    "slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "escapes": lambda text: '"' + "".join(f"\\u{ord(c):04X}" for c in text) + '"',
    "one escape": lambda text: json.dumps(text[:-1])[:-1] + f'\\u{ord(text[-1]):04x}"',
}


@pytest.mark.parametrize("token", ["bc_0123456789/+=", 'bc_"\\/0123456789', "HUNTERHUNTER"])
@pytest.mark.parametrize("spelled", SPELLED)
def test_an_answer_that_repeats_the_token_is_not_read_however_it_is_spelled(
    server: Server, connect: Connect, token: str, spelled: str
) -> None:
    body = json.dumps({"data": {**info(), "derivation": "HERE"}}).replace('"HERE"', SPELLED[spelled](token))
    assert json.loads(body)["data"]["derivation"] == token
    server.script = [reply(200, body.encode())]
    assert "repeats the token that asked" in str(failure(connect(server.url, token=token)))


def test_a_code_that_is_the_token_is_none(server: Server, connect: Connect) -> None:
    server.script = [error(409, "HUNTERHUNTER", "x")]
    caught = failure(connect(server.url, token="HUNTERHUNTER"))
    assert (caught.code, "HUNTER" in repr(caught.problems)) == ("UNAVAILABLE", False)


def test_the_token_in_the_spelling_of_urls_is_in_no_error(server: Server, connect: Connect) -> None:
    token = "bc_0123456789/+="
    server.script = [reply(307, b"", Location=f"/login?t={quote(token, safe='')}")]
    assert "redirects to /login?t=(token) " in str(failure(connect(server.url, token=token)))


def test_what_is_too_short_for_a_secret_changes_no_text(server: Server, connect: Connect) -> None:
    server.script = [error(409, "INVALID_STATE", "not here"), reply(200, {"data": info()})]
    client = connect(server.url, token="e")
    assert str(failure(client)) == "not here"
    assert client.system.info().instance_id == "i"


@pytest.mark.parametrize("before", range(1960, 2001))
def test_of_a_url_that_a_long_text_is_cut_in_no_user_part_is_left(
    server: Server, connect: Connect, before: int
) -> None:
    url = "https://user:HUNTER2@host/"
    server.script = [error(409, "INVALID_STATE", "x" * (before - 1) + " " + url)]
    message = str(failure(connect(server.url, token=TOKEN)))
    assert "user" not in message
    assert "HUNTER" not in message


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_read_is_made_again_after_a_passing_failure(
    server: Server, connect: Connect, waits: Waits, status: int
) -> None:
    server.script = [reply(status, b"busy"), error(status, "UNAVAILABLE"), reset, data(info())]
    assert connect(server.url).system.info().time == 5
    assert waits.seconds == [0.5, 1.0, 2.0]


def test_who_waits_otherwise_is_told_of_every_attempt_that_failed(
    server: Server, connect: Connect, waits: Waits
) -> None:
    server.script = [reply(503, b"busy"), error(503, "UNAVAILABLE"), reset, data(info())]
    seen: list[Attempt] = []

    def pause(attempt: Attempt) -> bool:
        seen.append(attempt)
        return False

    assert connect(server.url).pausing(pause).system.info().time == 5
    assert waits.seconds == []
    assert [(a.operation, a.number, a.wait) for a in seen] == [("system/info", i + 1, 0.5 * 2**i) for i in range(3)]
    assert [(a.status, a.is_asked) for a in seen] == [(503, False), (503, False), (None, False)]


def test_attempts_that_were_made_by_then_count(server: Server, connect: Connect, waits: Waits) -> None:
    """Whoever leaves the waiting to others comes back with a call of its own for each attempt."""
    server.script = [error(503, "UNAVAILABLE", "locked", Retry_After="2")]
    client = connect(server.url)
    seen: list[tuple[int, bool]] = []

    def pause(attempt: Attempt) -> bool:
        seen.append((attempt.number, attempt.is_asked))
        return True

    said = [str(failure(client.pausing(pause, made=made))) for made in range(6)]
    assert said == ["locked"] * 4 + ["locked (gave up after 5 attempts)", "locked (gave up after 6 attempts)"]
    assert seen == [(number, True) for number in range(1, 5)]
    assert (len(server.received), waits.seconds) == (6, [])


def test_who_waits_otherwise_may_say_that_there_is_no_other_attempt(server: Server, connect: Connect) -> None:
    server.script = [error(503, "UNAVAILABLE", "locked"), data(info())]
    client = connect(server.url).pausing(lambda _: True)
    assert str(failure(client)) == "locked"
    assert len(server.received) == 1


def test_what_is_not_worth_a_second_attempt_is_asked_once(server: Server, connect: Connect) -> None:
    server.script = [error(503, "UNAVAILABLE", "locked"), data(info())]
    assert str(failure(connect(server.url).once())) == "locked"
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_failure_that_no_control_plane_signed_is_one_of_what_stands_between(
    server: Server, connect: Connect, status: int
) -> None:
    signed = {"X-Better-Compute-Instance": "inst_a"}
    body = {"error": {"code": "INTERNAL_ERROR", "message": "no", "rule": "pool.key"}}
    for headers, rule in ((signed, "pool.key"), ({}, "client.answer")):
        server.script = [reply(status, body, **headers)]
        assert failure(connect(server.url).once()).problems[0].rule == rule


def test_the_last_attempt_says_how_many_there_were(server: Server, connect: Connect, waits: Waits) -> None:
    server.script = [error(503, "UNAVAILABLE", "locked")]
    assert str(failure(connect(server.url))) == "locked (gave up after 5 attempts)"
    assert len(server.received) == 5
    assert len(waits.seconds) == 4


def test_what_is_no_passing_failure_is_not_repeated(server: Server, connect: Connect) -> None:
    server.script = [error(500, "INTERNAL_ERROR")]
    assert failure(connect(server.url)).code == "INTERNAL_ERROR"
    assert len(server.received) == 1


def test_a_create_whose_answer_was_lost_is_made_again_with_the_same_key(server: Server, connect: Connect) -> None:
    server.script = [reset, reset, data(pool())]
    assert connect(server.url).pools.create(create("k1")).pool.id == "p"
    assert [r.body["idempotencyKey"] for r in server.received] == ["k1"] * 3


def test_a_write_without_key_or_precondition_is_never_repeated(server: Server, connect: Connect) -> None:
    client = connect(server.url)
    writes: list[Callable[[], object]] = [
        lambda: client.pools.create(create(None)),
        lambda: client.pools.archive(ArchivePool(tenant_id="root", pool_id="p")),
        lambda: client.sites.create(name="a", kind="shared", region="r"),
        lambda: client.nodes.create_join_token("p"),
    ]
    for step in (reset, error(503, "UNAVAILABLE", Retry_After="0")):
        for write in writes:
            server.script, server.received = [step], []
            with pytest.raises(ComputeError):
                write()
            assert len(server.received) == 1


def test_a_write_that_never_left_is_made_again(connect: Connect, waits: Waits) -> None:
    with pytest.raises(ComputeError, match=r"cannot connect .* \(gave up after 5 attempts\)"):
        connect("http://127.0.0.1:1").sites.create(name="a", kind="shared", region="r")
    assert len(waits.seconds) == 4


def test_an_archive_with_either_of_its_preconditions_is_repeated(server: Server, connect: Connect) -> None:
    for versions in ({"expected_version": 3}, {"expected_offers_version": 5}):
        server.script, server.received = [reset, data(pool(archived=True, archivedAt=1))], []
        connect(server.url).pools.archive(ArchivePool(tenant_id="root", pool_id="p", **versions))
        assert len(server.received) == 2


def test_a_write_with_a_precondition_is_repeated_even_when_there_must_be_none(server: Server, connect: Connect) -> None:
    client = connect(server.url)
    server.script = [reset, error(409, "VERSION_CONFLICT")]
    with pytest.raises(ComputeError) as caught:
        client.pools.offer(
            OfferPool(tenant_id="root", pool_id="p", to_tenant_id="acme", quota={"gpu": 1}, expected_version=0)
        )
    assert caught.value.code == "VERSION_CONFLICT"
    assert len(server.received) == 2


def test_an_unoffer_tells_whether_there_was_an_offer(server: Server, connect: Connect) -> None:
    server.script = [data({"removed": False})]
    command = UnofferPool(tenant_id="root", pool_id="p", to_tenant_id="acme")
    assert connect(server.url).pools.unoffer(command) is False
    assert server.received[0].body == {"tenantId": "root", "poolId": "p", "toTenantId": "acme"}


@pytest.mark.parametrize(
    ("value", "wait"),
    [("-1", 0), ("0", 0), ("2", 2.2), ("60", 66), ("+3 s", 0.5), ("abc", 0.5), ("", 0.5), ("9" * 40, 0.5)],
)
def test_retry_after_in_seconds(server: Server, connect: Connect, waits: Waits, value: str, wait: float) -> None:
    """A tenth more than asked at most, as chance has it here."""
    server.script = [error(503, "UNAVAILABLE", Retry_After=value), data(info())]
    connect(server.url).system.info()
    assert waits.seconds == pytest.approx([wait])


@pytest.mark.parametrize(
    ("until", "wait"),
    [
        ("Fri, 15 Jan 2027 08:00:03 GMT", 3.3),
        ("Fri, 15 Jan 2027 07:59:00 GMT", 0),
        ("Fri, 15 Jan 2027 08:00:03", 3.3),
        ("Fri, 99 Jan 2027 08:00:03 GMT", 0.5),
    ],
)
@pytest.mark.parametrize("skew", [0, 300])
def test_retry_after_as_a_date(
    server: Server, connect: Connect, waits: Waits, until: str, wait: float, skew: int
) -> None:
    # 1,800,000,000 is 2027-01-15 08:00:00. A clock that is off does not matter where the answer has a date.
    dated = {"Date": "Fri, 15 Jan 2027 08:00:00 GMT"} if skew else {}
    waits.now += skew
    server.script = [error(429, "RATE_LIMITED", Retry_After=until, **dated), data(info())]
    connect(server.url).system.info()
    assert waits.seconds == pytest.approx([wait])


def test_retry_after_that_was_sent_twice_asks_for_the_longer(server: Server, connect: Connect, waits: Waits) -> None:
    def twice(handler: Handler) -> None:
        handler.wfile.write(
            b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )

    server.script = [twice, data(info())]
    connect(server.url).system.info()
    assert waits.seconds == pytest.approx([5.5])


def test_a_server_that_asks_for_a_day_is_given_up(server: Server, connect: Connect, waits: Waits) -> None:
    server.script = [error(503, "UNAVAILABLE", "maintenance", Retry_After="86400")]
    caught = failure(connect(server.url))
    assert str(caught) == "maintenance (the server asks to wait 86400 s, longer than 60 s: gave up)"
    assert caught.retry_after_ms == 86_400_000
    assert waits.seconds == []


def test_the_body_may_say_how_long_to_wait_too(server: Server, connect: Connect, waits: Waits) -> None:
    server.script = [error(503, "UNAVAILABLE", retryAfterMs=1500), data(info())]
    connect(server.url).system.info()
    assert waits.seconds == pytest.approx([1.65])


@pytest.mark.parametrize(
    ("value", "wait"),
    [(-5, 0), (-(10**400), 0), (10**15, 0.5), (10**300, 0.5), (10**400, 0.5), ("3", 0.5), (2.5, 0.5), (True, 0.5)],
    ids=lambda n: str(n)[:20],
)
def test_a_wait_in_the_body_that_makes_no_sense_is_none(
    server: Server, connect: Connect, waits: Waits, value: Any, wait: float
) -> None:
    server.script = [error(503, "UNAVAILABLE", retryAfterMs=value), data(info())]
    connect(server.url).system.info()
    assert waits.seconds == [wait]
    server.script = [error(409, "CONFLICT", retryAfterMs=value)]
    assert failure(connect(server.url)).retry_after_ms == (0 if wait == 0 else None)


def test_a_wait_in_the_body_that_is_too_long_is_said_in_few_words(server: Server, connect: Connect) -> None:
    server.script = [error(503, "UNAVAILABLE", "maintenance", retryAfterMs=10**15 - 1)]
    assert str(failure(connect(server.url))).startswith("maintenance (the server asks to wait 1000000000000 s, longer")


def test_a_server_that_is_silent_is_a_clear_error(server: Server, connect: Connect) -> None:
    server.script = [lambda _: time.sleep(1)]
    started = time.monotonic()
    client = connect(server.url, timeout=0.05)
    with pytest.raises(ComputeError, match=rf"no answer from {server.url} within 0.05 s$"):
        client.nodes.create_join_token("p")
    assert time.monotonic() - started < 0.9


def test_a_server_that_is_not_there_is_a_clear_error(connect: Connect, waits: Waits) -> None:
    caught = failure(connect("http://127.0.0.1:1"))
    assert "cannot connect to http://127.0.0.1:1" in str(caught)
    assert caught.problems[0].hint == "is the server running?"
    assert len(waits.seconds) == 4


def test_an_answer_that_stops_in_the_middle_is_read_again(server: Server, connect: Connect) -> None:
    server.script = [reply(200, b'{"data": {', Content_Length="900"), data(info())]
    assert connect(server.url).system.info().time == 5


def test_an_answer_without_end_is_cut_off(server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("better_compute.http.MAX_ANSWER", 1 << 20)
    server.script = [reply(200, b" " * ((1 << 20) + 1))]
    assert "larger than 1 MiB" in str(failure(connect(server.url)))
    assert len(server.received) == 1


def slowly(head: bytes, drip: bytes) -> Step:
    """Sends `head` at once and then `drip` again and again."""

    def step(handler: Handler) -> None:
        handler.wfile.write(head)
        for _ in range(1000):
            handler.wfile.write(drip)
            time.sleep(0.01)

    return step


@pytest.mark.parametrize(
    "step",
    [
        slowly(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" "),
        slowly(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        slowly(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ],
    ids=["body", "headers", "interim answers"],
)
def test_a_server_that_sends_a_little_now_and_then_is_given_up(server: Server, connect: Connect, step: Step) -> None:
    server.script = [step]
    with pytest.raises(ComputeError, match=r"did not come to the end of its answer within 0\.4 s$"):
        connect(server.url, timeout=0.04).nodes.create_join_token("p")


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "br"])
def test_a_packed_answer_is_not_opened(server: Server, connect: Connect, encoding: str) -> None:
    """A thousand bytes may become gigabytes before their size is known."""
    packed = gzip.compress(gzip.compress(bytes(10**8)))
    server.script = [reply(200, packed, Content_Encoding=encoding)]
    assert f"is packed ({encoding}), and was asked for as it is" in str(failure(connect(server.url)))
    [asked] = server.received
    assert asked.headers["accept-encoding"] == "identity"
