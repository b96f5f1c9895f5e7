"""What moved since the base: each difference is intent, where the files did, or drift, where the live state did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fleetctl.desired import Desired, PoolEntry
from fleetctl.diff import Cause, Change, Diff, OfferDiff, PoolDiff, offer_changes, policy_changes, quota_changes


def labelled(diff: Diff, was: Desired | None) -> Diff:
    """The differences with their causes. `was` is the fleet of the base, settled on the same pools; None: no cause is
    known."""
    return diff if was is None else replace(diff, pools=tuple(_pool(pool, was) for pool in diff.pools))


def _pool(diff: PoolDiff, fleet: Desired) -> PoolDiff:
    was = fleet.entries.get(diff.entry.pool_id)
    moved = _Moved(_paths(diff.entry, was))
    return replace(
        diff,
        changes=moved.label(diff.changes),
        owner_quota=moved.label(diff.owner_quota),
        offers=tuple(_offer(offer, diff.entry, was) for offer in diff.offers),
        cause=_whole(diff, was, fleet),
    )


def _whole(diff: PoolDiff, was: PoolEntry | None, fleet: Desired) -> Cause | None:
    """Why the pool is to be created, or archived."""
    match diff.archives:
        case "tombstone":
            return "drift" if was is not None and was.archived else "intent"
        case "replaced" if diff.heir is not None:
            heir = fleet.entries.get(diff.heir.pool_id)
            return "drift" if heir is not None and heir.replaces == diff.heir.replaces else "intent"
        case "removed":
            return "intent"
    if diff.live is None:
        return "intent" if was is None or was.archived else "drift"
    return None


def _paths(now: PoolEntry, was: PoolEntry | None) -> list[str]:
    """Where the wishes for the pool itself moved; all of them where there was none."""
    if now.pool is None:
        return []
    if was is None or was.pool is None:
        return ["gpuModel", "policy", "ownerQuota"]
    paths = [change.path for change in policy_changes(was.pool.policy, now.pool.policy)]
    if was.pool.gpu_model != now.pool.gpu_model:
        paths.append("gpuModel")
    if was.pool.owner_quota is None or now.pool.owner_quota is None:
        paths += ["ownerQuota"] if was.pool.owner_quota != now.pool.owner_quota else []
    else:
        paths += [change.path for change in quota_changes("ownerQuota", was.pool.owner_quota, now.pool.owner_quota)]
    return paths


def _offer(diff: OfferDiff, now: PoolEntry, was: PoolEntry | None) -> OfferDiff:
    """Where the base did not state the pool's offers, or the files do not, whatever differs is a wish."""
    if was is None or was.offers_are != now.offers_are:
        return replace(diff, cause="intent", changes=_all(diff.changes, "intent"))
    before, after = was.offers.get(diff.tenant_id), now.offers.get(diff.tenant_id)
    if (before is None) != (after is None):
        return replace(diff, cause="intent", changes=_all(diff.changes, "intent"))
    moved = _Moved(change.path for change in offer_changes(before, after))
    return replace(diff, cause="drift", changes=moved.label(diff.changes))


def _all(changes: Iterable[Change], cause: Cause) -> tuple[Change, ...]:
    return tuple(replace(change, cause=cause) for change in changes)


class _Moved:
    """The paths at which the files moved."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = set(paths)
        self.around = {outer for path in self.paths for outer in _outer(path)}

    def label(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        return tuple(replace(change, cause=self._cause(change.path)) for change in changes)

    def _cause(self, path: str) -> Cause:
        """One value may be a leaf on one side and a map on the other."""
        own = path in self.paths or path in self.around or any(outer in self.paths for outer in _outer(path))
        return "intent" if own else "drift"


def _outer(path: str) -> Iterable[str]:
    """The paths that a path is below."""
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
