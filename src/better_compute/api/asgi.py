"""The door to the handler from a network: an ASGI application."""

from __future__ import annotations

import asyncio
import math
import re

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.responses import Response as Outgoing
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketClose

from better_compute.domain.problems import INVALID_INPUT, REQUEST_TIMEOUT, UNAVAILABLE, Problem
from better_compute.wire.message import BODY_LIMIT, HEALTH, Handle, Request, Response, headers_of

BODY_SECONDS = 30.0
"""How long a request's body may take from its headers on: for one of the largest, 35 kB each second."""

LAST_SECONDS = 1.0
"""How long the bodies that are on their way may still take once the server is to stop."""

_TWO_LENGTHS = Problem(INVALID_INPUT, "", "a request has a Content-Length or a Transfer-Encoding, not both")
"""RFC 9112, 6.1: a proxy may have read another body than this server would."""

_NONSENSE = Problem(INVALID_INPUT, "", "what came is no valid HTTP request")

_ABSOLUTE = re.compile(r"\Ahttps?://[^/]+", re.IGNORECASE)
"""What comes before the path in the form of a target that proxies are sent, and that every server must accept (RFC
9112, 3.2.2). This server is the one that is meant, whatever it is called."""


class Door:
    """An application whose every path is the handler's, with no router that would answer some of them itself. The
    handler runs in a thread, since it waits for the database. No request waits for its body longer than
    `body_seconds`: neither a client that is silent nor one that sends a byte now and then holds anything for long."""

    def __init__(self, handle: Handle, body_seconds: float = BODY_SECONDS) -> None:
        self._handle = handle
        self._body_seconds = body_seconds
        self._reading: set[asyncio.Timeout] = set()
        self._end = math.inf
        """By the event loop's clock: no body is waited for after it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await WebSocketClose()(scope, receive, send)
            return
        headers, body = headers_of(scope["headers"]), b""
        unread = _TWO_LENGTHS if {"content-length", "transfer-encoding"} <= headers.keys() else None
        try:
            body = await self._read(Incoming(scope, receive))
        except ClientDisconnect:
            return
        except TimeoutError:
            unread = self._unread()
        path = _ABSOLUTE.sub("", scope["raw_path"].decode("latin-1"))
        answer = await self._answer(Request(scope["method"], path, headers, body, unread))
        # What is left of an unread body must not be taken for the next request.
        close = {"connection": "close"} if unread else {}
        await Outgoing(answer.body, answer.status, {**answer.headers, **close})(scope, receive, send)

    def answer_to_nonsense(self) -> Response:
        """What is said to who does not speak HTTP; it needs no database."""
        return self._handle(Request("", "", unread=_NONSENSE))

    def hurry(self) -> None:
        """The server is to stop: from now on it waits for bodies no longer than `LAST_SECONDS`."""
        self._end = asyncio.get_running_loop().time() + LAST_SECONDS
        for limit in self._reading:
            when = limit.when()
            if not limit.expired() and when is not None:
                limit.reschedule(min(when, self._end))

    async def _answer(self, request: Request) -> Response:
        """What needs no database is answered here and now: also while every thread waits for one."""
        if request.unread is not None or request.path == HEALTH:
            return self._handle(request)
        return await run_in_threadpool(self._handle, request)

    async def _read(self, incoming: Incoming) -> bytes:
        """The body, or what is enough of one that is too long: a byte past the limit, and the rest is not read. Raises
        TimeoutError."""
        body, now = bytearray(), asyncio.get_running_loop().time()
        async with asyncio.timeout_at(min(now + self._body_seconds, self._end)) as limit:
            self._reading.add(limit)
            try:
                async for chunk in incoming.stream():
                    body += chunk
                    if len(body) > BODY_LIMIT:
                        break
            finally:
                self._reading.discard(limit)
        return bytes(body[: BODY_LIMIT + 1])

    def _unread(self) -> Problem:
        """Why a body was not read to its end: the caller may ask again, since nothing was done."""
        if self._end < math.inf:
            return Problem(UNAVAILABLE, "", "this server is stopping, and the body had not come to its end")
        return Problem(REQUEST_TIMEOUT, "", f"the body did not come to its end within {self._body_seconds:g} s")
