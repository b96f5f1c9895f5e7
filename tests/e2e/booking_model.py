"""What a pool answers to those who book in it and those who grant: the model that histories are judged by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

TENANTS = ("acme", "globex")


class Row(NamedTuple):
    """A tenant's share of a pool: whether it is offered, and its row of whole GPUs."""

    offered: bool = False
    max: int = 0
    used: int = 0


class Held(NamedTuple):
    key: str
    tenant: str
    gpus: int


class State(NamedTuple):
    """A pool whose hosts have room for whatever its quotas allow."""

    rows: tuple[Row, ...] = (Row(),) * len(TENANTS)
    live: frozenset[Held] = frozenset()
    ended: frozenset[Held] = frozenset()
    archived: bool = False

    def row(self, tenant: str) -> Row:
        return self.rows[TENANTS.index(tenant)]

    def put(self, tenant: str, row: Row, **more: Any) -> State:
        at = TENANTS.index(tenant)
        return self._replace(rows=(*self.rows[:at], row, *self.rows[at + 1 :]), **more)


class Operation(NamedTuple):
    """What a client asks: of a tenant, with a number (GPUs) or the key of a reservation where it has one."""

    name: str
    tenant: str = ""
    gpus: int = 0
    key: str = ""


def step(state: State, operation: Operation) -> tuple[Any, State]:
    """What the pool answers, and what it is afterwards."""
    answer, changed = _STEPS[operation.name](state, operation)
    return answer, changed


def _book(state: State, o: Operation) -> tuple[str, State]:
    held = Held(o.key, o.tenant, o.gpus)
    row = state.row(o.tenant)
    if held in state.live or held in state.ended:
        return ("live" if held in state.live else "ended"), state
    if not row.offered or state.archived:
        return "NOT_FOUND", state
    if row.used + o.gpus > row.max:
        return "LIMIT_EXCEEDED", state
    return "live", state.put(o.tenant, row._replace(used=row.used + o.gpus), live=state.live | {held})


def _end(state: State, o: Operation) -> tuple[str, State]:
    held = Held(o.key, o.tenant, o.gpus)
    if held not in state.live:
        return ("ended" if held in state.ended else "NOT_FOUND"), state
    row = state.row(o.tenant)
    freed = state.put(o.tenant, row._replace(used=row.used - o.gpus))
    return "ended", freed._replace(live=state.live - {held}, ended=state.ended | {held})


def _set(state: State, o: Operation) -> tuple[str, State]:
    row = state.row(o.tenant)
    return ("ok", state.put(o.tenant, row._replace(max=o.gpus))) if row.offered else ("NOT_FOUND", state)


def _offer(state: State, o: Operation) -> tuple[str, State]:
    if state.archived:
        return "INVALID_STATE", state
    return "ok", state.put(o.tenant, state.row(o.tenant)._replace(offered=True, max=o.gpus))


def _unoffer(state: State, o: Operation) -> tuple[Any, State]:
    row = state.row(o.tenant)
    return row.offered, state.put(o.tenant, _frozen(row))


def _archive(state: State, _: Operation) -> tuple[str, State]:
    return "ok", state._replace(archived=True, rows=tuple(map(_frozen, state.rows)))


def _look(state: State, _: Operation) -> tuple[Any, State]:
    return tuple((row.max, row.used) for row in state.rows), state


def _frozen(row: Row) -> Row:
    return row._replace(offered=False, max=min(row.max, row.used)) if row.offered else row


_STEPS: dict[str, Callable[[State, Operation], tuple[Any, State]]] = {
    "book": _book,
    "end": _end,
    "set": _set,
    "offer": _offer,
    "unoffer": _unoffer,
    "archive": _archive,
    "look": _look,
}
