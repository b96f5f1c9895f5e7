"""The door on a socket: uvicorn with an end to every connection, and to itself."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from better_compute.api.asgi import Door

log = logging.getLogger(__name__)

_faults = logging.getLogger(f"{__name__}.faults")
_faults.setLevel(logging.ERROR)
"""Where uvicorn tells of a connection: of our faults, and nothing that its client could have a line written with."""

BACKLOG = 2048
"""So many callers may wait for the kernel to hand them over."""

_AT_ONCE = 2
"""So many connections are taken in each round of the event loop, or one more in later versions of CPython. The others
wait in the kernel, where they are none of this process's files."""

_ROUNDS = 4
"""In the third round after it was taken a connection too many is given back: so many rounds' are open at most."""

_RESERVE = 64 + _ROUNDS * (_AT_ONCE + 1)
"""File descriptors that are not among the connections that may be open: two for each of the database's (40), the
standard ones, the event loop's, what the process was started with; and the connections too many."""

FEWEST_FILES = 32
"""With fewer not even the first call could be answered."""

_STEP = 256 * 1024
"""Bytes that a client must read, or the whole rest, before its time begins anew."""

_AFTER_GRACE_SECONDS = 2.0
"""How long the process may take to end of itself after the grace."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are seconds."""

    head: float = 30.0
    """From the connection, or from an answer that came before its request's end, to the end of the next headers."""
    idle: float = 75.0
    """From an answer to the end of the next headers: longer than any client of ours keeps a connection."""
    answer: float = 120.0
    """How long a client may take to read a step of what it was answered: 256 KiB, some 2 kB each second."""
    grace: float = 30.0
    """How long calls in flight may take to finish after SIGTERM or SIGINT."""
    connections: int | None = None
    """The most at once; None is what the process may open files for, and 1000 at most. With so few files that the
    database would need them all it is one."""

    def most(self) -> int:
        if self.connections is not None:
            return self.connections
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return 1000 if files == resource.RLIM_INFINITY else min(1000, max(files - _RESERVE, 1))


class Connection(H11Protocol):
    """No client holds a connection longer than the limits: uvicorn itself waits for ever for the end of headers, for
    the rest of a body that was answered already, and for a client to read.

    After an upgrade of uvicorn it must still hold, and tests see it: `connections` has this connection from
    `connection_made` to `connection_lost`, `handle_events` sets a new `cycle` for each request whose headers are
    complete, and `on_response_complete` is called after each answer. `conn` is h11's. What a client sends is told to
    `logger` below the level of an error, what is no HTTP is answered by `send_400_response`, and an upgrade is ignored.
    A `cycle` that is `disconnected` hears so as its `message_event` is set, and sends no more.

    A client that will send no more (a half-closed connection) still gets the answers to all that it asked: the calls
    are carried out. So does one that sends more after its last request: that is not read.
    """

    door: Door
    limits = Limits()
    crowd: Crowd
    _ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        self.logger = _faults
        super().connection_made(transport)
        self._drop = self.loop.call_later(self.limits.head, transport.abort)
        if self.crowd.is_too_large(len(self.connections)):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._drop.cancel()
        self.crowd.shrank(len(self.connections))

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is not h11.MUST_CLOSE:
            super().data_received(data)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._wait()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's own words
        """The last answer; the request that is broken by now is not carried out, since its body has no end."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # it was answered early: that was the answer
            self.transport.abort()
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        answer = self.door.answer_to_nonsense()
        headers = [*answer.headers.items(), ("content-length", str(len(answer.body))), ("connection", "close")]
        status = HTTPStatus(answer.status)
        head = h11.Response(status_code=status, headers=headers, reason=status.phrase)
        for event in (head, h11.Data(data=answer.body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._wait()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio keeps the connection where it is true
        self._ended = True
        return self.cycle is not None and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()
        if self._ended and self.cycle.response_complete:  # and there was no next request, which would be begun by now
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._wait()

    def _wait(self) -> None:
        """The connection may take so long from now on; then it is dropped, with what is still to be sent. There is no
        limit here to the time between a request's headers and its answer: the door has one for the body."""
        self._drop.cancel()
        if self.flow.write_paused:
            left = self.transport.get_write_buffer_size()
            self._drop = self.loop.call_later(self.limits.answer, self._goes_on, left)
            return
        # Also when it is closing and only what was written is to be sent.
        if self.cycle is not None and not self.cycle.response_complete and not self.transport.is_closing():
            return
        seconds = self.limits.head if self.conn.their_state is h11.SEND_BODY else self.limits.idle
        self._drop = self.loop.call_later(seconds, self.transport.abort)

    def _goes_on(self, before: int) -> None:
        """Whether the client read on; then it may take as long again."""
        left = self.transport.get_write_buffer_size()
        if before - left < min(before, _STEP):
            self.transport.abort()
        else:
            self._wait()


class Crowd:
    """How many connections there are, and whether the operator knows that they are too many: told once a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._told = False

    def is_too_large(self, count: int) -> bool:
        if count > self._most and not self._told:
            self._told = True
            log.warning("%d connections are open: any more are closed at once", self._most)
        return count > self._most

    def shrank(self, count: int) -> None:
        self._told = self._told and count > self._most // 2


class Server(uvicorn.Server):
    """Ends at SIGTERM and SIGINT within the grace and a little more, whatever clients and the database do. After an
    upgrade of uvicorn it must still hold, and tests see it: `startup` opens the sockets, `shutdown` waits for the
    `connections` and the tasks of `server_state`, and `handle_exit` is the handler of both signals."""

    def __init__(self, config: uvicorn.Config, door: Door, limits: Limits, announce: Callable[[], object]) -> None:
        super().__init__(config)
        self._door, self._limits, self._announce = door, limits, announce
        # What a signal's handler does with a thread's lock could wait for itself; with this queue it cannot.
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._told = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        threading.Thread(target=self._end, name="end", daemon=True).start()
        super().run(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._on_error)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # the event loop made it as short as what it takes at once
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.hurry()
        grace = f"their calls did not finish in {self._limits.grace:g} s"
        asyncio.get_running_loop().call_later(self._limits.grace, self._drop, grace)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A second signal ends the grace. Uvicorn would answer 500 then, for calls that are carried out."""
        if not self.should_exit:
            super().handle_exit(sig, frame)
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(self._drop, "a second signal came")
        self._signals.put(sig)

    def _drop(self, why: str) -> None:
        """The grace is over. Who still waits learns that the connection broke: the call may have been carried out."""
        connections = list(self.server_state.connections)
        if connections:
            log.warning("%d connections are closed: %s", len(connections), why)
        for connection in connections:
            connection.transport.abort()

    def _end(self) -> None:
        """A thread that waits for a database keeps the process alive: then it ends here, with the signal's code."""
        code = 128 + self._signals.get()
        with suppress(Empty):
            self._signals.get(timeout=self._limits.grace)
        time.sleep(_AFTER_GRACE_SECONDS)
        os._exit(code)

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """One line, once, where the event loop would write a traceback for each connection that it cannot take."""
        if context.get("message") != "socket.accept() out of system resource":
            loop.default_exception_handler(context)
        elif not self._told:
            self._told = True
            log.error("no connection can be taken now: %s", context.get("exception"))


def make(door: Door, announce: Callable[[], object], limits: Limits | None = None) -> Server:
    """What serves on the sockets that its `run` is given, until SIGTERM or SIGINT. `announce` is called once callers
    are answered and a signal is heeded: not before, when one would end the process in the middle of its start."""
    limits = limits or Limits()
    protocol = type("Limited", (Connection,), {"door": door, "limits": limits, "crowd": Crowd(limits.most())})
    config = uvicorn.Config(
        door,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        loop="asyncio",  # another one has its own ways: how many it takes at once, and what it says when it cannot
        backlog=_AT_ONCE,
        timeout_keep_alive=limits.idle,  # type: ignore[arg-type]  # any number of seconds will do
    )
    return Server(config, door, limits, announce)
