"""One request table through both doors, byte for byte: in process, and over a socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from better_compute.http import InProcess
from better_compute.service.ports import EventQuery
from better_compute.wire.message import BODY_LIMIT, Request, Response
from tests.better_compute.api.request_table import TABLE, Sent
from tests.better_compute.api.served import served
from tests.better_compute.plane import Plane, open_plane

_ALL = EventQuery(tenant_id="root", limit=1000)
HEADERS = ("content-type", "x-request-id", "allow", "www-authenticate", "retry-after", "cache-control")


def request(client: httpx.Client, sent: Sent) -> httpx.Request:
    """The request with the path as it stands, which httpx would tidy."""
    url = httpx.URL(client.base_url).copy_with(raw_path=sent.target.encode())
    return httpx.Request(sent.method, url, headers=[("Host", "plane"), *sent.header_lines], content=sent.content)


Answers = dict[str, tuple[int, bytes, dict[str, str]]]


def answers(client: httpx.Client, plane: Plane) -> Answers:
    """What each request of the table is answered; whatever is this plane's own is named alike."""
    instance = plane.store.view(lambda tx: tx.instance_id())
    found: Answers = {}
    for sent in TABLE:
        try:
            answer = client.send(request(client, sent))
        except httpx.WriteError:
            # The server has answered and closed while the body was still being sent.
            assert len(sent.content) > BODY_LIMIT
            continue
        assert answer.headers["x-better-compute-instance"] == instance
        headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
        found[sent.name] = answer.status_code, plain(answer.content, plane), headers
    return found


def plain(body: bytes, plane: Plane) -> bytes:
    """The body with the random ids of this plane's events named by their order."""
    events = plane.store.view(lambda tx: [e.id for e in tx.events(_ALL)])
    for n, event_id in enumerate(events):
        body = body.replace(event_id.encode(), f"event {n}".encode())
    return body


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """The answers of two new planes, one asked in process and one over a socket."""

    def fresh(name: str) -> Plane:
        path: Path = tmp_path_factory.mktemp(name) / "plane.sqlite"
        return open_plane(f"sqlite:///{path}")

    inside, outside = fresh("inside"), fresh("outside")
    with httpx.Client(transport=InProcess(inside.handle), base_url="http://embedded") as client:
        first = answers(client, inside)
    with served(outside.handle) as url, httpx.Client(base_url=url) as client:
        second = answers(client, outside)
    for plane in (inside, outside):
        plane.store.close()
    return first, second


@pytest.mark.parametrize("name", [sent.name for sent in TABLE])
def test_both_doors_answer_alike(both: tuple[Answers, Answers], name: str) -> None:
    inside, outside = both
    if name in outside:
        assert outside[name] == inside[name]
    else:
        assert inside[name][0] == 413


STATUSES = {
    "create": 200,
    "conflict": 409,
    "version conflict": 409,
    "inactive": 403,
    "hidden": 404,
    "denied": 403,
    "unknown field": 400,
    "named change": 200,
    "wrong change": 400,
    "no token": 401,
    "wrong token": 401,
    "other scheme": 401,
    "no content type": 400,
    "content type with charset": 200,
    "other charset": 400,
    "no marker": 400,
    "deep": 400,
    "at the limit": 200,
    "over the limit": 413,
    "well over the limit": 413,
    "wrong method": 405,
    "no such operation": 404,
    "escaped path": 404,
    "escaped line feed": 404,
    "query": 200,
    "not built: metrics": 404,
    "not built: docs": 404,
    "health": 200,
    "health by post": 405,
    "description": 200,
    "archived": 409,
}


@pytest.mark.parametrize(("name", "status"), STATUSES.items())
def test_each_answer_has_its_status(both: tuple[Answers, Answers], name: str, status: int) -> None:
    assert both[0][name][0] == status


def test_hidden_and_absent_differ_in_nothing_but_the_request_id(both: tuple[Answers, Answers]) -> None:
    hidden, absent = both[1]["hidden"], both[1]["absent"]
    assert hidden[:2] == absent[:2]


@pytest.mark.parametrize("target", ["*", "pools/list", "/%0A/", "/%0Ax", "/%ff"])
def test_a_target_that_no_router_knows_gets_the_handlers_answer(plane: Plane, target: str) -> None:
    with served(plane.handle) as url, socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as connection:
        connection.sendall(f"OPTIONS {target} HTTP/1.1\r\nHost: plane\r\nConnection: close\r\n\r\n".encode())
        with connection.makefile("rb") as stream:
            answer = stream.read()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"\r\nx-better-compute-instance: inst_" in answer
    assert answer.endswith(b'{"error":{"code":"NOT_FOUND","message":"there is no such path","rule":"api.path"}}')


def test_a_body_that_is_too_long_is_not_read_to_its_end(plane: Plane) -> None:
    """The server answers while the client still has gigabytes to send."""
    seen: list[int] = []

    def handle(request: Request) -> Response:
        seen.append(len(request.body))
        return plane.handle(request)

    with served(handle) as url, socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 5) as peer:
        peer.sendall(
            b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bc_sa_fleet\r\n"
            b"Content-Length: 9999999999\r\n\r\n" + b" " * (BODY_LIMIT + 1)
        )
        assert peer.recv(100).startswith(b"HTTP/1.1 413 ")
    assert seen == [BODY_LIMIT + 1]


HEAD = (
    b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bc_sa_fleet\r\n"
    b"X-Request-Id: slow\r\nContent-Length: 1000\r\n\r\n"
)
"""The head of a request whose body is then awaited."""


@pytest.mark.parametrize("trickle", [False, True], ids=["silent", "trickling"])
def test_a_body_that_does_not_come_to_its_end_is_not_awaited_for_ever(plane: Plane, trickle: bool) -> None:
    with (
        served(plane.handle, body_seconds=0.5) as url,
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 5) as peer,
        peer.makefile("rb") as stream,
    ):
        peer.sendall(HEAD)
        begin = time.monotonic()
        for _ in range(4 if trickle else 0):
            time.sleep(0.1)
            peer.sendall(b" ")
        answer = stream.read()
        assert 0.4 < time.monotonic() - begin < 4
        assert httpx.get(f"{url}/health").status_code == 200
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    for line in (b"connection: close", b"x-request-id: slow", b"x-better-compute-instance: inst_"):
        assert b"\r\n" + line in head
    said = b"the body did not come to its end within 0.5 s"
    assert body == b'{"error":{"code":"REQUEST_TIMEOUT","message":"' + said + b'"}}'


def test_a_body_that_comes_in_time_is_answered_however_it_comes(plane: Plane) -> None:
    def parts() -> Iterator[bytes]:
        for byte in b'{"tenantId": "root"}':
            time.sleep(0.01)
            yield bytes([byte])

    headers = dict(Sent("slow").header_lines)
    with served(plane.handle, body_seconds=5) as url:
        assert httpx.post(f"{url}/api/compute/pools/list", content=parts(), headers=headers).status_code == 200


def test_a_client_that_leaves_while_it_sends_harms_nobody(plane: Plane) -> None:
    with served(plane.handle) as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as peer:
            peer.sendall(b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}


@pytest.mark.parametrize("header", ["Authorization", "Content-Type", "X-Better-Compute", "X-Better-Compute-Change"])
def test_a_header_sent_twice_does_not_pass_by_either_value(plane: Plane, header: str) -> None:
    sent = Sent("twice", headers={"X-Better-Compute-Change": "{}"})
    twice = [*sent.header_lines, *((n, v) for n, v in sent.header_lines if n == header)]
    with httpx.Client(transport=InProcess(plane.handle), base_url="http://embedded") as client:
        answer = client.post(sent.target, content=sent.content, headers=twice)
    assert answer.status_code == (401 if header == "Authorization" else 400)
