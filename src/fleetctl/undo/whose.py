"""Whose values an undo brings back, where no apply of its caller had set them: told by the events before the apply that
is taken back, or not at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from better_compute.domain.policy.canonical import canonical, canonical_bytes
from fleetctl import history
from fleetctl.desired.inputs import without_zeros
from fleetctl.diff import ABSENT, at_path
from fleetctl.history import Event, Subject
from fleetctl.paths import Path, spelled
from fleetctl.plan import Operation, Plan
from fleetctl.undo.applied import Applied
from fleetctl.words import listed

if TYPE_CHECKING:
    from better_compute.client import Client

Side = Mapping[str, Any] | None
"""An object as JSON, equal values in one spelling, or the part of it that an event tells; None: it is not there."""


def told(plan: Plan, applied: Applied, client: Client) -> Plan:
    """The plan of an undo, with whose values its operations bring back as effects of them. Raises ComputeError."""
    searches = {o.subject: _Search(_fields(o), applied.scope.caller) for o in plan.operations}
    by_pool: dict[str, list[_Search]] = {}
    for (pool_id, _), search in searches.items():
        if search.open:
            by_pool.setdefault(pool_id, []).append(search)

    def goes_on(pool_ids: Collection[str]) -> bool:
        return any(search.open for pool_id in pool_ids for search in by_pool[pool_id])

    owner_id = plan.scope.tenant_id
    for event in history.backwards(client, by_pool, goes_on):
        for subject in _subjects(event, owner_id) if event.sequence <= applied.sequence else ():
            found = searches.get(subject)
            if found is not None and found.open:
                found.look(event, _sides(event, subject, owner_id))
    said = [replace(o, effects=(*o.effects, *searches[o.subject].told())) for o in plan.operations]
    return replace(plan, operations=tuple(said))


@dataclass(slots=True)
class _Field:
    """A field that comes back: its path as the plan tells it, where it is in a side, and its value. `undone`: looked at
    backwards, the value was brought back by an undo of the apply of this digest; it is older than that one."""

    path: Path
    at: Path
    value: Any
    undone: Any = None
    event: Event | None = None

    def look(self, event: Event, sides: tuple[Side, Side], own: str | None, undoes: Any) -> bool:
        """Note what the event before those that were looked at did to it; gives whether it is known now who set it. The
        event is kept where it did, and is of no apply of the caller: `own` is the digest of such a one, `undoes` of the
        one that it took back."""
        if self.undone is not None:
            self.undone = None if own == self.undone else self.undone
            return False
        before, after = (at_path(side, self.at) for side in sides)
        if _same(before, after):
            return False
        if undoes is not None:
            self.undone = undoes
            return False
        if own is None and _same(after, self.value):
            self.event = event
        return True


@dataclass(slots=True)
class _Search:
    """Who set the fields of one object, seen from its events, the newest first: each field by the last one that changed
    it. `open` are those that none of them did yet."""

    fields: list[_Field]
    caller: str
    open: list[_Field] = field(init=False)

    def __post_init__(self) -> None:
        self.open = list(self.fields)

    def look(self, event: Event, sides: tuple[Side, Side] | None) -> None:
        """The event before those that were looked at; without sides it is not known what it did."""
        if sides is None:
            self.open = []
            return
        own = event.apply if event.actor_id == self.caller else None
        undoes = event.via.get("undoes") if own else None
        self.open = [one for one in self.open if not one.look(event, sides, own, undoes)]
        if sides[0] is None and undoes is None:
            self.open = []  # it made the object, and what it did not set nobody set

    def told(self) -> Iterator[str]:
        """`brings back what sa_hand set at ... (by no apply)`, and which part of what comes back, if it is one."""
        paths: dict[int, list[str]] = {}
        events = {one.event.sequence: one.event for one in self.fields if one.event}
        for one in self.fields:
            if one.event:
                paths.setdefault(one.event.sequence, []).append(spelled(one.path))
        for sequence, event in sorted(events.items()):
            is_part = len(paths[sequence]) < len(self.fields)
            part = f": {listed(paths[sequence], 'field')}" if is_part else ""
            yield f"brings back what {event.set_by}{part}"


def _fields(operation: Operation) -> list[_Field]:
    """What an operation of an undo brings back, in leaves: a map may have been made by several hands. Objects that it
    takes away come from nobody."""
    if operation.action not in ("update", "offer", "setQuota"):
        return []
    before, after = (_form(side) for side in (operation.before, operation.after))
    if before is None:
        return [_Field(at, at, value) for at, value in _leaves(after, ())]
    found = []
    for change in operation.changes:
        at = ("quota", *change.at[1:]) if change.at[0] == "ownerQuota" else change.at
        value = at_path(after, at)
        steps = [leaf[len(at) :] for leaf, _ in _leaves(at_path(before, at) if value is ABSENT else value, at)]
        found += [_Field((*change.at, *rest), (*at, *rest), at_path(after, (*at, *rest))) for rest in steps]
    return found


def _subjects(event: Event, owner_id: str) -> tuple[Subject, ...]:
    """A pool is made with its owner's rows, which get no event of their own."""
    pool_id = event.subject[0]
    return ((pool_id, None), (pool_id, owner_id)) if event.type == "pool.created" else (event.subject,)


def _sides(event: Event, subject: Subject, owner_id: str) -> tuple[Side, Side] | None:
    """An object before and after an event; None: it is not known. The owner has rows before it is offered anything, of
    which nothing is told then."""
    before, after = (event.data.get(name) for name in ("before", "after"))
    if event.type == "pool.offered" and subject[1] == owner_id and before is None:
        return None
    if event.type == "pool.created" and subject[1] is not None and isinstance(after, Mapping):
        after = {"quota": after.get("ownerQuota")}
    is_told = all(side is None or isinstance(side, Mapping) for side in (before, after))
    return (_form(before), _form(after)) if is_told and {"before", "after"} <= event.data.keys() else None


def _form(side: Any) -> Side:
    """A policy by its canonical values, and rows of 0 as none."""
    if side is None:
        return None
    forms = {"policy": lambda policy: canonical(dict(policy)), "quota": without_zeros}
    return {
        name: forms[name](value) if name in forms and isinstance(value, Mapping) else value
        for name, value in side.items()
    }


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    else:
        yield path, value


def _same(one: Any, other: Any) -> bool:
    """As JSON: 1 and true are two values."""
    if ABSENT in (one, other):
        return one is other
    return canonical_bytes({"": one}) == canonical_bytes({"": other})
