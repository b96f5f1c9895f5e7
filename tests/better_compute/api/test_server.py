"""No client and no database holds a connection, or the end of the process, for longer than it may."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import httpx
import pytest

from better_compute.api.server import Limits
from better_compute.wire.message import BODY_LIMIT, Request, Response
from tests.better_compute.api.served import served
from tests.better_compute.plane import Plane

HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


def port_of(url: str) -> int:
    return httpx.URL(url).port or 0


@contextmanager
def peer(url: str) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port_of(url)), 10) as connection:
        yield connection


def seconds_to_the_end(connection: socket.socket, drip: bytes = b"") -> float:
    """How long until the server closes the connection, while a byte is sent now and then."""
    begin = time.monotonic()
    connection.settimeout(0.05)
    for byte in [*(drip[i : i + 1] for i in range(len(drip))), *[b""] * 100]:
        try:
            connection.sendall(byte)
            while connection.recv(65536):
                pass
            break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    else:
        pytest.fail("the connection is still open")
    return time.monotonic() - begin


def taken(connection: socket.socket) -> int:
    """How many bytes still come until the connection's end."""
    count = 0
    try:
        while data := connection.recv(1 << 20):
            count += len(data)
    except ConnectionError:
        pass
    return count


SHORT = Limits(head=0.5, idle=1.0)


@pytest.mark.parametrize(
    ("sent", "drip"),
    [(b"", b""), (b"", b"GET /" + b"x" * 95), (b"GET /health HTTP/1.1\r\n", b"x" * 100)],
    ids=["silent", "request line", "headers"],
)
def test_headers_that_do_not_come_to_their_end_are_not_awaited_for_ever(plane: Plane, sent: bytes, drip: bytes) -> None:
    with served(plane.handle, limits=SHORT) as url, peer(url) as connection:
        connection.sendall(sent)
        assert 0.4 < seconds_to_the_end(connection, drip) < 3


@pytest.mark.parametrize("drip", [b"", b"GET /" + b"x" * 95], ids=["silent", "dripping"])
def test_nor_are_those_of_a_next_request(plane: Plane, drip: bytes) -> None:
    with served(plane.handle, limits=SHORT) as url, peer(url) as connection:
        connection.sendall(HEALTH)
        assert 0.9 < seconds_to_the_end(connection, drip) < 4


def test_nor_is_the_rest_of_a_body_that_was_answered_already(plane: Plane) -> None:
    head = b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n"
    with served(plane.handle, limits=Limits(head=0.5, idle=60)) as url, peer(url) as connection:
        connection.sendall(head + b" " * (BODY_LIMIT + 1))
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
        assert 0.4 < seconds_to_the_end(connection, b" " * 100) < 3


def test_a_client_that_reads_nothing_is_not_awaited_for_ever() -> None:
    answer = Response(200, {}, b"x" * 20_000_000)
    with served(lambda _: answer, limits=Limits(answer=0.5)) as url, peer(url) as connection:
        connection.sendall(HEALTH)
        time.sleep(1.5)
        assert taken(connection) < len(answer.body)
        assert httpx.get(url).status_code == 200


def test_a_client_that_reads_on_may_take_as_long_as_it_needs() -> None:
    answer = Response(200, {}, b"x" * 30_000_000)
    with served(lambda _: answer, limits=Limits(answer=0.5)) as url, peer(url) as connection:
        connection.sendall(HEALTH.replace(b"/health", b"/large"))
        count = 0
        for _ in range(25):
            time.sleep(0.1)
            count += len(connection.recv(1_000_000, socket.MSG_WAITALL))
        connection.shutdown(socket.SHUT_WR)
        assert count + taken(connection) > len(answer.body)


def test_who_sends_no_more_is_answered_what_was_asked_and_then_the_connection_ends() -> None:
    def slow(_: Request) -> Response:
        time.sleep(0.3)
        return Response(200, {}, b"done")

    with served(slow) as url, peer(url) as connection:
        connection.sendall(HEALTH.replace(b"/health", b"/slow"))
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(10)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"done")


@pytest.mark.parametrize("cut", [b"", HEALTH[:-3]], ids=["whole", "half a request more"])
def test_who_sends_several_requests_and_then_no_more_gets_every_answer_in_order(cut: bytes) -> None:
    done: list[str] = []

    def slow(request: Request) -> Response:
        time.sleep(0.2)
        done.append(request.path)
        return Response(200, {}, f"<{request.path}>".encode())

    with served(slow) as url, peer(url) as connection, connection.makefile("rb") as stream:
        connection.sendall(b"".join(HEALTH.replace(b"health", name) for name in (b"a", b"b", b"c")) + cut)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(10)
        answer = stream.read()
    assert re.findall(rb"<(.*?)>", answer) == [b"/a", b"/b", b"/c"]
    assert done == ["/a", "/b", "/c"]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET http://x/health", 200),
        (b"GET HTTPS://u@x:1/health?y", 200),
        (b"POST http://x/health", 405),
        (b"GET http://x", 404),
        (b"GET http:///health", 404),
        (b"GET ftp://x/health", 404),
        (b"GET //health", 404),
        (b"GET health", 404),
        (b"OPTIONS *", 404),
        (b"OPTIONS /api/compute/pools/list", 405),
        (b"TRACE /health", 405),
        (b"CONNECT x:1", 404),
    ],
    ids=ascii,
)
def test_every_form_of_a_target_is_routed_by_its_path(plane: Plane, line: bytes, status: int) -> None:
    """RFC 9112, 3.2: a server accepts the absolute form from any client. What names no path of ours is told so."""
    with served(plane.handle) as url, peer(url) as connection, connection.makefile("rb") as stream:
        connection.sendall(line + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = stream.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/json" in head
    code = {200: None, 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}[status]
    assert json.loads(body).get("error", {}).get("code") == code


def test_who_keeps_to_the_limits_keeps_the_connection(plane: Plane) -> None:
    """Also when a call takes longer than any of the limits: that is no client's fault."""

    def slow(request: Request) -> Response:
        time.sleep(1.3)
        return plane.handle(request)

    with served(slow, limits=SHORT) as url, peer(url) as connection, connection.makefile("rb") as stream:
        for _ in range(2):
            time.sleep(0.3)
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            length = 0
            while (line := stream.readline()) != b"\r\n":
                length = int(line.split()[1]) if line.startswith(b"content-length") else length
            assert len(stream.read(length)) == length > 0


def test_one_connection_too_many_is_closed_at_once_and_told_once(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    with served(plane.handle, limits=Limits(connections=4)) as url:
        with ExitStack() as stack:
            few = [stack.enter_context(peer(url)) for _ in range(4)]
            for _ in range(3):
                with peer(url) as another:
                    assert seconds_to_the_end(another) < 5
            few[0].sendall(HEALTH)
            assert few[0].recv(100).startswith(b"HTTP/1.1 200 ")
        for _ in range(100):  # the server hears of those that left in its own time
            try:
                assert httpx.get(f"{url}/health").status_code == 200
                break
            except httpx.TransportError:
                time.sleep(0.05)
        else:
            pytest.fail("those that left still count")
    assert [r.message for r in caplog.records] == ["4 connections are open: any more are closed at once"]


def test_health_is_answered_while_every_thread_waits_for_the_database(plane: Plane) -> None:
    free = threading.Event()

    def handle(request: Request) -> Response:
        if request.path != "/health":
            free.wait(30)
        return plane.handle(request)

    with served(handle) as url, ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(peer(url)).sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            assert httpx.get(f"{url}/health", timeout=10).json() == {"status": "ok"}
        finally:
            free.set()


@pytest.mark.parametrize("body", [b"5\r\nhello\r\n0\r\n\r\n" + HEALTH, b"nothing\r\n"], ids=["two requests", "broken"])
def test_a_request_with_two_lengths_is_refused_and_the_connection_closed(
    plane: Plane, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served(plane.handle) as url, peer(url) as connection, connection.makefile("rb") as stream:
        connection.sendall(head + body)
        answer = stream.read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert "Traceback" not in caplog.text


POST = b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 70_000,
        POST + b"\r\nzz\r\n",
        POST + b"\r\n5\r\nhelloworld",
        POST + b"Connection: close\r\n\r\nzz\r\n",
    ],
    ids=["TLS", "no host", "long headers", "broken body", "body goes on", "broken last body"],
)
def test_what_is_no_http_gets_the_envelope_and_the_operator_no_line(
    plane: Plane, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def handle(request: Request) -> Response:
        asked.append(request.path)
        return plane.handle(request)

    with served(handle) as url, peer(url) as connection, connection.makefile("rb") as stream:
        # Each part is read whole: what the server had not read at the end would break the connection.
        for part in (HEALTH, sent[:60_000], sent[60_000:]):
            connection.sendall(part)
            time.sleep(0.1)
        first, _, last = stream.read().rpartition(b"HTTP/1.1 ")
    assert first.startswith(b"HTTP/1.1 200 ")
    head, _, body = last.partition(b"\r\n\r\n")
    status, *lines = head.splitlines()
    lines = [line.lower() for line in lines]
    assert status == b"400 Bad Request"
    assert {b"content-type: application/json", b"connection: close", b"cache-control: no-store"} <= set(lines)
    assert b"content-length: %d" % len(body) in lines
    instance = plane.store.view(lambda tx: tx.instance_id())
    assert f"x-better-compute-instance: {instance}".encode() in lines
    assert body == b'{"error":{"code":"INVALID_INPUT","message":"what came is no valid HTTP request"}}'
    assert asked == ["/health", ""]
    assert caplog.records == []


@pytest.mark.parametrize("to", [b"h2c", b"websocket"])
def test_an_upgrade_is_ignored_and_the_operator_gets_no_line(
    plane: Plane, to: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade = HEALTH[:-2] + b"Connection: Upgrade\r\nUpgrade: %b\r\n\r\n" % to
    with served(plane.handle) as url, peer(url) as connection, connection.makefile("rb") as stream:
        connection.sendall(upgrade + upgrade + HEALTH[:-2] + b"Connection: close\r\n\r\n")
        assert stream.read().count(b"HTTP/1.1 200 OK\r\n") == 3
    assert caplog.records == []


def test_what_follows_the_last_request_is_not_read_and_the_call_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    """An answer of 400 would be a lie: the call is carried out."""
    begun = threading.Event()

    def slow(_: Request) -> Response:
        begun.set()
        time.sleep(0.5)
        return Response(200, {}, b"done")

    with served(slow) as url, peer(url) as connection, connection.makefile("rb") as stream:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert begun.wait(10)
        connection.sendall(b"more\r\n\r\n")
        time.sleep(0.1)
        connection.sendall(HEALTH)
        answer = stream.read()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\ndone")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert caplog.records == []


def test_who_sends_nonsense_and_does_not_read_is_not_awaited_for_ever() -> None:
    """What was answered before fills the kernel's buffers, so that the 400 stays in the server's."""
    large, none = Response(200, {}, b"x" * 40_000), Response(400, {}, b"")

    def handle(request: Request) -> Response:
        return none if request.unread else large

    with served(handle, limits=Limits(idle=0.5), send_buffer=4096) as url, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port_of(url)))
        connection.sendall(HEALTH + POST + b"\r\nzz\r\n")
        time.sleep(1.5)
        connection.settimeout(10)
        assert taken(connection) < len(large.body)


def test_a_fault_of_the_door_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Request) -> Response:
        raise ZeroDivisionError

    with served(broken) as url:
        assert httpx.get(url).status_code == 500
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


PROGRAM = """
import json, logging, os, resource, socket, sys, threading
from better_compute.api.asgi import Door
from better_compute.api.server import Limits, make
from better_compute.wire.message import Response

files, held, limits = json.loads(sys.argv[1])
if files:
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
for _ in range(held):
    os.dup(0)

def handle(request):
    if request.path == "/waits":
        threading.Event().wait()
    return Response(200, {}, b"x" * 5_000_000 if request.path == "/large" else b"{}")

logging.basicConfig(level=logging.WARNING)
with socket.create_server(("127.0.0.1", 0)) as listening:
    said = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = make(Door(handle), lambda: print(said, flush=True), Limits(**limits))
    server.run(sockets=[listening])
"""


@dataclass(frozen=True)
class Served:
    url: str
    process: subprocess.Popen[bytes]
    said: IO[str]

    def lines(self) -> list[str]:
        """What it wrote to stderr until now, when it is ended."""
        self.process.kill()
        self.process.wait()
        self.said.seek(0)
        return self.said.read().splitlines()


@contextmanager
def program(files: int = 0, held: int = 0, **limits: Any) -> Iterator[Served]:
    """A process that serves with these limits, and its URL; with at most so many open files, so many of them held."""
    arguments = [sys.executable, "-c", PROGRAM, json.dumps([files, held, limits])]
    # A file: a pipe that is full would hold up who writes too much.
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=said) as process,
    ):
        assert process.stdout is not None
        try:
            yield Served(process.stdout.readline().decode().strip(), process, said)
        finally:
            process.kill()


def health(url: str) -> int:
    """The status, once one of the connections that fill the server has gone."""
    for _ in range(100):
        try:
            return httpx.get(f"{url}/health", timeout=10).status_code
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("nobody is answered")


@pytest.mark.parametrize("files", [64, 100, 128, 200])
def test_idle_connections_do_not_take_the_last_open_file(files: int) -> None:
    """With the database's files open too, and however many connect before the server comes to look."""
    database = 40 if files >= 100 else 2
    with program(files=files, held=database, head=1.0) as server, ExitStack() as stack:
        server.process.send_signal(signal.SIGSTOP)
        for _ in range(files + 100):
            stack.enter_context(peer(server.url))
        server.process.send_signal(signal.SIGCONT)
        assert health(server.url) == 200
        [line] = server.lines()
    assert "connections are open: any more are closed at once" in line


def test_a_crowd_that_comes_at_once_is_taken() -> None:
    with program() as server, ExitStack() as stack:
        crowd = [stack.enter_context(peer(server.url)) for _ in range(300)]
        for connection in crowd:
            connection.sendall(HEALTH)
        for connection in crowd:
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_the_want_of_open_files_is_told_by_one_line() -> None:
    with program(files=40, connections=1000, head=3.0) as server, ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(peer(server.url))
        time.sleep(2)
        stack.close()
        assert health(server.url) == 200
        [line] = server.lines()
    assert "no connection can be taken now: [Errno 24] Too many open files" in line


@pytest.mark.parametrize(
    ("sent", "codes"),
    [(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 200, {-15, 143}), (b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n", {143})],
    ids=["a client that does not read", "a database that stands still"],
)
def test_the_process_ends_soon_after_the_grace(sent: bytes, codes: set[int]) -> None:
    with program(grace=1.0) as server, peer(server.url) as connection, peer(server.url) as another:
        connection.sendall(sent)
        another.sendall(sent)
        assert httpx.get(f"{server.url}/health").status_code == 200
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        assert server.process.wait(20) in codes
        assert 0.9 < time.monotonic() - begin < 8
        [line] = server.lines()
    assert "2 connections are closed: their calls did not finish in 1 s" in line


def test_nonsense_after_an_early_answer_ends_the_connection_without_a_word() -> None:
    with program() as server, peer(server.url) as connection:
        connection.sendall(b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"%x\r\n" % (BODY_LIMIT + 9) + b" " * (BODY_LIMIT + 9) + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"zz\r\nbad\r\n")
        assert seconds_to_the_end(connection) < 5
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert server.lines() == []


def test_a_second_signal_ends_the_grace_and_answers_nobody() -> None:
    """What is under way may be carried out: an answer of 500 would be a lie."""
    with program(grace=30.0) as server, peer(server.url) as connection:
        connection.sendall(b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
        assert httpx.get(f"{server.url}/health").status_code == 200
        begin = time.monotonic()
        for _ in range(2):
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        assert taken(connection) == 0
        assert server.process.wait(20) == 130
        assert time.monotonic() - begin < 10
        [line] = server.lines()
    assert "1 connections are closed: a second signal came" in line


def test_an_interrupt_has_its_own_code_then_too() -> None:
    with program(grace=0.2) as server, peer(server.url) as connection:
        connection.sendall(b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
        assert httpx.get(f"{server.url}/health").status_code == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 130
