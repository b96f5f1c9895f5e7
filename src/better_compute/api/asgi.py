"""The door to the handler from a network: an ASGI application."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.responses import Response as Outgoing
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from better_compute.wire.message import BODY_LIMIT, Handle, Request, headers_of


def app(handle: Handle) -> ASGIApp:
    """An application whose every path is the handler's, with no router that would answer some of them itself. The
    handler runs in a thread, since it waits for the database."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await WebSocketClose()(scope, receive, send)
            return
        try:
            body = await _read(Incoming(scope, receive))
        except ClientDisconnect:
            return
        request = Request(scope["method"], scope["raw_path"].decode("latin-1"), headers_of(scope["headers"]), body)
        answer = await run_in_threadpool(handle, request)
        await Outgoing(answer.body, answer.status, dict(answer.headers))(scope, receive, send)

    return door


def run(application: ASGIApp, listening: socket.socket, announce: Callable[[], object], **settings: Any) -> None:
    """Serve on a socket until SIGTERM or SIGINT. `announce` is called once callers are answered and a signal is heeded:
    not before, when one would end the process in the middle of its start."""
    import uvicorn  # not at the top: an application that another server runs needs none

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            announce()

    Announced(uvicorn.Config(application, **settings)).run(sockets=[listening])


async def _read(incoming: Incoming) -> bytes:
    """The body, or what is enough of one that is too long: a byte past the limit, and the rest is not read."""
    body = bytearray()
    async for chunk in incoming.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            break
    return bytes(body[: BODY_LIMIT + 1])
