"""An entry as fields that can be told apart, each with a value in one form, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from better_compute.domain.commands import CreatePool
from better_compute.domain.policy import canonical
from better_compute.domain.state import Terms
from fleetctl.desired import PoolEntry
from fleetctl.desired.inputs import spec_json, terms_json, without_zeros
from fleetctl.desired.model import OffersAre
from fleetctl.diff import ABSENT, at_path, same_policy
from fleetctl.paths import Path

Standing = Literal["kept", "archived", "released", "removed"]
"""What becomes of a pool by its entry, or without one."""

_OWN: Final = {
    "idempotencyKey": "key",
    "previously": "previously",
    "replaces": "replaces",
    "protect": "protect",
    "archived": "archived",
    "released": "released",
}
"""Fields of the entry beside those of the pool that it wishes."""
_SPEC: Final = ("siteId", "class", "gpuModel", "sharing", "agent", "providerAccountId", "policy", "ownerQuota")


def standing(entry: PoolEntry | None) -> Standing:
    if entry is None:
        return "removed"
    return "archived" if entry.archived else "released" if entry.released else "kept"


def same(one: PoolEntry | None, other: PoolEntry | None) -> bool:
    """Whether two entries wish the same, wherever they are written."""
    if one is None or other is None or one is other:
        return one is other
    return (
        all(getattr(one, name) == getattr(other, name) for name in _OWN.values())
        and one.offers_are == other.offers_are
        and one.offers == other.offers
        and _same_pool(one.pool, other.pool)
    ) or fields(one) == fields(other)


def fields(entry: PoolEntry | None) -> dict[str, Any]:
    """As fleet files name them; quotas without rows of 0, offers by tenant."""
    if entry is None:
        return {}
    found: dict[str, Any] = {name: getattr(entry, attribute) for name, attribute in _OWN.items()}
    if (pool := entry.pool) is not None:
        quota = None if pool.owner_quota is None else without_zeros(pool.owner_quota)
        found |= {**spec_json(pool), "policy": canonical(dict(pool.policy)), "ownerQuota": quota}
    found["offersAre"] = entry.offers_are
    found["offers"] = {tenant_id: _offer(terms) for tenant_id, terms in entry.offers.items()}
    return found


def value_at(entry: PoolEntry | None, path: Path) -> Any:
    """What `fields` has at a path, ABSENT: nothing. Of an offer no other one is looked at: a pool may have many."""
    if entry is not None and path[:1] == ("offers",) and len(path) > 1:
        terms = entry.offers.get(path[1])
        value, path = (ABSENT if terms is None else _offer(terms)), path[2:]
    else:
        value = fields(entry)
    return at_path(value, path)


def _offer(terms: Terms) -> dict[str, Any]:
    return {**terms_json(terms), "quota": without_zeros(terms.quota)}


def rebuilt(found: Mapping[str, Any], ours: PoolEntry, theirs: PoolEntry) -> PoolEntry:
    """The entry that has these fields, which come from two of one pool. What only theirs says, or changes, stands where
    they have it. Where one of them has a new key, its id goes with that."""
    keyed = ours if found["idempotencyKey"] == ours.key else theirs
    wish = theirs.pool or ours.pool
    pool = _pool(found, wish) if wish and all(name in found for name in _SPEC) else None
    offers = {tenant_id: _terms(found["offers"][tenant_id]) for tenant_id in sorted(found["offers"])}
    had = fields(ours)["offers"]
    changed = {t for t in offers if t in theirs.offer_places and had.get(t) != found["offers"][t]}
    places = {t: theirs.offer_places[t] if t in changed else ours.offer_places[t] for t in offers}
    return replace(
        ours,
        pool_id=keyed.pool_id,
        **{attribute: found[name] for name, attribute in _OWN.items()},
        place=ours.place if _same_pool(pool, ours.pool) else theirs.place,
        pool=pool and replace(pool, pool_id=keyed.pool_id),
        offers_are=_offers_are(found, ours, theirs),
        offers=offers,
        offer_places=places,
    )


def _offers_are(found: Mapping[str, Any], ours: PoolEntry, theirs: PoolEntry) -> OffersAre:
    """Where lists beside the entry state its offers, and each side took away others until none is left, nothing states
    them."""
    said: OffersAre = found["offersAre"]
    is_stated = bool(found["offers"]) or any(entry.place.holds("offers") for entry in (ours, theirs))
    return "unstated" if said == "stated" and not is_stated else said


def _same_pool(one: CreatePool | None, other: CreatePool | None) -> bool:
    if one is None or other is None:
        return one is other
    return replace(one, policy={}) == replace(other, policy={}) and same_policy(one.policy, other.policy)


def _pool(found: Mapping[str, Any], wish: CreatePool) -> CreatePool:
    return replace(
        wish,
        site_id=found["siteId"],
        class_=found["class"],
        gpu_model=found["gpuModel"],
        sharing=found["sharing"],
        agent=found["agent"],
        provider_account_id=found["providerAccountId"],
        policy=found["policy"],
        owner_quota=found["ownerQuota"],
        idempotency_key=found["idempotencyKey"],
    )


def _terms(found: Mapping[str, Any]) -> Terms:
    return Terms(found["quota"], found["priority"], found["includeDescendants"])
