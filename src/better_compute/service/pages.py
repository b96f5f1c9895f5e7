"""Pages of a list: keyset by ids, an opaque cursor, and the sequence that the page was read at."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn, TypeVar

from better_compute.domain.ids import is_key
from better_compute.service.core import Service
from better_compute.service.ports import Caller, Tx
from better_compute.wire.body import refuse
from better_compute.wire.inputs import ListInput
from better_compute.wire.views import Page

T = TypeVar("T")
V = TypeVar("V")
Key = tuple[str, ...]
"""Where a page ends: the ids of its last item, from the outermost."""

ROOM = 8 * 1024 * 1024
"""Characters of JSON in a page, as it is kept: parsed it may take twenty times as many bytes. A page of longer items
has fewer than were asked for."""


def page(
    service: Service,
    caller: Caller,
    operation: str,
    body: ListInput,
    read: Callable[[Tx, Key, int], Iterable[T]],
    key: Callable[[T], Key],
    view: Callable[[T], V],
    parts: int = 1,
) -> Page[V]:
    """A page of what `read` gives: items after a key (empty: from the start), in order of their keys, at most so many.
    A key has `parts` ids.

    One item more than asked for is read: it tells whether there is another page, where there was room for them all.
    Events are numbered before, so that `sequence` covers what the page shows; both are read in one transaction.
    """
    service.allow(caller, operation, body.tenant_id)
    after = decode_cursor(operation, body, parts)
    service.store.number_events(body.tenant_id)

    def work(tx: Tx) -> tuple[list[T], bool, int]:
        tx.room = ROOM
        items = list(read(tx, after, body.limit + 1))
        return items[: body.limit], tx.cut or len(items) > body.limit, tx.last_sequence(body.tenant_id)

    shown, goes_on, sequence = service.store.view(work)
    more = encode_cursor(operation, key(shown[-1])) if goes_on else None
    return Page([view(item) for item in shown], more, sequence)


def first(after: Key) -> str | None:
    """The first id of a key: where a list by one id goes on."""
    return after[0] if after else None


def encode_cursor(group: str, key: Sequence[str]) -> str:
    text = json.dumps([group, *key], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(group: str, body: ListInput, parts: int) -> Key:
    """The key of a cursor, empty without one. Raises ComputeError INVALID_INPUT for a cursor of another list, or of
    none."""
    if not isinstance(body.cursor, str):
        return ()
    try:
        padded = body.cursor + "=" * (-len(body.cursor) % 4)
        value = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        _stranger()
    if not isinstance(value, list) or not all(isinstance(part, str) and is_key(part) for part in value[1:]):
        _stranger()
    if value[:1] != [group] or len(value) != parts + 1:
        _stranger()
    return tuple(value[1:])


def _stranger() -> NoReturn:
    refuse("this is not a cursor of this list: it is the nextCursor of the page before, with the same input", "cursor")
