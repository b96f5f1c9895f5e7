"""What happened to each object: the newest events of pools and of pairs of pool and tenant, or all since a sequence, or
back from the newest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from better_compute.domain.policy.urls import mask_message
from fleetctl.words import short, time

if TYPE_CHECKING:
    from better_compute.client import Client, EventView

Subject = tuple[str, str | None]
"""A pool (with None), or a pair of pool and tenant: an offer, or the owner's rows."""

_MOST = 1000
"""Pools that one request may name, and events that one page may have."""

_PAGES = 20
"""So far back is looked for what need not be known: a pool may have a history of years."""

_TYPES = ("pool.*", "quota.*")
"""What happens to pools and offers: not what runs in them."""

_NAMED = ("fleet", "commit", "digest", "undoes", "reason")
"""What is told of a change, of all that its calls may say of it."""

_TOLD = 80
"""So many characters of what a caller chose to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastEvent:
    """The newest event of an object. `time` is epoch milliseconds, `via` the change that its request named."""

    type: str
    subject: Subject
    actor_id: str
    time: int
    sequence: int
    via: Mapping[str, Any]

    @property
    def told(self) -> str:
        """What happened, by whom and when, and the change behind a service account: what its call said of itself."""
        return f"{self.type} by {self.actor_id} at {time(self.time)}, via {_change(self.via)}"

    def of_change(self, name: str) -> str | None:
        """What its call said of the change, by the name of that; None: nothing."""
        value = self.via.get(name)
        return None if value is None else mask_message(str(value))[:_TOLD]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(LastEvent):
    """Any event of an object, with what was before and what is after."""

    data: Mapping[str, Any]

    @property
    def apply(self) -> str | None:
        """The digest of the apply that it is of; None: of none."""
        digest = self.via.get("digest")
        return digest if isinstance(digest, str) and digest else None

    @property
    def set_by(self) -> str:
        """By whom and when, and by which apply: `sa_hand set at 2026-10-04 10:00:00 UTC (by no apply)`."""
        by = f"an apply: {_change(self.via)}" if self.apply else "no apply"
        return f"{self.actor_id} set at {time(self.time)} (by {by})"


@dataclass(frozen=True, slots=True)
class History:
    """Last events by object. `since`: what happened to some after the live state was read that all else is about."""

    events: Mapping[Subject, LastEvent]
    since: Mapping[Subject, LastEvent] = field(default_factory=dict)

    def of(self, subject: Subject) -> LastEvent | None:
        """The object's last event. The archive of a pool is one of its offers too: they get none of their own."""
        own, pool = self.events.get(subject), self.events.get((subject[0], None))
        if pool is None or pool.type != "pool.archived":
            return own
        return pool if own is None or pool.sequence > own.sequence else own

    def of_pools(self, pool_ids: Collection[str]) -> list[LastEvent]:
        """The last events of all objects of these pools: an archive stands on their offers and rows too."""
        return [event for subject, event in self.events.items() if subject[0] in pool_ids]

    def among(self, pool_ids: Collection[str], after: int = 0) -> History:
        """What of these events `read` would give for the pools."""
        parts = (self.events, self.since)
        return History(*({s: e for s, e in each.items() if s[0] in pool_ids and e.sequence > after} for each in parts))


Reader = Callable[[Collection[str], int], History]
"""Reads the last events of pools' objects after a sequence: from a control plane, or from what was kept of one."""


def nothing_known(_pool_ids: Collection[str], _after: int) -> History:
    """Nobody can be asked."""
    return History({})


def read(client: Client, pool_ids: Collection[str], after: int = 0) -> History:
    """The last events of the pools' objects after sequence `after`. Raises ComputeError."""
    return History({event.subject: event for event in _events(client, pool_ids, after, latest=True)})


def every(client: Client, pool_ids: Collection[str], after: int) -> list[LastEvent]:
    """All events of the pools' objects after sequence `after`, a pool's in their order. Raises ComputeError."""
    return list(_events(client, pool_ids, after, latest=False))


def as_of(client: Client, found: History, sequence: int) -> History:
    """The last events as they were at `sequence`: who changes something meanwhile did not make it what it was. Of
    objects that had too many since, or none before, there is none. Raises ComputeError."""
    since = {subject: event for subject, event in found.events.items() if event.sequence > sequence}
    events: dict[Subject, LastEvent] = {s: event for s, event in found.events.items() if s not in since}
    if since:
        by_pool: dict[str, set[Subject]] = {}
        for subject in since:
            by_pool.setdefault(subject[0], set()).add(subject)
        for event in backwards(client, by_pool, lambda pool_ids: any(by_pool[each] for each in pool_ids)):
            if event.sequence <= sequence and event.subject in by_pool[event.subject[0]]:
                events[event.subject] = event
                by_pool[event.subject[0]].discard(event.subject)
    return History(events, since)


def backwards(client: Client, pool_ids: Collection[str], goes_on: Callable[[Collection[str]], bool]) -> Iterator[Event]:
    """Events of the pools' objects, a pool's newest first, as long as it `goes_on` for the pools of a request, and not
    farther than `_PAGES`: nothing tells at which event those before a sequence begin, and a history may be long. Raises
    ComputeError."""
    for some in _batches(pool_ids):
        cursor, last = None, float("inf")
        for _ in range(_PAGES):
            if not goes_on(some):
                break
            page = client.events.list(order="desc", types=_TYPES, pool_ids=some, limit=_MOST, cursor=cursor)
            for view in page.items:
                if view.sequence >= last:
                    return  # out of order: what came before what is not known
                last = view.sequence
                yield Event(**_told(view), data=view.data)
            if (cursor := page.next_cursor) is None:
                break


def _events(client: Client, pool_ids: Collection[str], after: int, *, latest: bool) -> Iterator[LastEvent]:
    for some in _batches(pool_ids):
        types = None if latest else _TYPES
        for event in client.events.all(types=types, pool_ids=some, latest=latest, after=after):
            yield LastEvent(**_told(event))


def _batches(pool_ids: Collection[str]) -> Iterator[list[str]]:
    ids = sorted(pool_ids)
    return (ids[start : start + _MOST] for start in range(0, len(ids), _MOST))


def _told(event: EventView) -> dict[str, Any]:
    return {
        "type": event.type,
        "subject": (event.pool_id, event.to_tenant_id or None),
        "actor_id": event.actor_id,
        "time": event.time,
        "sequence": event.sequence,
        "via": event.via or {},
    }


def _change(via: Mapping[str, Any]) -> str:
    shown = [(name, via[name]) for name in _NAMED if via.get(name) is not None]
    if not shown:
        return "a change that another tool named" if via else "no apply"
    return ", ".join(f"{name} {_value(name, str(value))}" for name, value in shown)


def _value(name: str, value: str) -> str:
    shown = mask_message(value)
    return short(shown) if name in ("commit", "digest", "undoes") else shown[:_TOLD]
