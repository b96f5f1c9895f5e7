"""What an entry says in its own words, apart from what policies, defaults and other shared parts make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetctl.desired import PoolEntry
from fleetctl.files import FilesError, read_text
from fleetctl.paths import Path
from fleetctl.spelling import canonical_json

_TEMPLATES = ("forEach",)
"""The name of all that are in a file: no key, nor id, nor what stands for one that an entry lacks."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """Reads files as they are written once more, each once: their documents have policies and templates put in."""

    _spelled: dict[str, Mapping[Any, str]] = field(default_factory=dict)

    def are_same(self, one: PoolEntry, other: PoolEntry, path: Path) -> bool:
        """Whether two entries of one pool say the same themselves: of the offer, or of all, where the path leads into
        those, of other fields, or of the pool as a whole. What differs in what they wish then, shared parts made of
        it."""
        if path[:1] == ("offers",):
            return _offers(one, *path[1:2]) == _offers(other, *path[1:2])
        said = self._said(one)
        return said is not None and said == self._said(other) and (bool(path) or _offers(one) == _offers(other))

    def _said(self, entry: PoolEntry) -> str | None:
        """An entry as it is written, without its offers; of one that a template makes all templates of its file."""
        text = entry.place.document.root.lines.text
        if text not in self._spelled:
            self._spelled[text] = _read(text)
        names = (entry.key, entry.pool_id, _TEMPLATES)
        return next((said for name in names if (said := self._spelled[text].get(name))), None)


def _read(text: str) -> Mapping[Any, str]:
    """The spelling of each entry by its key, or its id, and of all templates."""
    found: dict[Any, str] = {}
    try:
        pools = [pool for document in read_text(text.encode(), "") for pool in document.root.get("pools") or ()]
    except FilesError:  # by another encoding, say: nothing is known of it then
        return {}
    for pool in pools:
        if "forEach" in pool:
            found[_TEMPLATES] = found.get(_TEMPLATES, "") + str(canonical_json(pool))
        else:
            own = {name: value for name, value in pool.items() if name != "offers"}
            found[pool.get("idempotencyKey") or pool.get("id")] = str(canonical_json(own))
    return found


def _offers(entry: PoolEntry, *tenant_ids: str) -> Mapping[str, str]:
    """All, or those to the tenants that are named."""
    places = entry.offer_places
    return {each: str(canonical_json(places[each].value())) for each in tenant_ids or places if each in places}
