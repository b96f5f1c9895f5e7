"""What moved since the base: a difference is intent, where the files did; drift, where the live state did; or both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from better_compute.domain.state import PoolState, Terms
from fleetctl.desired import Desired, PoolEntry
from fleetctl.diff import Change, ChangeCause, Diff, OfferDiff, PoolDiff, offer_changes, policy_changes, quota_changes
from fleetctl.paths import Path, outer


def labelled(diff: Diff, was: Desired | None) -> Diff:
    """The differences with their causes. `was` is the fleet of the base, settled on the same pools; None: no cause is
    known."""
    return diff if was is None else replace(diff, pools=tuple(_pool(pool, was) for pool in diff.pools))


def _pool(diff: PoolDiff, fleet: Desired) -> PoolDiff:
    was = fleet.entries.get(diff.entry.pool_id)
    before, now = _wished(was), _wished(diff.entry)
    moved = _Moved(_paths(before, now), _paths(before, _found(diff.live, before)) if before else ())
    return replace(
        diff,
        changes=moved.label(diff.changes),
        owner_quota=moved.label(diff.owner_quota),
        offers=tuple(_offer(offer, diff.entry, was) for offer in diff.offers),
        cause=_whole(diff, was, fleet, moved),
    )


def _whole(diff: PoolDiff, was: PoolEntry | None, fleet: Desired, moved: _Moved) -> ChangeCause | None:
    """Why the pool is to be created, or archived: whether it is there, not what it is like."""
    match diff.archives:
        case "tombstone":
            return "drift" if was is not None and was.archived else "intent"
        case "replaced" if diff.heir is not None:
            heir = fleet.entries.get(diff.heir.pool_id)
            return "drift" if heir is not None and heir.replaces == diff.heir.replaces else "intent"
        case "removed":
            return "intent"
    if diff.live is None:
        return "intent" if was is None or was.archived else _cause(files=moved.files.any, live=True)
    return None


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pool as a base, files or live state have it; `owner_quota` of None: unmanaged."""

    gpu_model: str
    policy: Mapping[str, Any]
    owner_quota: Mapping[str, int] | None


def _wished(entry: PoolEntry | None) -> _Pool | None:
    """None where an entry asks for no pool, or there is none."""
    if entry is None or entry.pool is None or entry.archived or entry.released:
        return None
    return _Pool(entry.pool.gpu_model, entry.pool.policy, entry.pool.owner_quota)


def _found(live: PoolState | None, before: _Pool) -> _Pool | None:
    """Rows that the base leaves alone cannot move away from it."""
    if live is None or live.pool is None:
        return None
    rows = None if before.owner_quota is None else live.limits(live.pool.owner_id)
    return _Pool(live.pool.gpu_model, live.pool.policy, rows)


def _paths(before: _Pool | None, after: _Pool | None) -> list[Path] | None:
    """Where the pool itself moved; None: everywhere, since it came or went."""
    if before is None or after is None:
        return None
    paths = [change.at for change in policy_changes(before.policy, after.policy)]
    if before.gpu_model != after.gpu_model:
        paths.append(("gpuModel",))
    if after.owner_quota is None or before.owner_quota is None:
        paths += [("ownerQuota",)] if before.owner_quota != after.owner_quota else []
    else:
        paths += [change.at for change in quota_changes("ownerQuota", before.owner_quota, after.owner_quota)]
    return paths


def _offer(diff: OfferDiff, now: PoolEntry, was: PoolEntry | None) -> OfferDiff:
    """Where the base did not state the pool's offers, or the files do not, whatever differs is a wish."""
    if was is None or was.offers_are != now.offers_are:
        moved = _Moved(None, ())
    else:
        before = was.offers.get(diff.tenant_id)
        moved = _Moved(_terms(before, now.offers.get(diff.tenant_id)), _terms(before, diff.before))
    whole = _cause(files=moved.files.any, live=moved.live.any)
    return replace(diff, cause=whole, changes=moved.label(diff.changes))


def _terms(before: Terms | None, after: Terms | None) -> list[Path] | None:
    """Where an offer moved; None: everywhere, since it came or went."""
    if (before is None) != (after is None):
        return None
    return [change.at for change in offer_changes(before, after)]


class _Moved:
    """The paths at which the files, and the live state, moved away from the base; None: everywhere."""

    def __init__(self, files: Iterable[Path] | None, live: Iterable[Path] | None) -> None:
        self.files, self.live = _Side(files), _Side(live)

    def label(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        return tuple(replace(c, cause=_cause(files=self.files.at(c.at), live=self.live.at(c.at))) for c in changes)


class _Side:
    def __init__(self, paths: Iterable[Path] | None) -> None:
        self.everywhere = paths is None
        self.paths = set(paths or ())
        self.around = {each for path in self.paths for each in outer(path)}

    @property
    def any(self) -> bool:
        return self.everywhere or bool(self.paths)

    def at(self, path: Path) -> bool:
        """One value may be a leaf on one side and a map on the other."""
        own = path in self.paths or path in self.around or any(each in self.paths for each in outer(path))
        return own or self.everywhere


def _cause(*, files: bool, live: bool) -> ChangeCause:
    if files:
        return "both" if live else "intent"
    return "drift"
