"""Drift: what differs between files and live state, since when, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from better_compute.domain.problems import Source
from better_compute.domain.state import Pool
from fleetctl.desired import Desired, PoolEntry
from fleetctl.diff import Change, Diff, OfferDiff, PoolDiff
from fleetctl.history import History, Reader

Kind = Literal["changed", "pending", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """One pool or offer that is not as the files say.

    `changed`: its last event has another actor, or none of this fleet's changes in `via`; `pending`: the files are
    ahead; `removed`: live, of this fleet, not in the files. `since` is that event's time in epoch milliseconds.
    """

    kind: Kind
    pool_id: str
    key: str | None
    to_tenant_id: str | None
    what: str
    changes: tuple[Change, ...]
    source: Source | None
    since: int | None = None
    actor_id: str | None = None
    event_type: str | None = None
    via: Mapping[str, Any] | None = None


def find(desired: Desired, diff: Diff, read_history: Reader) -> tuple[Drifted, ...]:
    """Everything that drifted, in order of pools and tenants, each with the last event of its object."""
    found = [drifted for pool in diff.pools for drifted in _of_pool(pool, desired)]
    found += [_removed(pool, desired) for pool in diff.removed]
    last = read_history({drifted.pool_id for drifted in found}, 0)
    return tuple(_attributed(drifted, last, desired) for drifted in found)


def _of_pool(diff: PoolDiff, desired: Desired) -> list[Drifted]:
    """The pool itself, and each of its offers."""
    entry, found = diff.entry, []
    if what := _what(diff):
        found.append(_drifted(entry, what, diff.changes))
    if diff.owner_quota:
        found.append(_drifted(entry, "the owner's quota differs", diff.owner_quota, desired.tenant_id))
    if diff.live is not None:
        found += [_drifted(entry, _offer_words(o), o.changes, o.tenant_id) for o in diff.offers]
    return found


def _what(diff: PoolDiff) -> str:
    if diff.problems:
        return diff.problems[0].message
    if diff.live is None:
        return "the pool is not there"
    if diff.archives:
        return "the pool is not archived yet"
    return "the pool differs" if diff.changes else ""


def _offer_words(offer: OfferDiff) -> str:
    if offer.before is None:
        return "the offer is not there"
    return "the offer differs" if offer.after else "the offer stands in no file"


def _drifted(entry: PoolEntry, what: str, changes: tuple[Change, ...], to_tenant_id: str | None = None) -> Drifted:
    place = entry.offer_places.get(to_tenant_id, entry.place) if to_tenant_id else entry.place
    return Drifted(
        kind="pending",
        pool_id=entry.pool_id,
        key=entry.key,
        to_tenant_id=to_tenant_id,
        what=what,
        changes=changes,
        source=place.source(),
    )


def _removed(pool: Pool, desired: Desired) -> Drifted:
    what = f"this fleet made it, and no entry of {desired.fleet} names it"
    return Drifted(
        kind="removed",
        pool_id=pool.id,
        key=pool.idempotency_key,
        to_tenant_id=None,
        what=what,
        changes=(),
        source=None,
    )


def _attributed(drifted: Drifted, last: History, desired: Desired) -> Drifted:
    """With its last event: who moved the live side last tells drift from files that are merely ahead."""
    event = last.of((drifted.pool_id, drifted.to_tenant_id))
    if event is None:
        return drifted
    ours = event.actor_id == desired.caller and event.via.get("fleet") == desired.fleet
    kind: Kind = drifted.kind if ours or drifted.kind == "removed" else "changed"
    return replace(drifted, kind=kind, since=event.time, actor_id=event.actor_id, event_type=event.type, via=event.via)
