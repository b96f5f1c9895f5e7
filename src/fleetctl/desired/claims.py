"""What entries say of other pools than their own, and what they say against themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from better_compute.domain.ids import derive, is_id
from fleetctl.desired.drafts import Draft
from fleetctl.desired.found import Found
from fleetctl.desired.place import Place
from fleetctl.desired.roots import Roots

RULE = "fleet.contradiction"
"""The rule of two things that an entry, or two entries, cannot both mean."""

_OLD = ("previously", "replaces")
_PAIRS = (
    ("archived", "released", "a pool that is archived is not let go"),
    ("archived", "replaces", "a pool that is archived takes the place of none"),
    ("released", "replaces", "nothing is called for a pool that is let go, so it takes the place of none"),
    ("id", "previously", "the id says which pool is meant, whatever its key was"),
)
"""Fields of one entry that exclude each other, and why."""
_SPEAKING = frozenset(name for one, other, _ in _PAIRS for name in (one, other))


@dataclass(frozen=True, slots=True)
class Claims:
    """Checks what entries say of each other; `names`: entries by key and by id."""

    names: Mapping[str, Draft]
    roots: Roots
    caller: str | None
    found: Found

    def check(self, drafts: Sequence[Draft]) -> None:
        """Find every contradiction, with both places."""
        taken: dict[str, tuple[Draft, Place]] = {}
        for draft in drafts:
            if _SPEAKING.isdisjoint(draft.fields):
                continue
            self._check_pairs(draft)
            for name, key in _old_keys(draft):
                self._check_old(draft, name, key)
                place = draft.place.at(name)
                owner, first = taken.setdefault(key, (draft, place))
                if owner is not draft:
                    self.found.twice("fleet.twice", f"two entries name the old key {key}", place, first)
                elif first is not place:
                    self.found.twice(RULE, f"previously and replaces both name {key}", place, first)

    def _check_pairs(self, draft: Draft) -> None:
        said = {name for name in _SPEAKING if draft.fields.get(name) is True or isinstance(draft.fields.get(name), str)}
        for one, other, why in _PAIRS:
            if one in said and other in said:
                self.found.twice(RULE, f"{one} and {other}: {why}", draft.place.at(other), draft.place.at(one))

    def _check_old(self, draft: Draft, name: str, key: str) -> None:
        """An old key is none of an entry of its own; a pool may be archived beside the one that replaces it."""
        if is_id("pool", key):
            hint = f"write id: {key} instead" if name == "previously" else "write the key that it was made under"
            self.found.add("fleet.type", "it must be a key, not the id of a pool", draft.place, name, hint=hint)
            return
        derived = "" if self.caller is None else derive("pool", self.roots.get("tenantId", ""), self.caller, key)
        other = self.names.get(key) or self.names.get(derived)
        if other is draft:
            message = f"{name} names the entry's own pool, {key}"
            self.found.add(RULE, message, draft.place, name, hint=f"leave {name} out, or write the old key")
        elif other is not None and not (name == "replaces" and other.archived):
            field = "idempotencyKey" if other.key == key else "id"
            message = f"{name} names {key}, which has an entry of its own"
            self.found.add(
                RULE,
                f"{message}; the other place is {other.place.source(field)}",
                draft.place,
                name,
                hint="remove that entry" + (", or write archived: true into it" if name == "replaces" else ""),
            )


def _old_keys(draft: Draft) -> Iterator[tuple[str, str]]:
    for name in _OLD:
        if key := draft.name_in(name):
            yield name, key
