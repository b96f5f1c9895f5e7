"""What two fleets wish differently: pools and their offers, guards and checks, and the fields of the whole fleet.

Equal is what a plan takes for equal: the differences of policies, quotas and offers are found by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from better_compute.domain.state import Terms
from better_compute.domain.values import same_value
from fleetctl.desired import Check, Desired, Embedded, PoolEntry
from fleetctl.desired.guards import Guards
from fleetctl.desired.inputs import spec_json
from fleetctl.diff import ABSENT, Change, offer_changes, owner_changes, policy_changes
from fleetctl.paths import Path
from fleetctl.words import time

Kind = Literal["added", "removed", "changed"]
Direction = Literal["tighter", "looser", "other"]
"""What a change does to a limit. `other`: nobody can tell without running it."""
_LEFT = frozenset({"idempotencyKey", "id", "previously", "archived", "released"})
"""What an entry without a pool says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferDifference:
    tenant_id: str
    kind: Kind
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDifference:
    """One pool that differs; `before` of None: it was added, `after` of None: it was removed. `looser`: it was
    protected, and is no more."""

    before: PoolEntry | None
    after: PoolEntry | None
    changes: tuple[Change, ...]
    offers: tuple[OfferDifference, ...]
    looser: bool = False

    @property
    def kind(self) -> Kind:
        return _kind(self.before, self.after)

    @property
    def entry(self) -> PoolEntry:
        """The entry as it is now, or was last."""
        entry = self.after or self.before
        assert entry is not None
        return entry


@dataclass(frozen=True, slots=True)
class LimitDifference:
    """A guard, or one field of a check, that differs."""

    change: Change
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Everything that differs; `unchanged` counts entries that do not."""

    fields: tuple[Change, ...]
    limits: tuple[LimitDifference, ...]
    pools: tuple[PoolDifference, ...]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.fields or self.limits or self.pools)

    @property
    def looser(self) -> int:
        """How many limits and protected pools are guarded less than before."""
        return sum(limit.direction == "looser" for limit in self.limits) + sum(pool.looser for pool in self.pools)


def compare(before: Desired, after: Desired) -> Differences:
    """What `after` wishes differently from `before`; pools in the order of their keys."""
    pools, unchanged = [], 0
    for old, new in _pairs(before, after):
        ends = old is not None and new is not None and _ends(old, new)
        changes = tuple(_of_end(old, new) if ends else _of_entry(old, new))
        offers = () if ends else tuple(_of_offers(old, new))
        if old is None or new is None or changes or offers:
            looser = old is not None and old.protect and not (new is not None and new.protect)
            pools.append(PoolDifference(before=old, after=new, changes=changes, offers=offers, looser=looser))
        else:
            unchanged += 1
    return Differences(
        fields=(*_between(_root(before), _root(after)), *_between(before.prices, after.prices, ("prices",))),
        limits=(*_of_limits(before, after), *_of_checks(before.checks, after.checks)),
        pools=tuple(sorted(pools, key=lambda pool: pool.entry.key or pool.entry.pool_id)),
        unchanged=unchanged,
    )


def _pairs(before: Desired, after: Desired) -> Iterator[tuple[PoolEntry | None, PoolEntry | None]]:
    """Each entry of both, with its other side where there is one: the entry of the same pool, else of the same key (ids
    derive from tenant and caller, which may differ), else that of the key which it says it had previously."""
    had = dict(before.entries)
    keys = {entry.key: entry.pool_id for entry in had.values() if entry.key is not None}
    found: dict[str, PoolEntry] = {}

    def claim(entry: PoolEntry, pool_id: str | None) -> None:
        if entry.pool_id not in found and pool_id in had:
            found[entry.pool_id] = had.pop(pool_id)

    for entry in after.entries.values():
        claim(entry, entry.pool_id)
    for entry in after.entries.values():
        claim(entry, keys.get(entry.key) if entry.key else None)
    for entry in after.entries.values():
        claim(entry, keys.get(entry.previously) if entry.previously else None)
    yield from ((found.get(entry.pool_id), entry) for entry in after.entries.values())
    yield from ((entry, None) for entry in had.values())


def _ends(old: PoolEntry, new: PoolEntry) -> bool:
    """Whether all that is left of an entry is that its pool is archived, or let go."""
    return new.pool is None and (old.archived, old.released) != (new.archived, new.released)


def _of_end(old: PoolEntry | None, new: PoolEntry | None) -> Iterator[Change]:
    """What becomes of the pool, and of its names. The rest of what was written goes unsaid: nobody took it out of a
    pool that stays."""
    yield from (change for change in _between(_facts(old), _facts(new)) if change.at[0] in _LEFT)


def _of_entry(old: PoolEntry | None, new: PoolEntry | None) -> Iterator[Change]:
    yield from _between(_facts(old), _facts(new))
    yield from policy_changes(_policy(old), _policy(new))
    yield from _of_owner(old, new)


def _facts(entry: PoolEntry | None) -> Mapping[str, Any]:
    """The fields of an entry that are one value each, those alone that say something."""
    if entry is None:
        return {}
    spec = spec_json(entry.pool) if entry.pool else {}
    facts = {
        "idempotencyKey": entry.key,
        "id": entry.pool_id if entry.adopted else None,
        **{name: value for name, value in spec.items() if name != "policy"},
        "archived": entry.archived or None,
        "released": entry.released or None,
        "protect": entry.protect or None,
        "previously": entry.previously,
        "replaces": entry.replaces,
        "offers": entry.offers_are,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _policy(entry: PoolEntry | None) -> Mapping[str, Any]:
    return entry.pool.policy if entry and entry.pool else {}


def _of_owner(old: PoolEntry | None, new: PoolEntry | None) -> Iterator[Change]:
    """The owner's quota. Not written it is left alone, which is another thing than rows of 0."""
    had = old.pool.owner_quota if old and old.pool else None
    has = new.pool.owner_quota if new and new.pool else None
    if (had is None) != (has is None):
        yield Change(("ownerQuota",), ABSENT if had is None else dict(had), ABSENT if has is None else dict(has))
    elif had is not None and new is not None and new.pool is not None:
        yield from owner_changes(new.pool, had)


def _of_offers(old: PoolEntry | None, new: PoolEntry | None) -> Iterator[OfferDifference]:
    had, has = old.offers if old else {}, new.offers if new else {}
    for tenant_id in sorted(had.keys() | has.keys()):
        before, after = had.get(tenant_id), has.get(tenant_id)
        changes = (*offer_changes(before, after), *_whole(before, after))
        if changes or before is None or after is None:
            yield OfferDifference(tenant_id=tenant_id, kind=_kind(before, after), changes=changes)


def _whole(before: Terms | None, after: Terms | None) -> Iterator[Change]:
    """The terms beside the quota of an offer that one side alone has, where they are not the usual ones."""
    if before is None or after is None:
        usual = Terms({})
        for name in ("priority", "include_descendants"):
            had, has = (ABSENT if terms is None else getattr(terms, name) for terms in (before, after))
            if getattr(usual, name) not in (had, has):
                yield Change((to_camel(name),), had, has)


def _kind(before: object, after: object) -> Kind:
    return "added" if before is None else "removed" if after is None else "changed"


def _root(desired: Desired) -> Mapping[str, Any]:
    server = desired.server
    named = desired.places["server"].value() if isinstance(server, Embedded) and "server" in desired.places else server
    facts = {
        "fleet": desired.fleet,
        "tenantId": desired.tenant_id,
        "caller": desired.caller,
        "previousCallers": list(desired.previous_callers) or None,
        "keyPrefix": desired.key_prefix,
        "server": named,
        "expected": [
            {"key": one.key, "path": one.path, "until": one.until, "reason": one.reason} for one in desired.expected
        ]
        or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _between(before: Mapping[str, Any], after: Mapping[str, Any], below: Path = ()) -> Iterator[Change]:
    for name in (*before, *(name for name in after if name not in before)):
        had, has = before.get(name, ABSENT), after.get(name, ABSENT)
        if had is ABSENT or has is ABSENT or not same_value(had, has):
            yield Change((*below, name), had, has)


def _of_limits(before: Desired, after: Desired) -> Iterator[LimitDifference]:
    """Guards by their names. The stricter of two is what a plan with a base follows: what it is not was loosened."""
    both = before.guards.stricter(after.guards)
    for each in fields(Guards):
        had, has, strict = (_shown(getattr(guards, each.name)) for guards in (before.guards, after.guards, both))
        if had != has:
            yield LimitDifference(
                Change(("guards", to_camel(each.name)), had, has), "tighter" if has == strict else "looser"
            )
    if before.allow_empty != after.allow_empty:
        change = Change(("allowEmpty",), before.allow_empty, after.allow_empty)
        yield LimitDifference(change, "looser" if after.allow_empty else "tighter")


def _shown(limit: Any) -> Any:
    """A guard's value as JSON; sets in order."""
    if isinstance(limit, frozenset):
        return sorted(limit)
    if isinstance(limit, tuple):
        windows = [{"from": time(one.start), "to": time(one.end), "reason": one.reason} for one in limit]
        return sorted(windows, key=repr)
    return limit


def _of_checks(before: Iterable[Check], after: Iterable[Check]) -> Iterator[LimitDifference]:
    had, has = {check.name: check for check in before}, {check.name: check for check in after}
    for name in sorted(had.keys() | has.keys()):
        old, new = had.get(name), has.get(name)
        if old is None or new is None:
            change = Change(("checks", name), _check(old) or ABSENT, _check(new) or ABSENT)
            yield LimitDifference(change, "tighter" if old is None else "looser")
            continue
        for change in _between(_check(old), _check(new)):
            yield LimitDifference(Change(("checks", name, *change.at), change.before, change.after), _direction(change))


def _direction(change: Change) -> Direction:
    if change.at == ("severity",):
        return "tighter" if change.after == "deny" else "looser"
    return "other"


def _check(check: Check | None) -> Mapping[str, Any]:
    if check is None:
        return {}
    said = {"severity": check.severity, "each": check.each, "expr": check.expr, "message": check.message}
    return {name: value for name, value in said.items() if value is not None}
