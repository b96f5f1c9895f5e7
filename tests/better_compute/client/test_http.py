"""Where a client sends things, and above all where it sends no token."""

import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from time import sleep

import pytest

from better_compute.client import Calls, Client, Retry
from better_compute.domain.problems import ComputeError
from better_compute.http import PATIENCE, TIMEOUT, Http, NetworkError, checked_url, is_loopback
from tests.better_compute.client.conftest import Handler, Server, data, reply, serving

TOKEN = "bc_0123456789abcdef"
TLS = Path(__file__).with_name("tls.pem")
"""A key and a certificate of 127.0.0.1 that vouches for itself."""


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost", "http://[::1]:80/x/", "https://h.example"])
def test_a_token_goes_over_https_or_to_this_machine(url: str) -> None:
    assert checked_url(url, with_token=True) == url.rstrip("/")


@pytest.mark.parametrize("url", ["http://10.0.0.1", "http://localhost.evil.example", "http://127.0.0.1.nip.example"])
def test_a_token_does_not_go_anywhere_else_over_http(url: str) -> None:
    with pytest.raises(ComputeError, match="not sent over plain http") as caught:
        Http(url, token=TOKEN)
    assert TOKEN not in repr(caught.value.problems)
    Http(url).close()


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("compute.example.com", 'did you mean "https://compute.example.com"?'),
        ("localhost:8080", 'did you mean "http://localhost:8080"?'),
        ("ftp://compute.example.com", "it reads https://HOST[:PORT][/PATH]"),
        ("https://", "it reads https://HOST[:PORT][/PATH]"),
        ("https://h/?q=1", "it reads https://HOST[:PORT][/PATH]"),
        ("https://h:99999", "it reads https://HOST[:PORT][/PATH]"),
        ("https://[::1", "it reads https://HOST[:PORT][/PATH]"),
        ("https://h\x1b[2J", "it reads https://HOST[:PORT][/PATH]"),
        ("", "it reads https://HOST[:PORT][/PATH]"),
    ],
)
def test_what_is_not_the_url_of_a_server_is_refused_with_the_nearest_good_one(url: str, hint: str) -> None:
    with pytest.raises(ComputeError) as caught:
        checked_url(url, with_token=False)
    assert caught.value.problems[0].hint == hint
    assert "\x1b" not in str(caught.value)


def test_a_password_in_a_url_is_refused_and_not_shown() -> None:
    schemeless = ("ci:pw-example@h", "//ci:pw-example@h", "ci:pw-example@h:80/x")
    for url in ("https://ci:pw-example@h", "ftp://ci:pw-example@h", "https://ci:pw-example@h:x", *schemeless):
        with pytest.raises(ComputeError) as caught:
            checked_url(url, with_token=False)
        assert "pw-example" not in repr(caught.value.problems)


@pytest.mark.parametrize("token", ["", "a b", "a\n", "a\r\nX: y", "é"])
def test_what_cannot_be_a_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ComputeError, match="holds characters that no token has") as caught:
        Http("https://h.example", token=token)
    assert not token or token not in repr(caught.value.problems)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "127.1", "localhost.", "::", "128.0.0.1"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def client(url: str, token: str | None) -> Client:
    return Client(Calls(Http(url, token=token), "root", Retry(lambda _: None, lambda: 0.0, lambda: 0, attempts=1)))


def test_a_proxy_does_not_see_the_token_of_a_call_to_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("ALL_PROXY", server.url)
    server.script = [data({})]
    with pytest.raises(ComputeError, match=r"cannot connect to http://127\.0\.0\.1:1"):
        client("http://127.0.0.1:1", TOKEN).system.info()
    assert server.received == []


def test_a_proxy_is_used_for_other_machines(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.script = [data({"instanceId": "i", "version": "1", "derivation": "d", "capabilities": [], "time": 5})]
    assert client("http://compute.invalid", None).system.info().time == 5
    assert server.received[0].path == "http://compute.invalid/api/compute/system/info"


def test_a_proxy_that_is_not_there_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    http = Http("http://compute.invalid")
    with pytest.raises(NetworkError) as caught:
        http.post("/", b"{}", {})
    http.close()
    assert "is the proxy of HTTPS_PROXY" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["http://ci:hun/ter2@h:1", "http://ci:hun#ter2@h:1", "gopher://ci:hunter2@h", "http://h:x"]
)
def test_a_proxy_that_is_none_is_told_without_its_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(ComputeError, match="a proxy that the environment names cannot be used") as caught:
        Http("https://compute.example.com")
    assert "hun" not in repr(caught.value.problems)


def test_a_kind_of_proxy_that_needs_more_is_told_as_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ComputeError, match="SOCKS proxy") as caught:
        Http("https://compute.example.com")
    assert "ALL_PROXY" in caught.value.problems[0].hint


@pytest.mark.parametrize("url", ["https://\u2603.example", "https://ab--\xfc.example"])
def test_a_name_that_no_host_has_is_the_urls_fault(url: str) -> None:
    with pytest.raises(ComputeError, match="this is not the URL of a server") as caught:
        Http(url)
    assert caught.value.problems[0].rule == "client.server"


def test_certificates_that_are_not_there_are_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(ComputeError, match="network settings of the environment") as caught:
        Http("https://compute.example.com")
    assert "SSL_CERT_FILE" in caught.value.problems[0].hint
    assert caught.value.problems[0].path == ""


def test_as_many_calls_are_under_way_as_an_apply_makes_at_most(server: Server) -> None:
    all_of_them = Barrier(64, timeout=30)

    def step(handler: Handler) -> None:
        all_of_them.wait()
        data({})(handler)

    server.script = [step]
    http = Http(server.url)
    with ThreadPoolExecutor(64) as executor:
        answers = list(executor.map(lambda _: http.post("/", b"{}", {}), range(64)))
    http.close()
    assert [answer.status for answer in answers] == [200] * 64


def dripping(handler: Handler) -> None:
    """Answers, and never comes to the end of its headers."""
    for _ in range(500):
        handler.wfile.write(b"H")
        sleep(0.01)


def test_a_proxy_that_sends_a_byte_now_and_then_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.script = [dripping]
    http = Http("http://compute.invalid", timeout=0.2)
    with pytest.raises(NetworkError, match=r"did not come to the end of its answer within 2 s$"):
        http.post("/", b"{}", {})
    http.close()


def test_a_connection_may_live_longer_than_a_call(server: Server) -> None:
    seen = []

    def step(handler: Handler) -> None:
        seen.append(handler.client_address)
        reply(200, {}, Connection="keep-alive")(handler)
        handler.handle_one_request()  # the next one on the same connection

    now = 0.0
    server.script = [step]
    http = Http(server.url, clock=lambda: now)
    for _ in range(3):
        assert http.post("/", b"{}", {}).status == 200
        now += PATIENCE * TIMEOUT + 1
    http.close()
    assert seen == [seen[0]] * 3


@contextmanager
def https() -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS)
    with serving(context) as server:
        yield server


def test_a_token_goes_to_a_server_whose_certificate_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS))
    with https() as server:
        server.script = [data({})]
        http = Http(server.url, token=TOKEN)
        assert http.post("/", b"{}", {}).status == 200
        assert server.received[0].headers["authorization"] == f"Bearer {TOKEN}"
        http.close()


def test_and_to_no_other() -> None:
    with https() as server:
        http = Http(server.url, token=TOKEN)
        with pytest.raises(NetworkError, match="is not trusted") as caught:
            http.post("/", b"{}", {})
        http.close()
        assert (caught.value.sent, caught.value.transient, server.received) == (False, False, [])


def test_nor_does_https_give_a_server_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS))
    with https() as server:
        server.script = [dripping]
        http = Http(server.url, timeout=0.2)
        with pytest.raises(NetworkError, match=r"did not come to the end of its answer within 2 s$"):
            http.post("/", b"{}", {})
        http.close()
