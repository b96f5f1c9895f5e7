"""What files expect of drift: differences that may be there for a time, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from better_compute.domain.policy.tree import ROOT
from better_compute.domain.problems import INVALID_INPUT, Problem
from better_compute.domain.quotas import RESOURCES
from better_compute.domain.state import PoolState
from better_compute.domain.words import slip_of
from fleetctl.comparison import naming
from fleetctl.desired import Desired, Expected, PoolEntry
from fleetctl.desired.nearest import Nearest
from fleetctl.paths import Path, outer, spelled, written
from fleetctl.words import LISTED, listed, time

Holding = Mapping[tuple[str, str | None], Sequence[Expected]]
"""Expectations that hold now, by the key or id that they name, and by their path."""
_FIELDS = ("gpuModel", "policy", "ownerQuota", "offers")
_TERMS = ("quota", "priority", "includeDescendants")


def holding(expected: Iterable[Expected], now: int) -> Holding:
    """`now` is the server's clock in epoch milliseconds."""
    found: dict[tuple[str, str | None], list[Expected]] = {}
    for each in expected:
        if not _is_over(each, now):
            found.setdefault((each.key, each.path), []).append(each)
    return found


def why(holds: Holding, names: Sequence[str], paths: Iterable[Path]) -> str | None:
    """Why a pool, or an offer of it, may differ at all of these paths; None where that is not said of one of them, or
    there is none. `names` are all that it goes by."""
    reasons = [next((each.reason for each in of(holds, names, path)), None) for path in paths]
    said = [reason for reason in reasons if reason is not None]
    return "; ".join(dict.fromkeys(said)) if said and len(said) == len(reasons) else None


def of(holds: Holding, names: Iterable[str], path: Path) -> Iterator[Expected]:
    """Those that are of a path, or of all that holds it: of the whole pool first."""
    texts = [None, *map(spelled, (*outer(path), path))]
    for name in names:
        for text in texts:
            yield from holds.get((name, text), ())


def expired(expected: Iterable[Expected], now: int, names: Collection[str]) -> Iterator[str]:
    """What to say of those that are over, of `names` that differ still."""
    for each in expected:
        if _is_over(each, now) and each.key in names:
            about = f"{each.key}, {each.path}" if each.path else each.key
            until = time(each.until or 0)
            yield f"{each.place.source()}: {about} was expected to differ until {until}, and counts again"


def _is_over(expected: Expected, now: int) -> bool:
    return expected.until is not None and expected.until <= now


def unknown(desired: Desired, live: Mapping[str, PoolState] | None = None) -> list[Problem]:
    """Expectations that nothing can meet, rule `fleet.expected`, a warning each: they name no pool, or a field that no
    difference is told of. `live` are all pools of the fleet's tenant, by id; without them a name that is not like that
    of an entry may be a pool's that left the files, and is not told."""
    if not desired.expected:
        return []
    pools, nearest, found = _pools(desired, live), Nearest(), list[Problem]()
    before = {entry.previously: entry.key for entry in desired.entries.values() if entry.previously}
    for each in desired.expected:
        if each.key in pools:
            if each.path is not None:
                found += _nowhere(each, each.path, pools[each.key], nearest)
            continue
        near = f"its entry is called {before[each.key]} now" if each.key in before else nearest.hint(each.key, pools)
        if near or live is not None:
            has = "no entry has" if live is None else "neither an entry nor a live pool has"
            message = f"{each.key} is expected to differ, and {has} this key or id"
            found.append(_problem(each, "key", message, near))
    return found


@dataclass(frozen=True)
class _Named:
    """What a name stands for: the entry that has it, and the live pool."""

    entry: PoolEntry | None
    state: PoolState | None

    @cached_property
    def tenants(self) -> tuple[str, ...]:
        return tuple(sorted({*(self.entry.offers if self.entry else ()), *(self.state.offers if self.state else ())}))

    @cached_property
    def ways(self) -> frozenset[str]:
        """The way to each value of its policies, as it is spelled."""
        wish, pool = self.entry and self.entry.pool, self.state and self.state.pool
        return frozenset(spelled(way) for each in (wish, pool) if each for way in _ways(each.policy))

    def has_tenant(self, tenant_id: str) -> bool:
        return any(tenant_id in each.offers for each in (self.entry, self.state) if each)


def _pools(desired: Desired, live: Mapping[str, PoolState] | None) -> dict[str, _Named]:
    """All that may be expected to differ: by the names that drift knows it by."""
    states, found = live or {}, dict[str, _Named]()
    for entry in desired.entries.values():
        named = _Named(entry, states.get(entry.pool_id))
        key = naming.key(named.state.pool if named.state else None, entry)
        found |= {name: named for name in (key, entry.pool_id) if name}
    for entry in desired.entries.values():
        if entry.replaces:
            found.setdefault(entry.replaces, _Named(None, None))
    for pool_id, state in states.items():
        if state.pool and pool_id not in desired.entries:
            for name in (pool_id, state.pool.idempotency_key):
                found.setdefault(name or pool_id, _Named(None, state))
    return found


def _slip(path: str, pool: _Named) -> tuple[str, Collection[str]] | None:
    """The first part of a path that is none, and those that might be meant; None: all of it is a place that a
    difference may have. Of a list, and of what nobody knows, what is below is not told."""
    first, *rest = written(path)
    if first == "offers" and rest:
        return _slip_in_offer(rest, pool)
    if first not in _FIELDS:
        return first, _FIELDS
    if first == "policy":
        return _slip_in_policy(path, rest, pool.ways) if rest else None
    rows = RESOURCES if first == "ownerQuota" else ()
    below = ".".join(rest)
    return (below, rows) if below and below not in rows else None


def _as_term(path: str, pool: _Named) -> str:
    """The hint for a path that begins with what drift calls a term of an offer, and not with whose; an empty text for
    any other."""
    first, *rest = written(path)
    term = slip_of(first, _TERMS) or (first if first in _TERMS else "")
    if not term:
        return ""
    below = "".join(f".{step}" for step in rest)
    owner = [f"ownerQuota{below}"] if term == "quota" else []
    meant = [*(f"offers[{tenant_id}].{term}{below}" for tenant_id in pool.tenants[:LISTED]), *owner]
    quoted = [*(f'"{each}"' for each in meant), *[""] * (len(pool.tenants) - LISTED)]
    return f"did you mean {listed(quoted, 'path')}?" if quoted else ""


def _slip_in_offer(steps: Sequence[str], pool: _Named) -> tuple[str, Collection[str]] | None:
    tenant_id, *terms = steps
    if pool.state and not pool.has_tenant(tenant_id):
        return tenant_id, pool.tenants
    if terms and terms[0] not in _TERMS:
        return terms[0], _TERMS
    known = RESOURCES if terms[:1] == ["quota"] else ()
    return next(((row, known) for row in terms[1:] if row not in known), None)


def _slip_in_policy(path: str, steps: Sequence[str], ways: Collection[str]) -> tuple[str, Collection[str]] | None:
    """Of the fields of policies, and those that nobody knows and that these have."""
    node = ROOT
    for at, step in enumerate(steps):
        if not node.children:
            return None if node.item and node.entry.kind == "map" else (".".join(steps[at:]), ())
        if step not in node.children:
            return None if path in ways else (step, node.children)
        node = node.children[step]
    return None


def _ways(value: object, above: Path = ("policy",)) -> Iterator[Path]:
    """The way to each value of a policy."""
    yield above
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        yield from _ways(inner, (*above, name))


def _nowhere(expected: Expected, path: str, pool: _Named, nearest: Nearest) -> Iterator[Problem]:
    about = f"{expected.key} is expected to differ at"
    if not all(map(str.strip, written(path))) and path not in pool.ways:
        yield _problem(expected, "path", f'{about} "{path}", which holds an empty name', "")
    elif slip := _slip(path, pool):
        message = f"{about} {path}, and nothing of a pool is called {slip[0]}"
        yield _problem(expected, "path", message, _as_term(path, pool) or nearest.hint(*slip))


def _problem(expected: Expected, field: str, message: str, near: str) -> Problem:
    hint = near or "write what differs, or take it away"
    return Problem(INVALID_INPUT, "fleet.expected", message, "expected", hint, "warning", expected.place.source(field))
