"""Identity hazards: pools that would be made anew because a key or a caller changed, found before the first write."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from better_compute.domain.problems import BLOCKED, INVALID_INPUT, INVALID_STATE, Problem
from better_compute.domain.state import Pool, PoolState
from fleetctl.desired import Desired, PoolEntry
from fleetctl.diff import ABSENT, Diff, PoolDiff, Removed
from fleetctl.identity import Settled, is_derived, is_live
from fleetctl.override import to_pass
from fleetctl.words import count, listed


class _Shape(NamedTuple):
    """What is for life in a pool, and its model."""

    site: str
    class_: str
    model: str
    sharing: str
    account: str | None


@dataclass(frozen=True, slots=True)
class Hazards:
    """What was found, and the ids of the removed pools that it tells of: nobody should be told to archive them."""

    problems: Sequence[Problem]
    renamed: frozenset[str] = frozenset()


def find(
    diff: Diff,
    whole: Diff,
    desired: Desired,
    live: Mapping[str, PoolState],
    allowed: int | None = None,
) -> Hazards:
    """Renamed entries, rule `fleet.rename`: an error each, or a warning where no more than `allowed` are there (None:
    no override was given). Else rule `fleet.caller`: nothing of the fleet is there, and much that is like it.

    `diff` may be of a part of the `whole` fleet: of the part, each entry that would be made and each pool that would be
    archived counts for which there is another side in the whole. `desired` is settled, and `live` holds all pools
    of its tenant, by id.
    """
    part = {pool.entry.pool_id for pool in diff.pools}
    pairs = [pair for pair in _renames(whole, part) if not part.isdisjoint((pair[0].pool_id, pair[1].pool.id))]
    if not pairs:
        return Hazards(_strangers(diff, desired, live))
    passes = allowed is not None and len(pairs) <= allowed
    problems = [_renamed(new, old, alike, len(pairs), desired, passes=passes) for new, old, alike in pairs]
    return Hazards(problems, frozenset() if passes else frozenset(old.pool.id for _, old, _ in pairs))


def of_others(settled: Settled, was: Desired | None, diff: Diff) -> list[Problem]:
    """Live pools that entries mean by an old key outside of the fleet's prefix, rule `fleet.keyPrefix`: such a key is
    another fleet's, unless the base `was` has the pool. An error where `diff` takes something from the pool; to go on
    with it is a warning, since a prefix may change."""
    desired, problems = settled.desired, list[Problem]()
    taking = {pool.entry.pool_id for pool in diff.pools if _takes(pool)}
    for pool_id, heir in settled.replaced.items():
        problems += _foreign_key(heir, "replaces", heir.replaces, pool_id, desired, was, takes=True)
    for pool_id, entry in desired.entries.items():
        old = entry.previously
        if old is not None and not entry.released and is_derived(desired, old, pool_id):
            takes = pool_id in taking
            problems += _foreign_key(entry, "previously", old, pool_id, desired, was, takes=takes)
    return problems


def _takes(diff: PoolDiff) -> bool:
    """Whether something is taken from somebody: the pool, an offer, its model, or a part of a quota."""
    rows = [
        *diff.owner_quota,
        *(row for offer in diff.offers for row in offer.changes if row.at[0] == "quota"),
    ]
    return (
        diff.archives is not None
        or any(offer.after is None for offer in diff.offers)
        or any(change.at == ("gpuModel",) for change in diff.changes)
        or any(row.before is not ABSENT and (row.after is ABSENT or row.after < row.before) for row in rows)
    )


def missed(diff: Diff, settled: Settled, was: Desired | None) -> list[Problem]:
    """Entries that archive or release a pool which their key does not derive, and that the base knows by it, rule
    `fleet.previously`: they would do nothing, and what is released might be pruned. `diff` is of the whole fleet."""
    held = {} if was is None else {entry.key: entry for entry in was.entries.values() if not entry.released}
    removed = {one.pool.id for one in diff.removed}
    pruned = {pool.entry.pool_id for pool in diff.pools if pool.archives == "removed"}
    problems = []
    for entry in settled.desired.entries.values():
        old = held.get(entry.key) if entry.key and (entry.archived or entry.released) else None
        if old is None or old.pool_id not in removed or (entry.archived and old.pool_id in pruned):
            continue
        does = "archived" if entry.archived else "released"
        means = f"id: {old.pool_id}" if old.previously is None else f"previously: {old.previously}"
        message = f"at the base {entry.key} is {old.pool_id}, which is live, and this entry does not mean that pool"
        hint = f"write `- {{idempotencyKey: {entry.key}, {means}, {does}: true}}`"
        path, source = f"pools[{entry.key}].{does}", entry.place.source(does)
        problems.append(Problem(INVALID_INPUT, "fleet.previously", message, path, hint, source=source))
    return problems


def alike(foreign: Sequence[Pool], desired: Desired) -> list[Problem]:
    """Foreign pools whose keys begin with the fleet's prefix, rule `fleet.foreign`: whoever made them took them for
    this fleet's, or does not know that the prefix is taken."""
    prefix = desired.key_prefix
    found = [pool for pool in foreign if prefix and (pool.idempotency_key or "").startswith(prefix)]
    if not found:
        return []
    told = listed([f"{pool.idempotency_key} by {pool.created_by or 'somebody'}" for pool in found], "pool")
    begins = "begins" if len(found) == 1 else "begin"
    message = f"{told} {begins} with this fleet's keyPrefix, {prefix}, and this fleet did not make {_it(found)}"
    hint = f"adopt what is this fleet's by its id, such as `id: {found[0].id}`, and tell the others whose the prefix is"
    source = desired.places["keyPrefix"].source() if "keyPrefix" in desired.places else None
    return [Problem(INVALID_STATE, "fleet.foreign", message, "keyPrefix", hint, "warning", source)]


def _it(found: Sequence[Pool]) -> str:
    return "it" if len(found) == 1 else "them"


def _foreign_key(
    entry: PoolEntry, field: str, key: str | None, pool_id: str, desired: Desired, was: Desired | None, *, takes: bool
) -> Iterator[Problem]:
    prefix, held = desired.key_prefix or "", was.entries.get(pool_id) if was else None
    if key is None or key.startswith(prefix) or (held is not None and not held.released):
        return
    message = f"{key} does not begin with this fleet's keyPrefix, {prefix}: it is another fleet's pool"
    if field == "replaces":
        hint = f"leave it out, and archive the pool by an entry that adopts it: `- {{id: {pool_id}, archived: true}}`"
    else:
        hint = f"adopt it by its id instead, which says outright which pool is meant: `id: {pool_id}`"
    if was is None:
        hint += "; or give a base that has it"
    yield Problem(
        INVALID_INPUT if takes else INVALID_STATE,
        "fleet.keyPrefix",
        message if takes else f"{message}, unless the prefix was another",
        f"pools[{entry.key or entry.pool_id}].{field}",
        hint,
        "error" if takes else "warning",
        entry.place.source(field),
    )


def _renames(diff: Diff, part: Collection[str]) -> list[tuple[PoolEntry, Removed, int]]:
    """Entries to be created that are shaped like removed pools, one to one: by equal keys first, else those first that
    are in the part. With each the number of removed pools of its shape."""
    old: dict[_Shape, list[Removed]] = defaultdict(list)
    new: dict[_Shape, list[PoolEntry]] = defaultdict(list)
    for one in diff.removed:
        pool = one.pool
        shape = _Shape(pool.site_id, pool.class_, pool.gpu_model, pool.sharing, pool.provider_account_id)
        old[shape].append(one)
    for found in diff.pools:
        if (wish := found.entry.pool) and found.live is None and not found.entry.adopted:
            shape = _Shape(wish.site_id, wish.class_, wish.gpu_model, wish.sharing, wish.provider_account_id)
            if shape in old:
                new[shape].append(found.entry)
    return [
        (entry, one, len(old[shape]))
        for shape, entries in new.items()
        for entry, one in _paired(entries, old[shape], part)
    ]


def _paired(
    entries: Sequence[PoolEntry], pools: Sequence[Removed], part: Collection[str]
) -> Iterable[tuple[PoolEntry, Removed]]:
    by_key = {one.pool.idempotency_key: one for one in pools}
    same = [(entry, by_key[entry.key]) for entry in entries if entry.key in by_key]
    taken = {entry.pool_id for entry, _ in same} | {one.pool.id for _, one in same}
    left = [entry for entry in entries if entry.pool_id not in taken]
    rest = [one for one in pools if one.pool.id not in taken]
    # Whatever is in the part comes first on its side: no pair is made outside of it as long as one can be made with it.
    left.sort(key=lambda entry: (entry.pool_id not in part, entry.key or ""))
    rest.sort(key=lambda one: (one.pool.id not in part, _named(one)))
    return [*same, *zip(left, rest, strict=False)]


def _renamed(entry: PoolEntry, removed: Removed, alike: int, number: int, desired: Desired, *, passes: bool) -> Problem:
    pool, old = removed.pool, _named(removed)
    if entry.key == pool.idempotency_key:
        message = f"same shape, same key, another caller: {pool.created_by} made {old}, and no entry names that pool"
        means = f"`previousCallers: [{pool.created_by}]`"
    else:
        message = f"same shape, new key: {old} is live, this fleet's, and no entry names it any more"
        derived = pool.idempotency_key is not None and is_derived(desired, pool.idempotency_key, pool.id)
        means = f"`previously: {old}`" if derived else f"`id: {pool.id}`"
    also = f" (there are {alike} of this shape that no entry names)" if alike > 1 else ""
    hint = f"if this is that pool, write {means}{also}; if it is a new one: {to_pass('rename', number)}"
    return Problem(
        BLOCKED,
        "fleet.rename",
        message,
        f"pools[{entry.key}]",
        "" if passes else hint,
        "warning" if passes else "error",
        entry.place.source("idempotencyKey"),
    )


def _named(removed: Removed) -> str:
    return removed.pool.idempotency_key or removed.pool.id


def _strangers(diff: Diff, desired: Desired, live: Mapping[str, PoolState]) -> list[Problem]:
    """Everything would be created, beside live pools of the same sites and models."""
    born = [found for found in diff.pools if _is_unborn(found)]
    if not born or any(pool_id in live for pool_id in desired.entries):
        return []
    kinds = {(found.entry.pool.site_id, found.entry.pool.gpu_model) for found in born if found.entry.pool}
    pools = [state.pool for state in live.values() if state.pool and is_live(state)]
    alike = [p for p in pools if (p.site_id, p.gpu_model) in kinds and p.created_by not in desired.callers]
    if not alike:
        return []
    makers = Counter(pool.created_by for pool in alike if pool.created_by)
    made = [f"{name} ({number:,})" for name, number in sorted(makers.items(), key=lambda pair: (-pair[1], pair[0]))]
    by = f", made by {listed(made, 'caller')}" if made else ""
    there = "is" if len(alike) == 1 else "are"
    message = (
        f"nothing that {desired.caller} made for this fleet is live, and there {there} {count(len(alike), 'pool')} of"
        f" the same sites and models{by}: is the caller another?"
    )
    first = max(makers, key=lambda name: (makers[name], name), default="")
    hint = f"if so, write `caller: {first}`, or `previousCallers: [{first}]`" if first else ""
    place = desired.places.get("caller")
    source = place.source() if place else None
    return [Problem(INVALID_STATE, "fleet.caller", message, "caller", hint, "warning", source)]


def _is_unborn(found: PoolDiff) -> bool:
    return found.live is None and found.entry.pool is not None and not found.entry.adopted
