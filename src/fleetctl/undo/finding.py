"""What became of each operation of an apply: whether it is there to be taken back, or somebody moved its object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from better_compute.domain.problems import INVALID_STATE, Problem, Source
from fleetctl import history
from fleetctl.apply.staleness import object_name, told
from fleetctl.comparison import naming
from fleetctl.comparison.selection import Known, Selection
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.history import History, LastEvent
from fleetctl.live import Live
from fleetctl.plan import Inverse
from fleetctl.plan.operation import Action
from fleetctl.undo import wish
from fleetctl.undo.applied import Applied, Done
from fleetctl.undo.trace import Traces, traced

if TYPE_CHECKING:
    from better_compute.client import Client


@dataclass(frozen=True, slots=True)
class Why:
    """Why an operation is not taken back: a code to branch on, a sentence to read."""

    code: Literal["failed", "found", "released", "noInverse", "heir", "otherRun"]
    sentence: str


_FAILED = Why("failed", "it failed, and no event tells that it was done all the same")
_FOUND = Why("found", "it was so already, and not by this apply")
_RELEASED = Why("released", "the files let the pool go, and it is no more this fleet's to change")
_OTHER_RUN = Why("otherRun", "another run of the same apply did it, and this report does not tell of it")
_ACTIONS: Mapping[str, Action] = {
    "pool.created": "create",
    "pool.updated": "update",
    "pool.archived": "archive",
    "pool.offered": "offer",
    "pool.unoffered": "unoffer",
    "quota.updated": "setQuota",
}
"""Type of event -> what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """The way back from `applied`: the operations that are taken back, those that were `already`, and those that are
    `left`, each with why. `outside` of the part that is looked at are those that still stand."""

    applied: Applied
    undoing: tuple[Done, ...]
    already: tuple[Done, ...]
    left: tuple[tuple[Done, Why], ...]
    outside: tuple[Done, ...]

    @property
    def is_in_vain(self) -> bool:
        """Whether the apply did something, and nothing of it can be taken back."""
        did = any(one.is_done and why.code != "found" for one, why in self.left)
        return did and not (self.undoing or self.already)

    @property
    def is_part(self) -> bool:
        """Whether other runs of the apply did something that still stands."""
        return any(why is _OTHER_RUN for _, why in self.left)

    @property
    def findings(self) -> list[Problem]:
        """A warning for each operation that is left."""
        return [
            Problem(
                INVALID_STATE,
                "undo.left",
                f"{one.action} {_name(one)} is not taken back: {why.sentence}",
                severity="warning",
                source=one.source,
            )
            for one, why in self.left
        ]


@dataclass(frozen=True, slots=True)
class _Found:
    """An operation: `there` to be taken back; so `already`; `left`, and why; or with an object that `moved`, by these
    events, if any tells."""

    operation: Done
    now: Literal["there", "already", "left", "moved"]
    why: Why | None = None
    events: Sequence[LastEvent] = ()

    @property
    def stands(self) -> bool:
        """Whether the apply did it, and it is not taken back: also where nothing can, or somebody went on from it."""
        return self.now in ("there", "moved") or (self.why is not None and self.why not in (_FAILED, _FOUND))


def find(applied: Applied, files: Desired, live: Live, selected: Selection, client: Client) -> Back:
    """Look at what the report tells, and is selected. `files` are settled. Raises ComputeError, and Stop where somebody
    moved an object of it since: then nothing is taken back."""
    events = history.every(client, {one.pool_id for one in applied.operations}, after=applied.sequence)
    last = history.read(client, live.pools)
    looking = _Looking(files, live, traced(applied, events), _heirs(applied, files, live, last))
    is_selected = _selecting(files, live, selected)
    every = [looking.find(one) for one in applied.operations]
    found = [one for one in every if is_selected(one.operation)]
    _check_unmoved([one for one in found if one.now == "moved"])
    others = list(_of_other_runs(applied, files, live, last))
    return Back(
        applied=applied,
        undoing=tuple(one.operation for one in found if one.now == "there"),
        already=tuple(one.operation for one in found if one.now == "already"),
        left=(
            *((one.operation, one.why) for one in found if one.why is not None),
            *((one, _OTHER_RUN) for one in others if is_selected(one)),
        ),
        outside=tuple(
            one for one in (*(each.operation for each in every if each.stands), *others) if not is_selected(one)
        ),
    )


def _of_other_runs(applied: Applied, files: Desired, live: Live, last: History) -> Iterator[Done]:
    """What the caller did under the apply's digest, still stands, and the report does not tell: a run of a plan file
    that was killed wrote none, and the run after it told of the rest alone."""
    for subject in sorted(last.events, key=lambda each: (each[0], each[1] or "")):
        event = last.of(subject)
        if event is None or event.subject != subject or event.type not in _ACTIONS:
            continue
        if applied.is_own(event) and applied.done_by(event) is None:
            yield _untold(event, files, live)


def _untold(event: LastEvent, files: Desired, live: Live) -> Done:
    """The operation that an event is of, as much of it as is known here."""
    pool_id = event.subject[0]
    state, entry = live.pools.get(pool_id), files.entries.get(pool_id)
    return Done(
        n=0,
        action=_ACTIONS[event.type],
        key=naming.key(state.pool if state else None, entry),
        subject=event.subject,
        digest=str(event.via.get("operation", "")),
        is_done=True,
        is_found=False,
        inverse=Inverse(None, why=_OTHER_RUN.sentence),
        source=entry.place.source() if entry else Source(min(files.files, default=""), 1, 1),
    )


def _heirs(applied: Applied, files: Desired, live: Live, last: History) -> Mapping[str, str]:
    """Id of each pool that took the place of one which was archived since -> that one's name. The archive tells it,
    whatever became of the files; where somebody else archived the pool, they may."""
    gone, heirs = set[str](), dict[str, str]()
    for pool_id, state in live.pools.items():
        event = last.of((pool_id, None))
        if event is None or event.type != "pool.archived" or event.sequence <= applied.sequence:
            continue
        key = naming.key(state.pool, None)
        gone |= {key} if key else set()
        if isinstance(heir := event.via.get("heir"), str):
            heirs[heir] = key or pool_id
    gone |= {one.key for one in applied.operations if one.action == "archive" and one.is_done and one.key}
    told = {i: entry.replaces for i, entry in files.entries.items() if entry.replaces in gone and entry.replaces}
    return heirs | told


def _selecting(files: Desired, live: Live, selected: Selection) -> Callable[[Done], bool]:
    """Whether an operation is selected; the owner's rows are with the pool."""
    known = Known(live.pools, None)

    def takes(one: Done) -> bool:
        thing = known.thing(one.pool_id, wish.entry_of(one, files))
        return selected.takes(thing, None if one.to_tenant_id == live.tenant_id else one.to_tenant_id)

    return takes


@dataclass(frozen=True, slots=True)
class _Looking:
    """What is known of an apply's objects: `files`, live state, all that happened to them since, and the `heirs` of
    pools that are gone, by id."""

    files: Desired
    live: Live
    traces: Traces
    heirs: Mapping[str, str]

    def find(self, one: Done) -> _Found:
        others, trace = self._others(one), self.traces.of(one.subject)
        is_told = trace is not None and one.digest in trace.left_by
        if is_told and not others:
            return self._there(one)
        if not (is_told or one.is_done):
            return _Found(one, "left", _FAILED)
        if one.inverse.action is not None and wish.is_back(one, self.live.pools.get(one.pool_id)):
            return _Found(one, "already")
        if one.is_found and not is_told:
            return _Found(one, "left", _FOUND)
        if why := self._never(one):
            return _Found(one, "left", why)
        return _Found(one, "moved", events=others)

    def _there(self, one: Done) -> _Found:
        entry = self.files.entries.get(one.pool_id)
        if why := self._never(one):
            return _Found(one, "left", why)
        if entry is not None and entry.released:
            return _Found(one, "left", _RELEASED)
        return _Found(one, "there")

    def _never(self, one: Done) -> Why | None:
        """Why it is never taken back. Of a pool and the one that took its place, tenants keep one."""
        if one.inverse.action is None:
            return Why("noInverse", one.inverse.why)
        if one.pool_id in self.heirs and one.action in ("create", "offer"):
            return Why("heir", f"it took the place of {self.heirs[one.pool_id]}, and that one is archived for good")
        return None

    def _others(self, one: Done) -> list[LastEvent]:
        """What moved the operation's object last, where that is no more as it left it. A pool that is to be archived
        takes all its offers and rows with it: those are its object too."""
        own = self.traces.of(one.subject)
        moved = [own] if own is not None and own.now != own.left_by.get(one.digest) else []
        if one.inverse.action == "archive":
            moved += [trace for trace in self.traces.of_pool(one.pool_id) if not trace.is_own and trace is not own]
        return [trace.last for trace in moved if trace.last is not None]


def _check_unmoved(moved: Sequence[_Found]) -> None:
    """Raises Stop with each object that moved, and by whom."""
    if not moved:
        return
    names = {one.operation.pool_id: one.operation.name for one in moved}
    lines = told((event for one in moved for event in one.events), names)
    lines += [f"{_name(one.operation)}: no event tells who moved it" for one in moved if not one.events]
    message = "what the apply did was changed since: nothing was written"
    hint = "leave it out by --only or --except, and take back the rest; or change the files"
    raise Stop(EXIT_STALE, message, lines, hint, "undo.moved")


def _name(one: Done) -> str:
    return object_name(one.name, one.subject)
