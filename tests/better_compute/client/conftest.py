"""A server on a real socket that answers as a test tells it to, well or badly."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from better_compute.client import Calls, Client, Retry
from better_compute.http import Http

Handler = BaseHTTPRequestHandler
Step = Callable[[Handler], None]


@dataclass
class Received:
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Server:
    """Plays `script`, one step a request, the last one for ever; `received` is what it was sent."""

    url: str
    script: list[Step] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)


@dataclass
class Waits:
    """Sleep that only takes notes, on a clock that moves with it."""

    now: float = 1_800_000_000.0
    seconds: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds

    def clock(self) -> int:
        return round(self.now * 1000)


def reply(status: int, body: bytes | Any, **headers: str) -> Step:
    """An answer; anything but bytes is sent as JSON."""

    def step(handler: Handler) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response_only(status)
        usual = {"Content_Type": "application/json", "Content_Length": str(len(data)), "Connection": "close"}
        for name, value in (usual | headers).items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return step


def data(value: Any) -> Step:
    return reply(200, {"data": value})


def error(status: int, code: str, message: str = "no", **more: Any) -> Step:
    headers = {name: more.pop(name) for name in ("Retry_After", "Date") if name in more}
    return reply(status, {"error": {"code": code, "message": message, **more}}, **headers)


def pool(pool_id: str = "p", version: int = 1, **fields: Any) -> dict[str, Any]:
    """A pool as its owner sees it."""
    return {
        "id": pool_id,
        "ownerTenantId": "root",
        "siteId": "site_a",
        "class": "metal-host",
        "gpuModel": "H100",
        "sharing": "exclusive",
        "agent": "bcd",
        "policy": {},
        "version": version,
        "owned": True,
        "archived": False,
        "quotas": [],
        "offersVersion": 1,
        "ownerQuotaVersion": 1,
        "offers": [],
        "rollup": {"nodes": 0, "hostNodes": 0, "tenantOwnedNodes": 0, "models": {}, "gpus": 0, "atoms": {"total": 0}},
        **fields,
    }


def reset(handler: Handler) -> None:
    """The connection breaks as when the other side was killed."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    handler.connection.close()


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    class Scripted(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.received.append(Received(self.path, headers, json.loads(body)))
            step = script.script.pop(0) if len(script.script) > 1 else script.script[0]
            step(self)
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:
            pass

    listening = Quiet(("127.0.0.1", 0), Scripted)
    if tls is not None:
        listening.socket = tls.wrap_socket(listening.socket, server_side=True)
    script = Server(f"http{'s' if tls else ''}://127.0.0.1:{listening.server_address[1]}")
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def connect(waits: Waits) -> Iterator[Callable[..., Client]]:
    """Makes clients whose waits are only noted; random is always 1, so a backoff is as long as it can be."""
    opened: list[Http] = []

    def make(url: str, *, tenant_id: str | None = "root", token: str | None = None, timeout: float = 5.0) -> Client:
        http = Http(url, token=token, timeout=timeout)
        opened.append(http)
        return Client(Calls(http, tenant_id, Retry(waits.sleep, lambda: 1.0, waits.clock)))

    yield make
    for http in opened:
        http.close()
