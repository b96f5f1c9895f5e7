"""Entries and offers as they are written, brought together from all documents, and what they owe each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from better_compute.domain.ids import derive, is_key
from better_compute.domain.problems import INVALID_STATE
from fleetctl.desired.faults import MISSING
from fleetctl.desired.found import Found, Part
from fleetctl.desired.model import OffersAre
from fleetctl.desired.nearest import Nearest
from fleetctl.desired.place import Place
from fleetctl.desired.records import meaning, names
from fleetctl.desired.roots import Roots
from fleetctl.desired.says import meant
from fleetctl.desired.shape import POOL_NEEDS, UNMANAGED, Pool

_KNOWN = dict.fromkeys(names(Pool))


@dataclass(slots=True)
class Draft:
    """An entry as it is written. Its shape may be faulty: then it is only compared, never built."""

    place: Place
    fields: Mapping[str, Any]
    """A misspelt one under the name that it means."""
    key: str | None
    pool_id: str | None
    """Derived or adopted; None where the entry has neither, or the caller it derives from is not known."""
    adopted: bool
    offers: dict[str, tuple[Place, Mapping[str, Any]]] = field(default_factory=dict)
    """By tenant."""
    listed: bool = False
    """Whether a list of offers outside of the entry names it."""

    @property
    def archived(self) -> bool:
        return self.fields.get("archived") is True

    @property
    def released(self) -> bool:
        return self.fields.get("released") is True

    def name_in(self, field_name: str) -> str | None:
        """The key or id in a field; None where it holds none."""
        return _id(self.fields, field_name)

    def nameless(self, roots: Roots) -> bool:
        """Whether the key or the id of the entry is faulty, so that offers which name none may be meant for it."""
        if "id" in self.fields:
            return not self.adopted or ("idempotencyKey" in self.fields and self.key is None)
        return self.key is None or not self.key.startswith(roots.get("keyPrefix", ""))

    @property
    def offers_are(self) -> OffersAre:
        if self.fields.get("offers") == UNMANAGED:
            return "unmanaged"
        return "stated" if self.listed or "offers" in self.fields else "unstated"


def gather(
    parts: Sequence[Part], roots: Roots, caller: str | None, found: Found
) -> tuple[list[Draft], Mapping[str, Draft]]:
    """All entries with all their offers, and the entries by key and by id; finds what stands twice, what is missing,
    and offers that contradict their entry."""
    drafts = [_draft(place, item, roots, caller) for place, item in _items(parts, "pools")]
    names: dict[str, Draft] = {}
    for draft in drafts:
        _check_entry(draft, roots, found)
        _claim(draft, names, found)
    _check_keys(drafts, roots, found)
    for draft in drafts:
        for place, offer in _maps(draft.place.at("offers"), draft.fields.get("offers")):
            _offer(draft, place, offer, roots, found)
    strays: list[tuple[str, Place]] = []
    for place, offer in _items(parts, "offers"):
        _offer(_listed(place, offer, names, strays, found), place, offer, roots, found)
    nameless = sum(draft.nameless(roots) for draft in drafts) + sum(_not_maps(part.document.root) for part in parts)
    told = "pools" in roots.broken or not (drafts or roots.get("allowEmpty") is True)  # that there is no pool
    if not told and len({name for name, _ in strays}) > nameless:
        _judge_strays(strays, names, found)
    return drafts, names


def _not_maps(root: Mapping[str, Any]) -> int:
    pools = root.get("pools")
    return sum(not isinstance(item, dict) for item in pools) if isinstance(pools, list) else 0


def _items(parts: Sequence[Part], name: str) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for part in parts:
        yield from _maps(Place(part.document, (name,)), part.document.root.get(name))


def _maps(place: Place, items: object) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The maps of a list; anything else is a fault that was found before."""
    if isinstance(items, list):
        yield from ((place.at(index), item) for index, item in enumerate(items) if isinstance(item, dict))


def _draft(place: Place, item: Mapping[str, Any], roots: Roots, caller: str | None) -> Draft:
    if not item.keys() <= _KNOWN.keys():
        item = {**{meant(name, (*_KNOWN,)): item[name] for name in item if name not in _KNOWN}, **item}
    key, adopted = _id(item, "idempotencyKey"), _id(item, "id")
    pool_id = adopted
    if pool_id is None and "id" not in item and key and caller is not None:
        pool_id = derive("pool", roots.get("tenantId", ""), caller, key)
    return Draft(place, item, key, pool_id, adopted is not None)


def _id(item: Mapping[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if type(value) is str and is_key(value) else None


def _check_entry(draft: Draft, roots: Roots, found: Found) -> None:
    """What an entry must hold, its defaults counted in."""
    place, fields = draft.place, draft.fields
    if "idempotencyKey" not in fields and "id" not in fields and not found.explained(place, "idempotencyKey"):
        message = "a pool needs an idempotencyKey, or the id of a pool to adopt"
        found.add(MISSING, message, place, "idempotencyKey")
    if fields.get("released") is True and fields.get("offers") == []:
        message = f"offers: [] withdraws all, and the entry lets its pool go ({place.source('released')})"
        found.add("fleet.contradiction", message, place, "offers", hint="remove offers: they stay as they are")
    whole = fields.get("archived", False) is False and fields.get("released", False) is False
    if whole and "defaults" not in roots.faulty:
        for name in POOL_NEEDS:
            said = name in fields or name in roots.defaults("pool")
            if not said and not found.explained(place, name):
                found.add(MISSING, f"it is missing: {meaning(Pool, name)}", place, name)


def _check_keys(drafts: Sequence[Draft], roots: Roots, found: Found) -> None:
    """Keys begin with the fleet's prefix. Where several do and none has it, it is the prefix that is wrong."""
    prefix = roots.get("keyPrefix", "")
    keyed = [(draft, draft.key) for draft in drafts if draft.key and "id" not in draft.fields]
    outside = [(draft, key) for draft, key in keyed if not key.startswith(prefix)]
    if len(outside) == len(keyed) > 1:
        message = f"no key of this fleet begins with its keyPrefix, {prefix}"
        hint = f"the first key is {outside[0][1]}"
        found.add("fleet.keyPrefix", message, roots.places["keyPrefix"], hint=hint)
        return
    hint = f"begin it with {prefix}, or add the id of an existing pool to adopt it"
    for draft, _ in outside:
        message = f"keys of this fleet begin with its keyPrefix, {prefix}"
        found.add("fleet.keyPrefix", message, draft.place, "idempotencyKey", hint=hint)


def _claim(draft: Draft, names: dict[str, Draft], found: Found) -> None:
    """A key or id stands for one entry."""
    for field_name, name in (("idempotencyKey", draft.key), ("id", draft.pool_id)):
        if name is None:
            continue
        first = names.setdefault(name, draft)
        if first is not draft:
            what = "key" if field_name == "idempotencyKey" else "pool"
            found.twice(
                "fleet.twice", f"two entries name the same {what}, {name}", draft.place, first.place, field_name
            )
            return


def _judge_strays(strays: Sequence[tuple[str, Place]], names: Mapping[str, Draft], found: Found) -> None:
    """Offers of a list whose pool has no entry."""
    nearest = Nearest()
    for name, place in strays:
        hint = nearest.hint(name, names) or "write the key of an entry"
        found.add("fleet.pool", "no entry of this fleet has this key or id", place, "pool", hint=hint)


def _listed(
    place: Place, offer: Mapping[str, Any], names: Mapping[str, Draft], strays: list[tuple[str, Place]], found: Found
) -> Draft | None:
    """The entry that a list's offer is for; one that is for none is a stray."""
    name = _id(offer, "pool")
    draft = names.get(name) if name else None
    if name and draft is None:
        strays.append((name, place))
    if draft is None:
        return None
    written = draft.fields.get("offers")
    if written in ([], UNMANAGED):
        says = "unmanaged" if written else "[]"
        there = draft.place.source("offers")
        found.add("fleet.offers", f"the pool's own entry says offers: {says} ({there}), so no list may offer it", place)
        return None
    draft.listed = True
    return draft


def _offer(draft: Draft | None, place: Place, offer: Mapping[str, Any], roots: Roots, found: Found) -> None:
    """Take an offer over into its entry, where it has one."""
    tenant_id = _id(offer, "toTenantId")
    if tenant_id is not None and tenant_id == roots.get("tenantId"):
        hint = "write ownerQuota into the pool's entry"
        found.add("fleet.ownTenant", "the fleet's own tenant owns the pool", place, "toTenantId", hint=hint)
    elif tenant_id is None or draft is None:
        return
    elif draft.archived:
        message = f"the entry is a tombstone ({draft.place.source('archived')}): an archived pool cannot be offered"
        hint = "remove the offer: archiving withdraws it"
        found.add("offer.archived", message, place, hint=hint, code=INVALID_STATE)
    elif draft.released:
        message = f"the entry lets its pool go ({draft.place.source('released')}): nothing is offered for it"
        found.add("fleet.contradiction", message, place, hint="remove the offer: it stays as it is")
    elif first := draft.offers.get(tenant_id):
        found.twice("fleet.twice", f"the pool is offered to {tenant_id} twice", place, first[0], "toTenantId")
    else:
        draft.offers[tenant_id] = place, offer
