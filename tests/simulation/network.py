"""A network that loses, doubles, delays and cuts what is sent, and a gateway before the control plane that says no."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from random import Random
from typing import Any

import httpx

from better_compute.http import TIMEOUT, InProcess
from better_compute.wire.message import CHANGE_HEADER, INSTANCE_HEADER
from tests.simulation.scheduler import Scheduler

RATE = 0.25
"""Of all requests so many meet a fault."""

ENDING_RATE = 0.1
"""Of all faults so many end their call, in runs where such faults happen."""

IN_A_ROW = 3
"""So many attempts of one call fail at most, one after the other: a client makes more, so retries get through."""

WRITES = ("create", "update", "offer", "unoffer", "set", "archive")
_TRAVELS = (0.0, 0.0, 0.001, 0.005, 0.02, 0.2)
"""Seconds that a request is on its way, and its answer. There are few, so that many things are due at once."""
_HELD_UP = (0.0, 0.05, 1.0, 20.0, 40.0, 300.0, 7200.0)
"""So many seconds at most something is held up: it arrives in the same run, between two, or long after."""
LATE = "late"
"""In the place of a fault: nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way. `change`: the digest of the operation that it is of, if it is of one."""

    operation: str
    body: bytes
    change: str
    request: httpx.Request

    @property
    def is_write(self) -> bool:
        return self.operation.partition("/")[2] in WRITES


@dataclass(frozen=True, slots=True)
class Line:
    """What became of a request: when, in whose turn, what it was of, and the fault that it met. `status` of 0: no
    answer."""

    time: float
    who: int
    operation: str
    change: str
    fault: str
    status: int


Fault = Callable[["Network", Sent], httpx.Response]


@dataclass(slots=True)
class Network(httpx.BaseTransport):
    """`ends`: faults that end a call at once happen too; where it is not `faulty`, none does. What is of an operation
    that is `spared` does not arrive late."""

    scheduler: Scheduler
    inner: InProcess
    instance_id: str
    faulty: bool = True
    ends: bool = True
    spared: Collection[str] = ()
    trace: list[Line] = field(default_factory=list)
    writes: list[Sent] = field(default_factory=list)
    _failed: Counter[Any] = field(default_factory=Counter)

    @property
    def random(self) -> Random:
        return self.scheduler.random

    @contextmanager
    def faultless(self) -> Iterator[None]:
        """For a block no request meets a fault; what was sent before may still arrive."""
        before, self.faulty = self.faulty, False
        try:
            yield
        finally:
            self.faulty = before

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        change = json.loads(request.headers.get(CHANGE_HEADER, "{}")).get("operation", "")
        sent = Sent(request.url.path.removeprefix("/api/compute/"), body, change, request)
        if sent.is_write:
            self.writes.append(sent)
        name, fault = self._drawn(sent)
        self._travel()
        try:
            answer = fault(self, sent)
            self._travel()
        except httpx.TransportError:
            self._tell(sent, name, 0)
            raise
        self._tell(sent, name, answer.status_code)
        return answer

    def deliver(self, sent: Sent) -> httpx.Response:
        """It arrives, and the control plane does what it asks for."""
        return self.inner.handle_request(sent.request)

    def deliver_late(self, sent: Sent) -> None:
        """It arrives, and nobody hears of the answer."""
        if sent.is_write and sent.change not in self.spared:
            self._tell(sent, LATE, self.deliver(sent).status_code)

    def deliver_again(self, changes: Collection[str]) -> None:
        """What is held up arrives, and then, once more and in any order, all that was sent of these operations."""
        self.scheduler.sleep(max(_HELD_UP))
        writes = list({sent.body: sent for sent in self.writes if sent.change in changes}.values())
        self.random.shuffle(writes)
        for sent in writes:
            self.deliver_late(sent)

    def hold_up(self, sent: Sent) -> None:
        """It arrives in a while."""
        seconds = self.random.choice(_HELD_UP) * self.random.random()
        self.scheduler.after(seconds, lambda: self.deliver_late(sent))

    def _drawn(self, sent: Sent) -> tuple[str, Fault]:
        """The fault that a request meets. Of one call are all attempts at an operation, or at one question."""
        call = (sent.change or self.scheduler.who, sent.operation, sent.body)
        if not self.faulty or self._failed[call] == IN_A_ROW or self.random.random() >= RATE:
            del self._failed[call]
            return "", Network.deliver
        name = self.random.choice(ENDING if self.ends and self.random.random() < ENDING_RATE else PASSING)
        self._failed[call] += 1
        return name, _FAULTS[name]

    def _travel(self) -> None:
        self.scheduler.sleep(self.random.choice(_TRAVELS))

    def _tell(self, sent: Sent, fault: str, status: int) -> None:
        now, who = round(self.scheduler.now, 6), self.scheduler.who
        self.trace.append(Line(now, who, sent.operation, sent.change, fault, status))


def _drop(network: Network, _: Sent) -> httpx.Response:
    """It never arrives; a client may hear that nobody took it."""
    if network.random.random() < 0.5:
        raise httpx.ConnectError("refused")
    network.scheduler.sleep(TIMEOUT)
    raise httpx.ReadTimeout("dropped")


def _duplicate(network: Network, sent: Sent) -> httpx.Response:
    """It arrives twice, the second time perhaps long after."""
    network.hold_up(sent)
    return network.deliver(sent)


def _delay(network: Network, sent: Sent) -> httpx.Response:
    """It arrives later than what was sent after it, and is answered in time."""
    network.scheduler.sleep(network.random.random() * TIMEOUT * 0.9)
    return network.deliver(sent)


def _reorder(network: Network, sent: Sent) -> httpx.Response:
    """It arrives after its client gave it up, or is about to: in its next attempts' company, or after them."""
    network.hold_up(sent)
    network.scheduler.sleep(TIMEOUT)
    raise httpx.ReadTimeout("late")


def _cut(network: Network, sent: Sent) -> httpx.Response:
    """It is done, and the connection breaks before the answer, or within."""
    answer = network.deliver(sent)
    if network.random.random() < 0.5:
        raise httpx.RemoteProtocolError("disconnected without sending a response")
    return httpx.Response(answer.status_code, headers=_headers(answer), stream=_Broken(_half(answer)))


def _429(network: Network, _: Sent) -> httpx.Response:
    return _refused(network, 429, "RATE_LIMITED")


def _503(network: Network, _: Sent) -> httpx.Response:
    return _refused(network, 503, "UNAVAILABLE")


def _asks_for_an_hour(_: Network, __: Sent) -> httpx.Response:
    """No client waits so long."""
    return _error(429, "RATE_LIMITED", {"retry-after": "3600"})


def _500(network: Network, sent: Sent) -> httpx.Response:
    """The gateway falls over before it passed it on, or the control plane after it did what was asked."""
    if network.random.random() < 0.5:
        return _error(500, "INTERNAL_ERROR", {})
    network.deliver(sent)
    return _error(500, "INTERNAL_ERROR", {INSTANCE_HEADER: network.instance_id})


def _half_a_body(network: Network, sent: Sent) -> httpx.Response:
    """The answer ends in its middle, as if that were its end. It may have begun before anything was done, and it may be
    a gateway's own, which asked nobody."""
    what = network.random.choice(("done", "begun", "gateway"))
    if what == "done":
        answer = network.deliver(sent)
        return httpx.Response(answer.status_code, headers=_headers(answer), content=_half(answer))
    headers = {INSTANCE_HEADER: network.instance_id} if what == "begun" else {}
    return httpx.Response(200, headers=headers, content=b'{"data":{"id":"pool_')


_FAULTS: dict[str, Fault] = {
    "drop": _drop,
    "duplicate": _duplicate,
    "delay": _delay,
    "reorder": _reorder,
    "cut": _cut,
    "429": _429,
    "503": _503,
    "429 for an hour": _asks_for_an_hour,
    "500": _500,
    "half a body": _half_a_body,
}
FAULTS = tuple(_FAULTS)
ENDING = ("429 for an hour", "500", "half a body")
"""Those after which a client does not ask again: the operation failed, and the next run sees to it."""
PASSING = tuple(name for name in FAULTS if name not in ENDING)


@dataclass(frozen=True, slots=True)
class _Broken(httpx.SyncByteStream):
    """A body that breaks off."""

    data: bytes

    def __iter__(self) -> Iterator[bytes]:
        yield self.data
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


def _half(answer: httpx.Response) -> bytes:
    return answer.content[: len(answer.content) // 2]


def _headers(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name != "content-length"}


def _error(status: int, code: str, headers: dict[str, str], **more: Any) -> httpx.Response:
    return httpx.Response(status, headers=headers, json={"error": {"code": code, "message": "not now", **more}})


def _refused(network: Network, status: int, code: str) -> httpx.Response:
    """Nothing is done; it asks to wait in one way or another, or not at all."""
    random, now = network.random, network.scheduler.now
    asks: tuple[dict[str, str], ...] = (
        {},
        {"retry-after": "0"},
        {"retry-after": "-5"},
        {"retry-after": str(random.randrange(1, 30))},
        {"retry-after": formatdate(now + 20, usegmt=True), "date": formatdate(now, usegmt=True)},
        {"retry-after": "soon"},
    )
    more = {"retryAfterMs": random.randrange(5_000)} if random.random() < 0.3 else {}
    return _error(status, code, random.choice(asks), **more)
