"""Where a field belongs that stands in the wrong map: one level further in, or one further out."""

from __future__ import annotations

from functools import lru_cache

from better_compute.domain.quotas import RESOURCES
from better_compute.domain.words import slip_of
from fleetctl.desired import shape
from fleetctl.desired.records import Record, names

_INSIDE: dict[type[Record], dict[str, type[Record]]] = {
    shape.Document: {
        "pools[]": shape.Pool,
        "offers[]": shape.ListedOffer,
        "guards": shape.Guards,
        "checks[]": shape.Check,
        "expected[]": shape.Expected,
    },
    shape.Guards: {"freeze[]": shape.Freeze},
    shape.Pool: {"offers[]": shape.Offer},
    shape.Defaults: {"pool": shape.PoolDefaults, "offer": shape.OfferDefaults},
}
"""Record -> the maps in it."""
_AROUND: dict[type[Record], tuple[str, type[Record]]] = {
    shape.Offer: ("the pool, one level further out", shape.Pool),
    shape.ListedOffer: ("pools[]", shape.Pool),
    shape.Pool: ("the document, one level further out", shape.Document),
    shape.Defaults: ("the document, one level further out", shape.Document),
    shape.Guards: ("the document, one level further out", shape.Document),
    shape.Freeze: ("guards, one level further out", shape.Guards),
    shape.Check: ("the document, one level further out", shape.Document),
    shape.Expected: ("the document, one level further out", shape.Document),
    shape.Embedded: ("the document, one level further out", shape.Document),
}
"""Record -> the map around it, by what people call that."""
_QUOTAS = {shape.Pool: "ownerQuota", shape.Offer: "quota", shape.ListedOffer: "quota"}


@lru_cache(maxsize=256)
def home(record: type[Record], name: str) -> str:
    """`a field of its offers[]` for a name that is none of `record`; empty where no map beside it knows the name, and
    where it is rather a slip of a name that is one."""
    if slip_of(name, names(record)):
        return ""
    if quota := _QUOTAS.get(record) if name in RESOURCES else None:
        return f"a row of its {quota}"
    if record is shape.Pool and name in _policy():
        return "a field of its policy"
    inside = [place for place, inner in _INSIDE.get(record, {}).items() if name in names(inner)]
    if inside:
        return f"a field of its {' or '.join(inside)}"
    place, outer = _AROUND.get(record, ("", Record))
    return f"a field of {place}" if name in names(outer) else ""


def _policy() -> frozenset[str]:
    from better_compute.domain.policy.fields import FIELDS  # not at the top: only a mistake asks

    return frozenset(path for path in FIELDS if path.isidentifier())
