"""The network between a client and a real server: it can lose answers, refuse, hold, and act at a chosen request."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

WRITES = frozenset({"pools/create", "pools/update", "pools/offer", "pools/unoffer", "quotas/set", "pools/archive"})


@dataclass
class Exchange:
    """One request on its way. `write` counts the writes from 1 in order of arrival; None for a read."""

    operation: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    write: int | None
    _door: _Door
    _is_sent: bool = False

    def send(self) -> None:
        """The server has it; its answer is still to come."""
        self._door.send(self)
        self._is_sent = True

    def forward(self) -> tuple[int, dict[str, str], bytes]:
        """What the server answers: from here on it is done."""
        if not self._is_sent:
            self.send()
        self._is_sent = False
        return self._door.receive()

    def answer(self, status: int, body: bytes | Any, **headers: str) -> None:
        """Answer the client; anything but bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._door.send_response_only(status)
        usual = {"Content_Type": "application/json", "Content_Length": str(len(data))}
        for name, value in (usual | headers).items():
            self._door.send_header(name.replace("_", "-"), value)
        self._door.end_headers()
        self._door.wfile.write(data)

    def refuse(self, status: int, code: str, message: str = "not now", **headers: str) -> None:
        """An error of the server's own kind, without asking it."""
        self.answer(status, {"error": {"code": code, "message": message}}, **headers)

    def named(self) -> dict[str, str]:
        """The header that names the server, for what is answered in its place."""
        _, headers, _ = self.forward()
        return {"X_Better_Compute_Instance": headers["x-better-compute-instance"]}

    def pass_on(self) -> None:
        status, headers, body = self.forward()
        kept = {k: v for k, v in headers.items() if k in ("x-request-id", "x-better-compute-instance", "retry-after")}
        self.answer(status, body, **{name.replace("-", "_"): value for name, value in kept.items()})

    def drop(self) -> None:
        """The connection breaks without an answer."""
        self._door.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._door.close_connection = True
        self._door.connection.close()

    def lose(self) -> None:
        """The server does it, and nobody is told."""
        self.forward()
        self.drop()


Rule = Callable[[Exchange], None]


@dataclass
class Proxy:
    """`rule` decides what becomes of each request; `seen` holds them in order of arrival."""

    upstream: str
    url: str = ""
    rule: Rule = Exchange.pass_on
    seen: list[Exchange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def writes(self) -> list[Exchange]:
        return [exchange for exchange in self.seen if exchange.write is not None]

    def reset(self, rule: Rule = Exchange.pass_on) -> None:
        """Count anew, under another rule."""
        self.seen, self.rule = [], rule

    def note(self, door: _Door, operation: str, body: dict[str, Any]) -> Exchange:
        with self._lock:
            number = len(self.writes) + 1 if operation in WRITES else None
            headers = {name.lower(): value for name, value in door.headers.items()}
            self.seen.append(exchange := Exchange(operation, body, headers, number, door))
        return exchange


class _Door(BaseHTTPRequestHandler):
    """One connection of the client's, and one to the server."""

    protocol_version = "HTTP/1.1"
    proxy: Proxy
    _server: HTTPConnection | None = None

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        exchange = self.proxy.note(self, self.path.removeprefix("/api/compute/"), json.loads(data))
        try:
            self.proxy.rule(exchange)
        except (OSError, HTTPException):
            # The client or the server is gone: what is left of the connection is of no use.
            self.close_connection = True

    def send(self, exchange: Exchange) -> None:
        if self._server is None:
            place = urlsplit(self.proxy.upstream)
            self._server = HTTPConnection(place.hostname or "", place.port, timeout=60)
        sent = {name: value for name, value in exchange.headers.items() if name not in ("host", "content-length")}
        self._server.request("POST", self.path, json.dumps(exchange.body).encode(), sent)

    def receive(self) -> tuple[int, dict[str, str], bytes]:
        assert self._server is not None
        answer = self._server.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def finish(self) -> None:
        if self._server is not None:
            self._server.close()
        super().finish()

    def log_message(self, *_: Any) -> None:
        pass


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        pass


@contextmanager
def proxied(upstream: str) -> Iterator[Proxy]:
    """A proxy in front of a server, for the length of a block."""
    proxy = Proxy(upstream)
    listening = _Quiet(("127.0.0.1", 0), type("Door", (_Door,), {"proxy": proxy}))
    proxy.url = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield proxy
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def once_each(what: Rule) -> Rule:
    """The first write of every kind is treated so; all else is passed on."""
    met: set[str] = set()
    lock = threading.Lock()

    def rule(exchange: Exchange) -> None:
        with lock:
            first = exchange.write is not None and exchange.operation not in met
            met.add(exchange.operation)
        (what if first else Exchange.pass_on)(exchange)

    return rule
