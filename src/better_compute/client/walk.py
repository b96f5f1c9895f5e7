"""Lists of many pages, read whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from better_compute.client.calls import Calls
from better_compute.client.peer import Told
from better_compute.domain.problems import STRANGE_ANSWER, UNAVAILABLE, ComputeError, Problem
from better_compute.domain.state import PoolState
from better_compute.wire import decode
from better_compute.wire.views import EventView, PoolView

T = TypeVar("T")

PAGE = 1000
EMPTY = 100
"""So many pages without an item, one after the other, lead nowhere."""

ROUNDS = 20
"""How often pools that changed meanwhile are read again before the walk gives up."""

_CHANGING = ["pool.*", "quota.*", "node.*"]


_BY_ID = attrgetter("id")
_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "pools/list": attrgetter("pool.id"),
    "pools/listOffers": attrgetter("pool_id", "to_tenant_id"),
    "quotas/list": attrgetter("pool_id", "tenant_id", "resource"),
    "reservations/list": attrgetter("pool_id", "id"),
    "usage/list": attrgetter("pool_id", "tenant_id", "meter"),
    "events/list": attrgetter("sequence"),
}
"""What a list is in order of, strictly rising from its first page to its last; the others by id. A cursor goes on
behind a key: what is not in order is told twice, or never."""


def pages(
    calls: Calls, operation: str, body: Mapping[str, Any], read: Callable[[bytes], decode.Listed[T]]
) -> Iterator[decode.Listed[T]]:
    """Every page. One that fails raises, so that nobody takes a part for the whole. So does one that does not go on
    behind the page before, so that the walk ends where a server repeats itself, and one that is older than what was
    told before, by whatever list: it lacks what nobody would read again."""
    key = _KEYS.get(operation, _BY_ID)
    last: Any = body.get("after")
    more: dict[str, str] = {}
    cursors: set[str] = set()
    empty = 0

    def in_order(data: bytes) -> decode.Listed[T]:
        nonlocal last
        page = read(data)
        for item in page.items:
            found = key(item)
            if last is not None and found <= last:
                raise ValueError(f"{_spelled(found)} stands after {_spelled(last)}, out of order")
            last = found
        return page

    while True:
        known = calls.peer.newest(calls.tenant_id)
        page = calls.decoded(operation, {"limit": PAGE, **body, **more}, in_order)
        if known is not None and page.sequence < known.sequence:
            raise _goes_back(calls, known, Told(page.sequence, operation))
        calls.peer.tell(calls.tenant_id, max([page.sequence, *_sequences(page)]), operation)
        yield page
        if page.next_cursor is None:
            return
        empty = 0 if page.items else empty + 1
        if empty > EMPTY or page.next_cursor in cursors:
            message = f"{calls.http.server} does not come to the end of {operation}: its pages lead nowhere"
            raise ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, message))
        cursors.add(page.next_cursor)
        more = {"cursor": page.next_cursor}


def _sequences(page: decode.Listed[Any]) -> list[int]:
    """That of the newest event on a page of events."""
    return [event.sequence for event in page.items[-1:] if isinstance(event, EventView)]


def _spelled(key: Any) -> str:
    return "/".join(key) if isinstance(key, tuple) else str(key)


def all_pools(calls: Calls, filters: Mapping[str, Any]) -> tuple[list[PoolState], int]:
    """Every pool that `filters` let through, in order of their ids, as one state: that after the event of the
    returned sequence. What changes while the pages are read is read again (api.md, Lists)."""
    body = {**filters, "include": ["offers", "rollup"]}
    read = decode.page(PoolView, _reader(calls, filters))
    states: dict[str, PoolState] = {}
    sequence: int | None = None
    for page in pages(calls, "pools/list", body, read):
        sequence = page.sequence if sequence is None else sequence
        states |= _by_id(page)
    assert sequence is not None
    for _ in range(ROUNDS):
        changed = _changed_after(calls, sequence)
        if not changed:
            return [states[pool_id] for pool_id in sorted(states)], sequence
        sequence = _read_again(calls, states, changed, filters, body)
    message = f"the pools change faster than they can be read, {ROUNDS} times over"
    raise ComputeError(Problem(UNAVAILABLE, "client.walk", message, hint="try again when less is written"))


def _goes_back(calls: Calls, before: Told, now: Told) -> ComputeError:
    """What is read is older than what is known to have happened."""
    first, then = (f"{told.operation} told of event {told.sequence}" for told in (before, now))
    said = f"{first}, and then {then} as the last one"
    hint = "does a copy of its database that lags behind answer reads?"
    return ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, f"{calls.http.server} goes back: {said}", hint=hint))


def _changed_after(calls: Calls, sequence: int) -> list[str]:
    """The pools with an event after `sequence`."""
    body = {"after": sequence, "types": _CHANGING}
    listed = pages(calls, "events/list", body, decode.page(EventView, decode.event))
    return sorted({event.pool_id for page in listed for event in page.items})


def _read_again(
    calls: Calls, states: dict[str, PoolState], changed: list[str], filters: Mapping[str, Any], body: Mapping[str, Any]
) -> int:
    """Replace the pools that changed; one that the filters no longer let through is dropped. The sequence that this
    reading is not older than."""
    first: int | None = None
    for start in range(0, len(changed), PAGE):
        ids = changed[start : start + PAGE]
        read = decode.page(PoolView, _reader(calls, filters, frozenset(ids)))
        for pool_id in ids:
            states.pop(pool_id, None)
        for page in pages(calls, "pools/list", {**body, "ids": ids}, read):
            first = page.sequence if first is None else first
            states |= _by_id(page)
        if (lost := [pool_id for pool_id in ids if pool_id not in states]) and not _may_miss(filters):
            raise _vanished(calls, lost)
    assert first is not None
    return first


def _may_miss(filters: Mapping[str, Any]) -> bool:
    """Whether a pool with an event of the tenant's may be none that `filters` let through: such a pool is the tenant's
    own for ever, and is archived or not."""
    return filters.get("archived") is not None or filters.get("owned") is False


def _vanished(calls: Calls, lost: Sequence[str]) -> ComputeError:
    """No pool is ever deleted: what has an event is there."""
    more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
    message = f"{calls.http.server} told of events of {calls.clean(lost[0])}{more}, and pools/list does not have it"
    hint = "a part of the pools is not taken for all: find out what answers there"
    return ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, message, hint=hint))


def _reader(
    calls: Calls, filters: Mapping[str, Any], ids: frozenset[str] | None = None
) -> Callable[[PoolView], PoolState]:
    """How a pool is read of a list that was asked for `ids` (None: for all), as `filters` say."""
    owner = calls.tenant_id if filters.get("owned") else None

    def read(view: PoolView) -> PoolState:
        if ids is not None and view.id not in ids:
            raise ValueError(f"it tells of {view.id}, which was not asked for")
        if owner not in (None, view.owner_tenant_id):
            raise ValueError(f"it tells of {view.id} of {view.owner_tenant_id}, and those of {owner} were asked for")
        return decode.pool_state(view)

    return read


def _by_id(page: decode.Listed[PoolState]) -> dict[str, PoolState]:
    return {state.pool.id: state for state in page.items if state.pool is not None}
