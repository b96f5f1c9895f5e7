"""What the parts of a transaction share: running statements, dataclasses as rows, and JSON in text columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, CursorResult, Row, Select, Table, bindparam, select
from sqlalchemy.sql import Executable

from better_compute.domain.state import Rollup

T = TypeVar("T")
AnyRow = Row[*tuple[Any, ...]]
Values = Mapping[str, Any]
Weigh = Callable[[AnyRow], int]
"""How much of a page's room a row takes."""

_AT_ONCE = 200
"""So many rows, each with at most two policies, are in memory before it is known whether there is room for them."""

LONG_AT_ONCE = 50
"""So many rows of machines, or of what happened to them: each may hold a megabyte."""

BARE = 128
"""What a row without JSON weighs: some characters of the answer."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=dict).encode


def to_json(value: Any) -> str:
    """JSON as it is kept: ASCII, so that every string goes into every database; keys in the order they came."""
    return _encode(value)


def from_json(text: str) -> Any:
    return json.loads(text)


def machines_json(rollup: Rollup) -> str:
    """What is kept of a pool's machines; what runs on them follows from rows of its own."""
    kept = ("nodes", "host_nodes", "tenant_owned_nodes", "models", "gpus", "instances")
    return to_json({name: getattr(rollup, name) for name in kept})


class Kept(Generic[T]):
    """A dataclass and the table that keeps it: a column for each of its fields, by its key, and perhaps others."""

    def __init__(self, table: Table, kind: type[T]) -> None:
        self.table, self.kind = table, kind
        self.names = tuple(f.name for f in fields(kind))  # type: ignore[arg-type]  # a dataclass
        self.columns: Select[Any] = select(*(table.c[name] for name in self.names))
        self.by = {c.key: self.columns.where(c == bindparam("value")) for c in table.c}
        """The rows in which one column has a value."""

    def page(self, column: str | None) -> Select[Any]:
        """`size` rows at most in the order of their ids, after one; where `column` is named, those with a value."""
        rows = self.columns if column is None else self.by[column]
        key = self.table.c.id
        return rows.where(key > bindparam("after")).order_by(key).limit(bindparam("size"))

    def values(self, thing: T) -> dict[str, Any]:
        return {name: getattr(thing, name) for name in self.names}

    def of(self, row: Sequence[Any]) -> T:
        return self.kind(**dict(zip(self.names, row, strict=True)))


class Rows:
    """A transaction on one connection. Reading is allowed always, writing only where the transaction is for it."""

    room: int | None = None
    cut = False

    def __init__(self, connection: Connection, *, writes: bool) -> None:
        self._connection = connection
        self._writes = writes
        self._dialect = connection.dialect.name

    def _all(self, statement: Select[Any], **values: Any) -> Sequence[AnyRow]:
        return self._connection.execute(statement, values).all()

    def _each(self, statement: Select[Any], at_once: int, **values: Any) -> Iterator[AnyRow]:
        """All rows, of which so many are in memory at once."""
        with self._connection.execute(statement, values, execution_options={"yield_per": at_once}) as found:
            yield from found

    def _first(self, statement: Select[Any], **values: Any) -> AnyRow | None:
        return self._connection.execute(statement, values).first()

    def _fitting(
        self, statement: Select[Any], weigh: Weigh, size: int, parts: int = 1, at_once: int = _AT_ONCE, **values: Any
    ) -> Sequence[AnyRow]:
        """The rows of the first `size` items at most that there is room for, and of one at least. The rows of an item
        stand together: they have their first `parts` columns in common. `at_once` rows are in memory before it is
        known whether there is room for them."""
        if self.room is None:
            return self._all(statement, size=size, **values)
        rows: list[AnyRow] = []
        over = -self.room
        # Not for a few: on PostgreSQL it takes a cursor.
        in_parts = {"yield_per": at_once} if size > at_once else {}
        with self._connection.execute(statement, {"size": size, **values}, execution_options=in_parts) as found:
            for some in found.partitions(at_once):
                rows += some
                over += sum(map(weigh, some))
                if over > 0 and _shortened(rows, over, weigh, parts):
                    self.cut = True
                    break
        return rows

    def _get(self, kept: Kept[T], column: str, value: Any) -> T | None:
        row = self._first(kept.by[column], value=value)
        return None if row is None else kept.of(row)

    def _page(
        self, kept: Kept[T], limit: int, after: str | None, column: str | None = None, value: Any = None
    ) -> list[T]:
        given = {} if column is None else {"value": value}
        return [kept.of(row) for row in self._all(kept.page(column), after=after or "", size=limit, **given)]

    def _lock(self, statement: Select[Any]) -> Select[Any]:
        """The same rows, locked until the transaction ends if it writes. On SQLite all of it is locked already."""
        return statement.with_for_update(key_share=True) if self._writes else statement

    def _write(self, statement: Executable, values: Values | Sequence[Values]) -> CursorResult[Any]:
        if not self._writes:
            raise RuntimeError("a transaction that reads was asked to write")
        return self._connection.execute(statement, values)

    def _write_many(self, statement: Executable, rows: Sequence[Values]) -> None:
        if rows:
            self._write(statement, rows)

    def _add(self, kept: Kept[T], thing: T) -> None:
        self._write(kept.table.insert(), kept.values(thing))

    def _put(self, kept: Kept[T], thing: T) -> None:
        self._write(upsert(kept.table, self._dialect), kept.values(thing))


def _shortened(rows: list[AnyRow], over: int, weigh: Weigh, parts: int) -> bool:
    """Take items off the end, whole ones and never the first, until the rest fits; whether there were any."""
    gone = None
    while (item := rows[-1][:parts]) != rows[0][:parts] and (over > 0 or item == gone):
        gone = item
        over -= weigh(rows.pop())
    return gone is not None


@lru_cache
def upsert(table: Table, dialect: str) -> Executable:
    """Insert a row, or give the row with its primary key these values."""
    insert = _insert(table, dialect)
    keys = list(table.primary_key)
    others = {c.key: insert.excluded[c.key] for c in table.c if c not in keys}
    statement: Executable = insert.on_conflict_do_update(index_elements=keys, set_=others)
    return statement


def _insert(table: Table, dialect: str) -> Any:
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as make
    else:
        from sqlalchemy.dialects.postgresql import insert as make  # type: ignore[assignment]
    return make(table)
