"""Messages to a webhook, whose URL is a secret: whatever goes wrong, no text holds a part of it."""

from __future__ import annotations

import socket
import ssl
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from better_compute.client.webhook import Webhook
from better_compute.domain.problems import ComputeError
from tests.better_compute.client.conftest import Server, reply, reset, serving

PATH = "/services/T000/B000/s3cr3t-path"
QUERY = "?key=s3cr3t-key&token=a%2Fb"


def refusal(do: Callable[[], object]) -> str:
    """Why it does not go, with nothing secret in the error or in its traceback."""
    with pytest.raises(ComputeError) as caught:
        do()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.problems)
    for part in ("s3cr3t", "hooks.example", "127.0.0.1", "T000", "token="):
        assert part not in shown
    problem = caught.value.problems[0]
    assert problem.rule == "client.webhook"
    return f"{problem.code}: {problem.message}"


def test_a_message_arrives_as_it_is_with_its_headers_and_no_token(server: Server) -> None:
    server.script = [reply(200, b"ok", Content_Type="text/plain")]
    Webhook.at(server.url + PATH + QUERY).post(b'{"text":"x"}', {"webhook-id": "msg_1"})
    [got] = server.received
    assert (got.path, got.body) == (PATH + QUERY, {"text": "x"})
    assert (got.headers["content-type"], got.headers["webhook-id"]) == ("application/json", "msg_1")
    assert "authorization" not in got.headers
    assert not any(name.startswith("x-better-compute") for name in got.headers)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_success_is_one(server: Server, status: int) -> None:
    server.script = [reply(status, b"")]
    Webhook.at(server.url).post(b"{}", {})
    assert server.received[0].path == "/"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "this is not the URL of a webhook"),
        ("hooks.example/s3cr3t", "this is not the URL of a webhook"),
        ("ftp://hooks.example/s3cr3t", "this is not the URL of a webhook"),
        ("https:///s3cr3t", "this is not the URL of a webhook"),
        ("https://hooks.example/s3cr3t#part", "this is not the URL of a webhook"),
        ("https://hooks.example:0/s3cr3t", "this is not the URL of a webhook"),
        ("https://hooks.example:x/s3cr3t", "this is not the URL of a webhook"),
        ("https://hooks.example/s3cr3t\r\nX: y", "this is not the URL of a webhook"),
        ("https://hooks.example/s3cr3t path", "this is not the URL of a webhook"),
        ("https://hooks.exämple/s3cr3t", "this is not the URL of a webhook"),
        ("https://[::1/s3cr3t", "this is not the URL of a webhook"),
        (f"https://hooks.example/{'x' * 5000}", "this is not the URL of a webhook"),
        ("https://u:s3cr3t@hooks.example/x", "the URL of a webhook holds no user and no password"),
        ("http://hooks.example/s3cr3t", "a webhook is not written to over plain http"),
        ("http://localhost.hooks.example/s3cr3t", "a webhook is not written to over plain http"),
    ],
)
def test_what_is_no_url_of_a_webhook_is_refused_and_not_shown(url: str, says: str) -> None:
    assert refusal(lambda: Webhook.at(url)) == f"INVALID_INPUT: {says}"


@pytest.mark.parametrize(
    "url", ["https://hooks.example/x", "http://127.0.0.1:1/x", "http://[::1]:1/", "http://localhost"]
)
def test_https_and_this_machine_are_written_to(url: str) -> None:
    assert "hooks" not in repr(Webhook.at(url))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: Server, status: int) -> None:
    with serving() as other:
        server.script = [reply(status, b"", Location=f"{other.url}/s3cr3t")]
        said = refusal(lambda: Webhook.at(server.url + PATH).post(b"{}", {}))
        assert (said, len(server.received), other.received) == (
            f"UNAVAILABLE: the webhook redirects (HTTP {status})",
            1,
            [],
        )


@pytest.mark.parametrize("status", [400, 404, 410, 429, 500, 503])
def test_what_is_not_taken_is_told_without_what_was_answered(server: Server, status: int) -> None:
    server.script = [reply(status, f"no {PATH}".encode(), Retry_After="0")]
    said = refusal(lambda: Webhook.at(server.url + PATH).post(b"{}", {}))
    assert (said, len(server.received)) == (f"UNAVAILABLE: the webhook answered with HTTP {status}", 1)


def test_a_connection_that_fails_is_told_without_where(server: Server) -> None:
    server.script = [reset]
    assert "the connection to the webhook broke" in refusal(lambda: Webhook.at(server.url + PATH).post(b"{}", {}))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}{PATH}"
        said = refusal(lambda: Webhook.at(url).post(b"{}", {}))
    assert said.startswith("UNAVAILABLE: cannot connect to the webhook: ")
    assert "127.0.0.1" not in said


def test_an_error_that_is_told_as_it_is_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Webhook, "_clean", lambda _, text: text)
    with pytest.raises(AssertionError, match=r"'127\.0\.0\.1' not in"):
        refusal(lambda: Webhook.at("http://127.0.0.1:1").post(b"{}", {}))


def test_an_answer_that_does_not_come_is_waited_for_so_long_and_no_longer() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}{PATH}"
        said = refusal(lambda: Webhook.at(url, 0.1).post(b"{}", {}))
    assert said == "UNAVAILABLE: the webhook did not come to the end of its answer within 0.1 s"


def test_an_answer_without_end_is_not_read(server: Server) -> None:
    server.script = [reply(200, b"x" * (1 << 17))]
    assert "larger than 64 KiB" in refusal(lambda: Webhook.at(server.url + PATH).post(b"{}", {}))


def test_a_certificate_that_nobody_vouches_for_is_not_trusted() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("tls.pem"))
    with serving(context) as server:
        server.script = [reply(200, b"")]
        said = refusal(lambda: Webhook.at(server.url + PATH).post(b"{}", {}))
        assert "the certificate of the webhook is not trusted" in said
        assert server.received == []
