"""Drift: what differs between files and live state, since when, and by whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from better_compute.domain.problems import Source, errors
from fleetctl.comparison import expected, naming
from fleetctl.comparison.compare import Comparison, whose
from fleetctl.comparison.expected import Holding
from fleetctl.desired import Desired, Place
from fleetctl.diff import ABSENT, Change, Diff, OfferDiff, PoolDiff, Removed
from fleetctl.files import FilesError
from fleetctl.history import History, LastEvent, Reader, Subject
from fleetctl.paths import Path
from fleetctl.plan import Plan

Moved = Literal["changed", "pending"]
Kind = Moved | Literal["removed"]
_MADE = "pool.created"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """One pool or offer that is not as the files say.

    `changed`: its last event has another actor, or none of this fleet's changes in `via`; `pending`: the files are
    ahead; `removed`: live, of this fleet, not in the files. `since` is that event's time in epoch milliseconds.
    `at`: where, seen from the entry (without a step: as a whole; none: what nothing can expect). `expected`: why the
    files say that it may differ.
    """

    kind: Kind
    pool_id: str
    key: str | None
    to_tenant_id: str | None
    what: str
    changes: tuple[Change, ...]
    source: Source | None
    at: tuple[Path, ...] = ((),)
    since: int | None = None
    actor_id: str | None = None
    event_type: str | None = None
    via: Mapping[str, Any] | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """All that drifted, in order of pools and tenants. `outside` counts entries and removed pools that differ, are not
    expected to, and were not selected; `remarks` are what people should know besides."""

    comparison: Comparison
    found: tuple[Drifted, ...]
    outside: int
    remarks: tuple[str, ...]

    @property
    def is_in_sync(self) -> bool:
        """Whether nothing differs, in the whole fleet, but what is expected to."""
        return not self.outside and all(one.expected is not None for one in self.found)


@dataclass(frozen=True, slots=True)
class DriftedOperation:
    """An operation, by its `n`, for which live state is not as the base's files say: `changed` behind their back, or
    `pending` where nobody applied them yet; with the last event of its object."""

    n: int
    kind: Moved
    event: LastEvent | None


def drifted(plan: Plan, read_history: Reader) -> tuple[DriftedOperation, ...]:
    """What of a plan is not of this change alone; nothing where there is no base. Only the pools of such operations are
    asked for."""
    found = [operation for operation in plan.operations if "drift" in operation.causes]
    if not found:
        return ()
    last, comparison = read_history({operation.pool_id for operation in found}, 0), plan.comparison
    desired, made = comparison.desired, _as_made(comparison.diff)
    events = [(operation, last.of(operation.subject) or made.get(operation.subject)) for operation in found]
    return tuple(DriftedOperation(o.n, _moved(o.changes, event, desired), event) for o, event in events)


def find(comparison: Comparison, read_history: Reader, now: int) -> Drift:
    """Everything that drifted, each with the last event of its object. `now` is the server's clock in epoch
    milliseconds: it tells which expectations hold. Raises FilesError where files contradict themselves."""
    if wrong := errors(comparison.settled.problems):
        raise FilesError(wrong)
    desired = comparison.desired
    holds = expected.holding(desired.expected, now)
    found = [_judged(one, holds) for one in _all(comparison.diff, desired)]
    rest = {one.pool_id for one in _all(comparison.outside, desired) if _judged(one, holds).expected is None}
    last, made = read_history({one.pool_id for one in found}, 0), _as_made(comparison.diff)
    names = {name for one in found for name in (one.key, one.pool_id) if name}
    return Drift(
        comparison=comparison,
        found=tuple(_attributed(one, last, made, desired) for one in found),
        outside=len(rest),
        remarks=(*_remarks(comparison), *expected.expired(desired.expected, now, names)),
    )


def _remarks(comparison: Comparison) -> Iterator[str]:
    """What a plan warns of: it is no drift, and may be why there is none."""
    for problem in comparison.problems:
        if problem.severity == "warning":
            place = f"{problem.source}: " if problem.source else ""
            yield f"{place}{problem.message}; {problem.hint}" if problem.hint else f"{place}{problem.message}"


def _all(diff: Diff, desired: Desired) -> list[Drifted]:
    """Archives of removed pools are told as removed pools, whether they are pruned or not."""
    pools = (pool for pool in diff.pools if pool.archives != "removed")
    found = [drifted for pool in pools for drifted in _of_pool(pool, desired)]
    return found + [_removed(removed, desired) for removed in diff.removed]


def _of_pool(diff: PoolDiff, desired: Desired) -> list[Drifted]:
    """The pool itself, and each of its offers."""
    found = []
    # Nowhere: who expects a difference does not expect what keeps the pool from being as wished.
    found += [
        _drifted(diff, problem.message, (), (), diff.entry.place.at(problem.path)) for problem in diff.problems[:1]
    ]
    if what := _what(diff):
        found.append(_drifted(diff, what, diff.changes, _paths(diff.changes) or ((),), diff.place))
    if owner := diff.owner_quota:
        said = "the owner's quota differs"
        found.append(_drifted(diff, said, owner, _paths(owner), diff.owner_place, desired.tenant_id))
    for offer in diff.offers if diff.live is not None else ():
        said, place = _offer_words(offer), diff.offer_place(offer)
        found.append(_drifted(diff, said, offer.changes, _offer_paths(offer), place, offer.tenant_id))
    return found


def _paths(changes: Sequence[Change]) -> tuple[Path, ...]:
    return tuple(change.at for change in changes)


def _offer_paths(offer: OfferDiff) -> tuple[Path, ...]:
    """As a whole where it comes or goes, whatever it grants."""
    whole = ("offers", offer.tenant_id)
    if offer.before is None or offer.after is None:
        return (whole,)
    return tuple((*whole, *path) for path in _paths(offer.changes))


def _what(diff: PoolDiff) -> str:
    if diff.live is None:
        return "" if diff.problems else "the pool is not there"
    if diff.archives == "replaced":
        return "the pool is replaced, nothing runs in it, and it is not archived yet"
    if diff.archives:
        return "the pool is not archived yet"
    return "the pool differs" if diff.changes else ""


def _offer_words(offer: OfferDiff) -> str:
    if offer.before is None:
        return "the offer is not there"
    return "the offer differs" if offer.after else "the offer stands in no file"


def _drifted(
    diff: PoolDiff,
    what: str,
    changes: tuple[Change, ...],
    at: tuple[Path, ...],
    place: Place,
    to_tenant_id: str | None = None,
) -> Drifted:
    return Drifted(
        kind="pending",
        pool_id=diff.entry.pool_id,
        key=naming.key(diff.live.pool if diff.live else None, diff.entry),
        to_tenant_id=to_tenant_id,
        what=what,
        changes=changes,
        at=at,
        source=place.source(),
    )


def _removed(removed: Removed, desired: Desired) -> Drifted:
    pool = removed.pool
    return Drifted(
        kind="removed",
        pool_id=pool.id,
        key=pool.idempotency_key,
        to_tenant_id=None,
        what=f"{whose(removed, desired)}, and no entry of {desired.fleet} names it",
        changes=(),
        source=None,
    )


def _judged(drifted: Drifted, holds: Holding) -> Drifted:
    """With why it may differ, where that is said of all of it."""
    names = (drifted.key or "", drifted.pool_id)
    return replace(drifted, expected=expected.why(holds, names, drifted.at))


def _attributed(drifted: Drifted, last: History, made: Mapping[Subject, LastEvent], desired: Desired) -> Drifted:
    """With its last event: who moved the live side last tells drift from files that are merely ahead. Where there is no
    event, the base may tell."""
    subject = drifted.pool_id, drifted.to_tenant_id
    event = last.of(subject) or made.get(subject)
    kind = drifted.kind if drifted.kind == "removed" else _moved(drifted.changes, event, desired)
    if event is None:
        return replace(drifted, kind=kind)
    return replace(drifted, kind=kind, since=event.time, actor_id=event.actor_id, event_type=event.type, via=event.via)


def _as_made(diff: Diff) -> Mapping[Subject, LastEvent]:
    """What stands for the last event of owner's rows that nobody set yet: they are as their pool was made. Through
    which change that was is not known."""
    found: dict[Subject, LastEvent] = {}
    for pool in (each.live.pool for each in diff.pools if each.owner_quota and each.live):
        if pool and pool.created_by:
            rows, time = (pool.id, pool.owner_id), pool.created_at
            found[rows] = LastEvent(type=_MADE, subject=rows, actor_id=pool.created_by, time=time, sequence=0, via={})
    return found


def _moved(changes: Sequence[Change], event: LastEvent | None, desired: Desired) -> Moved:
    """Whether the live side moved, by the last event of an object; without one by what is known of its changes: what
    was never there did not move. Rows that a caller of this fleet made with their pool are this fleet's."""
    if event is None:
        was_there = any(change.before is not ABSENT for change in changes)
        return "changed" if was_there and all(change.cause in ("drift", "both") for change in changes) else "pending"
    is_made = event.type == _MADE and event.subject[1] is not None
    ours = event.actor_id in desired.callers and (is_made or event.via.get("fleet") == desired.fleet)
    return "pending" if ours else "changed"
