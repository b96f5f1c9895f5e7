"""A pair of control planes, on SQLite and on PostgreSQL, that are asked the same at the same time with the same chance:
whatever they answer and keep is equal."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from better_compute.api.handle import handler
from better_compute.iam import Tokens
from better_compute.reconcilers import rounds
from better_compute.service.core import Service
from better_compute.service.ports import Spending, Verdict
from tests.better_compute.bills import Bills, billed, yes
from tests.better_compute.plane import START, Answer, Plane, open_plane
from tests.invariants import TABLES, Found, found_in

T = TypeVar("T")


@dataclass
class Chance:
    """Bytes that are the same for whoever asks for them at the same turn, and never the same again."""

    turn: int = 0
    asked: int = 0

    def __call__(self, size: int) -> bytes:
        self.asked += 1
        return hashlib.shake_128(f"{self.turn} {self.asked}".encode()).digest(size)


@dataclass
class Pair:
    planes: tuple[Plane, Plane]
    chances: tuple[Chance, Chance]
    turns: int = 0
    now: int = START
    steps: int = 0
    """Since the pair was made."""
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often something came about: an operation with the code it answered, a rule that refused, a reservation's state
    with its reason."""

    def turn(self, passing: int = 1) -> None:
        """Time goes on."""
        self.turns += 1
        self.now = max(plane.time.now for plane in self.planes) + passing
        for plane, chance in zip(self.planes, self.chances, strict=True):
            plane.time.now = self.now
            chance.turn, chance.asked = self.turns, 0

    def ask(self, who: str, operation: str, body: Mapping[str, Any]) -> Answer:
        one, other = (plane.ask(who, operation, body) for plane in self.planes)
        assert one.raw == other.raw, f"{operation} is answered {one.value} on SQLite, {other.value} on PostgreSQL"
        assert one.raw.status != 500, f"{operation} failed"
        self.seen[operation, one.code] += 1
        if one.code != "OK" and (rule := one.error.get("rule")):
            self.seen["rule", rule] += 1
        return one

    def do(self, work: Callable[[Service], T]) -> T:
        """What a control plane does by itself."""
        one, other = (work(plane.service) for plane in self.planes)
        assert one == other, f"it did {one} on SQLite, {other} on PostgreSQL"
        return one

    def found(self) -> Found:
        """What both keep. Events get their numbers on PostgreSQL when somebody asks for them."""
        one, other = (_read(plane, found_in) for plane in self.planes)
        for name, rows in one.rows.items():
            there = other.rows[name]
            if name == "events":
                rows = [row if at["sequence"] else row | _UNNUMBERED for row, at in zip(rows, there, strict=False)]
            if name != "event_heads":
                assert rows == there, f"{name} are {rows} on SQLite, {there} on PostgreSQL"
        return one

    def number(self) -> None:
        """Give numbers to all events: now the chains are equal, too."""
        for plane in self.planes:
            for tenant_id in ("root", "acme", "globex"):
                plane.store.number_events(tenant_id)
        one, other = (_read(plane, found_in).rows for plane in self.planes)
        assert one == other, "the chains of events differ"

    def begin(self, *, wakes: bool) -> None:
        """Forget all that was done; `wakes`: what waits is tried at once when something came free."""
        for plane in self.planes:
            assert plane.store._database.write(_empty) is None  # type: ignore[attr-defined]
            plane.time.now, plane.time.ticks = START, 0
            bare = replace(plane.service, freed=lambda _: None)
            woken = replace(bare, freed=lambda pool_id, service=bare: rounds.in_pool(service, pool_id))
            plane.service = woken if wakes else bare
            plane.handle = handler(plane.service, Tokens(plane.store, plane.time))
        self.say(yes)
        self.turns = 0
        self.turn()

    def say(self, word: Callable[[Spending], Verdict]) -> None:
        """What billing says from now on."""
        for plane in self.planes:
            plane.service.billing.say = word  # type: ignore[attr-defined]

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Whatever is done has a moment of its own: the events of several pools have one order."""
        for plane in self.planes:
            plane.time.ticks = 1
        yield
        for plane in self.planes:
            plane.time.ticks = 0


_UNNUMBERED = {"sequence": None, "hash": None}


def _read(plane: Plane, work: Callable[[Connection], T]) -> T:
    found: T = plane.store._database.read(work)  # type: ignore[attr-defined]
    return found


def _empty(connection: Connection) -> None:
    for table in reversed(TABLES):
        connection.execute(table.delete())


@contextmanager
def pair_of(directory: Path, postgres_url: str) -> Iterator[Pair]:
    chances = Chance(), Chance()
    urls = f"sqlite:///{directory / 'pair.sqlite'}", postgres_url
    one, other = (billed(open_plane(url, entropy=chance), Bills()) for url, chance in zip(urls, chances, strict=True))
    try:
        yield Pair((one, other), chances)
    finally:
        one.store.close()
        other.store.close()
