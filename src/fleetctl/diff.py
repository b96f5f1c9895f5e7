"""Desired against live state: what differs. Knows neither YAML nor HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

import msgspec

from better_compute.domain.atoms import DEFAULT_AGENT
from better_compute.domain.commands import CreatePool
from better_compute.domain.policy.canonical import canonical, canonical_bytes
from better_compute.domain.problems import CONFLICT, INVALID_STATE, NOT_FOUND, Problem, did_you_mean
from better_compute.domain.state import Pool, PoolState, Terms
from fleetctl.desired import Desired, PoolEntry
from fleetctl.words import time


class Absent:
    """Nothing on that side: neither null nor empty nor zero. JSON says it by leaving the field out."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Change:
    """One difference, at a path in the spelling of fleet files (`policy.maxPending`, `quota.gpu`)."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferDiff:
    """One tenant's offer: None before is a new one, None after a withdrawal."""

    tenant_id: str
    before: Terms | None
    after: Terms | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDiff:
    """One pool that is not as wished. `live` of None: to be created; `archives`: to be archived, and nothing else.

    `changes` are those that an update makes; a problem says why the pool cannot become as wished.
    """

    entry: PoolEntry
    live: PoolState | None
    archives: bool = False
    changes: tuple[Change, ...] = ()
    owner_quota: tuple[Change, ...] = ()
    offers: tuple[OfferDiff, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Everything that differs, in order of pool ids. `removed` pools are this fleet's and stand in no entry; `foreign`
    counts live pools that are nobody's business here; `gone` are tombstones of pools that never were."""

    pools: tuple[PoolDiff, ...]
    removed: tuple[Pool, ...]
    foreign: int
    gone: tuple[PoolEntry, ...]


def compare(desired: Desired, live: Mapping[str, PoolState]) -> Diff:
    """Compare every entry with the live pool of its id. `live` holds all pools that the fleet's tenant owns."""
    pools, gone = [], []
    for pool_id, entry in desired.entries.items():
        state = live.get(pool_id)
        if entry.archived and state is None:
            gone.append(entry)
        elif (found := _compare_pool(entry, state)) is not None:
            pools.append(found)
    rest = [s.pool for i, s in live.items() if i not in desired.entries and s.pool and not s.pool.archived]
    removed = tuple(pool for pool in rest if _is_ours(pool, desired))
    return Diff(pools=tuple(pools), removed=removed, foreign=len(rest) - len(removed), gone=tuple(gone))


def offer_changes(before: Terms | None, after: Terms | None) -> tuple[Change, ...]:
    """What differs between two offers; a row of 0 and no row are equal, and both sides are shown as they are."""
    old, new = before or Terms({}), after or Terms({})
    changes = list(_quota_changes("quota", old.quota, new.quota))
    if before and after:
        if old.priority != new.priority:
            changes.append(Change("priority", old.priority, new.priority))
        if old.include_descendants != new.include_descendants:
            changes.append(Change("includeDescendants", old.include_descendants, new.include_descendants))
    return tuple(changes)


def _compare_pool(entry: PoolEntry, state: PoolState | None) -> PoolDiff | None:
    """None when the pool is as wished."""
    if state is None or state.pool is None:
        return _unborn(entry)
    pool = state.pool
    if entry.archived:
        return None if pool.archived else PoolDiff(entry=entry, live=state, archives=True)
    if entry.pool is None:
        return None
    if problems := _check_identity(entry, entry.pool, pool):
        return PoolDiff(entry=entry, live=state, problems=tuple(problems))
    changes = _pool_changes(entry.pool, pool)
    owner = owner_changes(entry.pool, state.limits(entry.pool.tenant_id))
    offers = tuple(_offer_diffs(entry, state, pool.owner_id)) if entry.offers_are == "stated" else ()
    unstated = _check_unstated(entry, state)
    if not (changes or owner or offers or unstated):
        return None
    return PoolDiff(entry=entry, live=state, changes=changes, owner_quota=owner, offers=offers, problems=unstated)


def _unborn(entry: PoolEntry) -> PoolDiff:
    if entry.adopted:
        message = "this id names no pool of the fleet's tenant, and an adopted pool is never created"
        problem = Problem(NOT_FOUND, "fleet.adopt", message, "id", "drop the id to create a pool under the key")
        return PoolDiff(entry=entry, live=None, problems=(problem,))
    offers = tuple(
        OfferDiff(tenant_id=t, before=None, after=terms, changes=offer_changes(None, terms))
        for t, terms in entry.offers.items()
    )
    return PoolDiff(entry=entry, live=None, offers=offers)


def _check_identity(entry: PoolEntry, wish: CreatePool, pool: Pool) -> list[Problem]:
    """What no operation can change: an archived pool is not revived, and five fields are for life. What is nearly the
    live value is taken for a slip before anybody is told to archive a pool."""
    if pool.archived_at is not None:
        when = time(pool.archived_at)
        message = f"this key belongs to a pool that was archived on {when}, and an archived pool is not revived"
        hint = "use a new key, or write archived: true if it is to stay so"
        return [Problem(INVALID_STATE, "pool.key", message, "idempotencyKey", hint)]
    pairs = {
        "siteId": (pool.site_id, wish.site_id),
        "class": (pool.class_, wish.class_),
        "sharing": (pool.sharing, wish.sharing),
        "agent": (pool.agent, wish.agent or DEFAULT_AGENT),
        "providerAccountId": (pool.provider_account_id, wish.provider_account_id),
    }
    name = entry.key or entry.pool_id
    new = "write a new entry under a new key and archive this one"
    return [
        Problem(
            CONFLICT,
            "pool.key",
            f"{field} of {name} is {had or 'not set'} for life and cannot become {wants or 'unset'}",
            field,
            f"{near} If not, {new}" if (near := did_you_mean(wants or "", [had or ""])) else f"keep it, or {new}",
        )
        for field, (had, wants) in pairs.items()
        if had != wants
    ]


def _pool_changes(wish: CreatePool, pool: Pool) -> tuple[Change, ...]:
    model = () if wish.gpu_model == pool.gpu_model else (Change("gpuModel", pool.gpu_model, wish.gpu_model),)
    return model + policy_changes(pool.policy, wish.policy)


def policy_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """The leaves in which two policies differ by their canonical values, shown as they are written.

    Unequal bytes are looked at again in canonical form, and only what differs there is taken apart: most policies of
    a fleet are equal.
    """
    if msgspec.json.encode(before, order="sorted") == msgspec.json.encode(after, order="sorted"):
        return ()
    if canonical_bytes(dict(before)) == canonical_bytes(dict(after)):
        return ()
    return tuple(_leaves(before, after))


def _leaves(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    from deepdiff import DeepDiff  # not at the top: a plan without a changed policy need not load it

    found = DeepDiff(
        _maps_of_texts(canonical(before)),
        _maps_of_texts(canonical(after)),
        view="tree",
        ignore_private_variables=False,  # a name is a name, also where it begins with two underscores
        threshold_to_diff_deeper=0,  # maps with few names in common are taken apart too: each field is a line
    )
    paths = {_shown_path(leaf.path(output_format="list"), before, after) for kind in found.values() for leaf in kind}
    for path in sorted(paths):
        yield Change(".".join(("policy", *path)), _at(before, path), _at(after, path))


def _maps_of_texts(value: Any) -> Any:
    """Maps, and below them the JSON of everything else: as Python compares, 1 and true are one, and two long lists
    take minutes."""
    if isinstance(value, dict):
        return {name: _maps_of_texts(inner) for name, inner in value.items()}
    return canonical_bytes({"": value}).decode("utf-8", "surrogatepass")


def _shown_path(path: list[str | int], before: Any, after: Any) -> tuple[str, ...]:
    """The way to a leaf as people wrote it: a list is shown as one value (its items have no names), and so is
    whatever the canonical form takes apart."""
    names = tuple(takewhile(lambda part: isinstance(part, str), path))
    while _at(before, names) is ABSENT and _at(after, names) is ABSENT:
        names = names[:-1]
    return tuple(str(name) for name in names)


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for part in path:
        if not (isinstance(value, Mapping) and part in value):
            return ABSENT
        value = value[part]
    return value


def owner_changes(wish: CreatePool, limits: Mapping[str, int]) -> tuple[Change, ...]:
    """What differs in the owner's rows: `ownerQuota`, once written, is kept exact; not written, it is left alone."""
    if wish.owner_quota is None:
        return ()
    return tuple(_quota_changes("ownerQuota", limits, wish.owner_quota))


def _quota_changes(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Change]:
    if before == after:
        return
    for resource in sorted(before.keys() | after.keys()):
        if before.get(resource, 0) != after.get(resource, 0):
            yield Change(f"{name}.{resource}", before.get(resource, ABSENT), after.get(resource, ABSENT))


def _offer_diffs(entry: PoolEntry, state: PoolState, owner_id: str) -> Iterator[OfferDiff]:
    for tenant_id in sorted(state.offers.keys() | entry.offers.keys()):
        if tenant_id == owner_id:
            continue
        before, after = state.terms(tenant_id), entry.offers.get(tenant_id)
        changes = offer_changes(before, after)
        if changes or before is None or after is None:
            yield OfferDiff(tenant_id=tenant_id, before=before, after=after, changes=changes)


def _check_unstated(entry: PoolEntry, state: PoolState) -> tuple[Problem, ...]:
    """Rule fleet.offersUnstated: silence neither keeps nor withdraws the offers there are."""
    if entry.offers_are != "unstated" or not state.others:
        return ()
    others = sorted(tenant for tenant in state.offers if state.pool and tenant != state.pool.owner_id)
    message = f"the pool is offered to {', '.join(others)}, and the files do not say what should become of that"
    hint = "write them, or `offers: []` to withdraw them all, or `offers: unmanaged` to leave them to others"
    return (Problem(INVALID_STATE, "fleet.offersUnstated", message, "offers", hint),)


def _is_ours(pool: Pool, desired: Desired) -> bool:
    """Whether a pool without an entry is one that this fleet made and let go: the same caller and key prefix."""
    if desired.key_prefix is None or pool.created_by != desired.caller:
        return False
    return pool.idempotency_key is not None and pool.idempotency_key.startswith(desired.key_prefix)
