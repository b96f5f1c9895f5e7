"""A pair of control planes, on SQLite and on PostgreSQL, that are asked the same at the same time with the same chance:
whatever they answer and keep is equal."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection, Table

from better_compute.api.handle import handler
from better_compute.reconcilers import rounds
from better_compute.reconcilers.hosts import Keeper
from better_compute.service.core import Service
from better_compute.service.ports import Caller, Spending, Verdict
from tests.better_compute.bills import Bills, billed, yes
from tests.better_compute.plane import IDENTITIES, START, Answer, Plane, open_plane
from tests.invariants import TABLES, Found, Rows

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
    sqlite: sqlite3.Connection
    postgresql: psycopg.Connection[Any]
    chances: tuple[Chance, Chance]
    keepers: Sequence[Keeper] = ()
    turns: int = 0
    now: int = START
    steps: int = 0
    """Since the pair was made."""
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often something came about: an operation with the code it answered, a rule that refused, a state of a
    reservation with its reason."""

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
        return _equal(work(plane.service) for plane in self.planes)

    def keep(self, work: Callable[[Keeper], T]) -> T:
        """What it does with its hosts, and what it remembers of them since `begin`."""
        return _equal(work(keeper) for keeper in self.keepers)

    def found(self) -> Found:
        """What both keep. Events get their numbers on PostgreSQL when somebody asks for them."""
        here, there = self.rows()
        for name, rows in here.items():
            if name == "events":
                rows = [
                    row if at["sequence"] else row | _UNNUMBERED for row, at in zip(rows, there[name], strict=False)
                ]
            if name != "event_heads":
                assert rows == there[name], f"{name} are {rows} on SQLite, {there[name]} on PostgreSQL"
        return Found(here)

    def number(self) -> None:
        """Give numbers to all events: now the chains are equal, too."""
        for plane in self.planes:
            for tenant_id in ("root", "acme", "globex"):
                plane.store.number_events(tenant_id)
        here, there = self.rows()
        assert here == there, "the chains of events differ"

    def rows(self) -> tuple[dict[str, Rows], dict[str, Rows]]:
        """All rows of both, by table. They are read after every step, so with as little ado as can be."""
        here: dict[str, Rows] = {}
        for table in TABLES:
            found = self.sqlite.execute(f"SELECT * FROM {table.name} ORDER BY {_key(table)}")
            names = [column[0] for column in found.description]
            here[table.name] = [dict(zip(names, map(_as_json, row), strict=True)) for row in found]
        there = self.postgresql.execute(_ALL).fetchone()
        assert there is not None
        return here, there[0]

    def begin(self, *, wakes: bool) -> None:
        """Forget all that was done; `wakes`: what waits is tried at once when something came free."""
        for plane in self.planes:
            assert plane.store._database.write(_empty) is None  # type: ignore[attr-defined]
            plane.time.now, plane.time.ticks = START, 0
            bare = replace(plane.service, freed=lambda _: None, placed=lambda _: None, changed=lambda _: None)
            plane.service = woken(bare) if wakes else bare
            plane.handle = handler(plane.service, _caller)
        self.keepers = [Keeper(plane.service) for plane in self.planes]
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


def _equal(done: Iterable[T]) -> T:
    one, other = done
    assert one == other, f"it did {one} on SQLite, {other} on PostgreSQL"
    return one


_UNNUMBERED = {"sequence": None, "hash": None}


def _caller(token: str) -> Caller:
    """Who asks is believed: it is not what sequences are about, and would be most of their time."""
    who = token.removeprefix("bc_")
    return Caller(identity_id=who, tenant_id=IDENTITIES[who])


def _as_json(value: Any) -> Any:
    """A value of SQLite's as PostgreSQL writes it into JSON."""
    return rf"\x{value.hex()}" if isinstance(value, bytes) else value


def _empty(connection: Connection) -> None:
    for table in reversed(TABLES):
        connection.execute(table.delete())


def _key(table: Table) -> str:
    return ", ".join(column.name for column in table.primary_key)


def _rows(table: Table) -> str:
    return f"'{table.name}', (SELECT coalesce(json_agg(x ORDER BY {_key(table)}), '[]') FROM {table.name} x)"


_ALL = f"SELECT json_build_object({', '.join(map(_rows, TABLES))})"


@contextmanager
def pair_of(directory: Path, postgres_url: str) -> Iterator[Pair]:
    """A pair on an SQLite file in the directory and on a PostgreSQL database."""
    chances, path = (Chance(), Chance()), directory / "pair.sqlite"
    urls = f"sqlite:///{path}", postgres_url
    one, other = (billed(open_plane(url, entropy=chance), Bills()) for url, chance in zip(urls, chances, strict=True))
    here = sqlite3.connect(path, isolation_level=None)
    there = psycopg.connect(postgres_url.replace("+psycopg", "", 1), autocommit=True)
    try:
        yield Pair((one, other), here, there, chances)
    finally:
        for each in (here, there, one.store, other.store):
            each.close()


def woken(bare: Service) -> Service:
    """As the process of an embedded control plane: it does what a call let go on."""

    def freed(pool_id: str) -> None:
        rounds.in_pools(bare, [pool_id])

    def placed(pool_id: str) -> None:
        rounds.in_pools(bare, (), [pool_id])

    def changed(pool_id: str) -> None:
        rounds.in_pools(bare, (), (), [pool_id])

    return replace(bare, freed=freed, placed=placed, changed=changed)
