"""What happened to one object since an apply, and which of its states came back: an undo brings back an earlier one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetctl.history import LastEvent, Subject
from fleetctl.undo.applied import Applied


@dataclass(slots=True)
class Trace:
    """The states of one object, each with a number of its own: 0 is the one before the first event. A state that an
    undo by the apply's caller brought back has the number that it had. `now` is the last; `left_by` those that
    operations of the apply left, by their digests, and `last` the event that tells of the last one."""

    applied: Applied
    now: int = 0
    left_by: dict[str, int] = field(default_factory=dict)
    last: LastEvent | None = None
    _count: int = 0
    _before: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, event: LastEvent) -> None:
        """The next event of the object."""
        self._count += 1
        self.last, was, self.now = event, self.now, self._after(event)
        if isinstance(digest := event.via.get("digest"), str):
            self._before[digest, self.now] = was
        operation = self.applied.done_by(event)
        if operation is not None:
            self.left_by.setdefault(operation, self.now)  # done again, it is another apply's

    @property
    def is_own(self) -> bool:
        """Whether the object is as one of the operations left it, or as it was before all events."""
        return self.now == 0 or self.now in self.left_by.values()

    def _after(self, event: LastEvent) -> int:
        undoes = event.via.get("undoes") if event.actor_id == self.applied.scope.caller else None
        return self._before.get((undoes, self.now), self._count) if isinstance(undoes, str) else self._count


@dataclass(frozen=True, slots=True)
class Traces:
    """Of all objects, by pool."""

    by_pool: dict[str, dict[Subject, Trace]]

    def of(self, subject: Subject) -> Trace | None:
        return self.by_pool.get(subject[0], {}).get(subject)

    def of_pool(self, pool_id: str) -> Iterable[Trace]:
        """The pool itself, its owner's rows, its offers."""
        return self.by_pool.get(pool_id, {}).values()


def traced(applied: Applied, events: Iterable[LastEvent]) -> Traces:
    """What these events tell, a pool's in their order. The archive of a pool is one of its offers too: they get none of
    their own."""
    by_pool: dict[str, dict[Subject, Trace]] = {}
    for event in events:
        found = by_pool.setdefault(event.subject[0], {})
        found.setdefault(event.subject, Trace(applied))
        for trace in found.values() if event.type == "pool.archived" else (found[event.subject],):
            trace.add(event)
    return Traces(by_pool)
