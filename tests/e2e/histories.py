"""Histories of pools as concurrent clients of a server see them, the server killed now and then."""

from __future__ import annotations

import random
import signal
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from better_compute.domain.ids import derive
from tests.e2e.booking_model import TENANTS, Operation
from tests.e2e.conftest import Server, serving
from tests.e2e.quick import NO_ANSWER, Quick
from tests.linear import Done

CLIENTS = 8
PATIENCE = 30.0
"""Seconds for one answer."""


@dataclass
class Instance:
    """A server that can be killed and comes back at the same place, in generations."""

    database: str
    arguments: tuple[str, ...]
    port: int = field(default_factory=lambda: _unused_port())
    server: Server | None = None
    up: threading.Condition = field(default_factory=threading.Condition)
    generation: int = 0
    stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        listening = ("--listen", f"127.0.0.1:{self.port}")
        self.server = self.stack.enter_context(serving(self.database, *listening, *self.arguments))
        with self.up:
            self.generation += 1
            self.up.notify_all()

    def kill(self) -> None:
        assert self.server is not None
        self.stop_with(signal.SIGKILL)
        self.stack.close()
        self.start()

    def stop_with(self, number: int) -> None:
        assert self.server is not None
        self.server.stop(number)

    def await_next(self, generation: int) -> None:
        """Come back when a later server than this one answers: what was asked before has an end by then."""
        with self.up:
            assert self.up.wait_for(lambda: self.generation > generation, PATIENCE), "no server came back"


def _unused_port() -> int:
    """One that nobody is given who asks for any: it is still free when the server comes back."""
    while True:
        port = random.SystemRandom().randrange(10_000, 30_000)
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                return port


@contextmanager
def instance(database: str, *arguments: str) -> Iterator[Instance]:
    found = Instance(database, arguments)
    found.start()
    try:
        yield found
    finally:
        found.stack.close()


@dataclass
class Recorder:
    """What clients asked of one server's pools and what they were answered, by pool."""

    instance: Instance
    tokens: dict[str, str]
    pools: list[str]
    seed: int
    histories: dict[str, list[Done]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock)
    left: int = 0

    def record(self, operations: int, kills: int) -> dict[str, list[Done]]:
        """So many operations of eight clients, the server killed so often in between."""
        self.left = operations
        with ThreadPoolExecutor(CLIENTS) as executor:
            clients = [executor.submit(self._client, number) for number in range(CLIENTS)]
            for at in range(kills):
                while self.left > operations * (kills - at) // (kills + 1) and not all(c.done() for c in clients):
                    time.sleep(0.005)
                self.instance.kill()
            for client in clients:
                client.result()
        return self.histories

    def _client(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        mine: dict[str, list[Operation]] = {pool: [] for pool in self.pools}
        assert self.instance.server is not None
        with Quick(self.instance.server.url, PATIENCE) as http:
            turn = 0
            while self._take():
                turn += 1
                pool = chance.choice(self.pools)
                operation = _wish(chance, mine[pool], f"{self.seed}-{number}-{turn}")
                while not (done := self._ask(http, pool, operation)).known and operation.name in ("book", "end"):
                    pass  # asked again: whether it was done is what its key is for
                if operation.name == "book" and done.answer == "live":
                    mine[pool].append(operation)

    def _take(self) -> bool:
        with self.lock:
            self.left -= 1
            return self.left >= 0

    def _ask(self, http: Quick, pool: str, operation: Operation) -> Done:
        generation = self.instance.generation
        asked = time.monotonic()
        try:
            answer, known = self._call(http, pool, operation), True
        except NO_ANSWER:
            self.instance.await_next(generation)
            answer, known = None, False
        done = Done(asked, time.monotonic(), operation, answer, known)
        with self.lock:
            self.histories[pool].append(done)
        return done

    def _call(self, http: Quick, pool: str, o: Operation) -> Any:
        tenant = o.tenant if o.name in ("book", "end") else "root"
        body: dict[str, Any] = {"tenantId": tenant, "poolId": pool}
        to = {"toTenantId": o.tenant, "quota": {"gpu": o.gpus}}
        match o.name:
            case "book":
                more = {"resources": {"gpu": o.gpus}, "idempotencyKey": o.key}
                data = self._post(http, "reservations/create", tenant, body | more)
                return data if isinstance(data, str) else "ended" if data["state"] == "ended" else "live"
            case "end":
                data = self._post(http, "reservations/end", tenant, {"tenantId": tenant, "reservationId": _id(o)})
                return data if isinstance(data, str) else data["state"]
            case "set" | "offer":
                name = "quotas/set" if o.name == "set" else "pools/offer"
                data = self._post(http, name, tenant, body | to)
            case "unoffer":
                data = self._post(http, "pools/unoffer", tenant, body | {"toTenantId": o.tenant})
                return data if isinstance(data, str) else data["removed"]
            case "archive":
                data = self._post(http, "pools/archive", tenant, body)
            case "look":
                data = self._post(http, "quotas/list", tenant, body)
                rows = {row["tenantId"]: row for row in data["items"] if row["resource"] == "gpu"}
                none = {"max": 0, "used": 0}
                return tuple((rows.get(t, none)["max"], rows.get(t, none)["used"]) for t in TENANTS)
        return data if isinstance(data, str) else "ok"

    def _post(self, http: Quick, operation: str, tenant: str, body: dict[str, Any]) -> Any:
        """The data of an answer, or the code of a refusal. A server that could not do it did nothing: again."""
        while True:
            status, value = http.post(operation, self.tokens[tenant], body)
            if status == 200:
                return value["data"]
            assert status < 500 or status == 503, value
            if status != 503:
                return value["error"]["code"]


def _id(booked: Operation) -> str:
    return derive("rsv", booked.tenant, f"sa_{booked.tenant}", booked.key)


def _wish(chance: random.Random, live: list[Operation], key: str) -> Operation:
    tenant = chance.choice(TENANTS)
    pick = chance.random()
    if live and pick < 0.3:
        return live.pop(chance.randrange(len(live)))._replace(name="end")
    if pick < 0.62:
        return Operation("book", tenant, chance.randint(1, 3), key)
    if pick < 0.74:
        return Operation("look")
    if pick < 0.86:
        return Operation("set", tenant, chance.randint(0, 12))
    if pick < 0.94:
        return Operation("offer", tenant, chance.randint(0, 12))
    return Operation("unoffer", tenant) if pick < 0.997 else Operation("archive")


def stale(history: list[Done]) -> Iterator[list[Done]]:
    """The same history, in which one look that saw something new saw what the one before it did; from the last such
    look on backwards."""
    looks = [number for number, done in enumerate(history) if isinstance(done.answer, tuple)]
    for before, now in reversed([*pairwise(looks)]):
        if history[before].answer != history[now].answer and history[before].answered < history[now].asked:
            yield [*history[:now], replace(history[now], answer=history[before].answer), *history[now + 1 :]]
