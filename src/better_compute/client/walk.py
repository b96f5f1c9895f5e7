"""Lists of many pages, read whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from better_compute.client.calls import Calls
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


def pages(
    calls: Calls, operation: str, body: Mapping[str, Any], read: Callable[[bytes], decode.Listed[T]]
) -> Iterator[decode.Listed[T]]:
    """Every page. One that fails raises, so that nobody takes a part for the whole."""
    more: dict[str, str] = {}
    seen: set[str] = set()
    empty = 0
    while True:
        page = calls.decoded(operation, {"limit": PAGE, **body, **more}, read)
        yield page
        if page.next_cursor is None:
            return
        empty = 0 if page.items else empty + 1
        if page.next_cursor in seen or empty > EMPTY:
            message = f"{calls.http.server} does not come to the end of {operation}: its pages lead nowhere"
            raise ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, message))
        seen.add(page.next_cursor)
        more = {"cursor": page.next_cursor}


def all_pools(calls: Calls, filters: Mapping[str, Any]) -> tuple[list[PoolState], int]:
    """Every pool that `filters` let through, in order of their ids, as one state: that after the event of the
    returned sequence. What changes while the pages are read is read again (api.md, Lists)."""
    body = {**filters, "include": ["offers", "rollup"]}
    read = decode.page(PoolView, decode.pool_state)
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
        sequence = _read_again(calls, states, changed, body, read)
    message = f"the pools change faster than they can be read, {ROUNDS} times over"
    raise ComputeError(Problem(UNAVAILABLE, "client.walk", message, hint="try again when less is written"))


def _changed_after(calls: Calls, sequence: int) -> list[str]:
    """The pools with an event after `sequence`."""
    body = {"after": sequence, "types": _CHANGING}
    read = decode.page(EventView, lambda event: event.pool_id)
    listed = pages(calls, "events/list", body, read)
    return sorted({pool_id for page in listed for pool_id in page.items})


def _read_again(
    calls: Calls,
    states: dict[str, PoolState],
    changed: list[str],
    body: Mapping[str, Any],
    read: Callable[[bytes], decode.Listed[PoolState]],
) -> int:
    """Replace the pools that changed; one that the filters no longer let through is dropped. The sequence that this
    reading is not older than."""
    first: int | None = None
    for start in range(0, len(changed), PAGE):
        ids = changed[start : start + PAGE]
        found: dict[str, PoolState] = {}
        for page in pages(calls, "pools/list", {**body, "ids": ids}, read):
            first = page.sequence if first is None else first
            found |= _by_id(page)
        for pool_id in ids:
            states.pop(pool_id, None)
        states |= found
    assert first is not None
    return first


def _by_id(page: decode.Listed[PoolState]) -> dict[str, PoolState]:
    return {state.pool.id: state for state in page.items if state.pool is not None}
