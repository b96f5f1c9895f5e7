"""A branch that is put together with others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from better_compute.domain.ids import derive
from fleetctl.base.revisions import Files
from fleetctl.desired import Desired


@dataclass(frozen=True, slots=True)
class Branch:
    """A revision by the name that it was asked for. `desired` is the fleet that it has, None: none; `left` is the one
    from which it and all others (HEAD and the branches before it) went apart: what differs from it is its own. `files`
    and `had` are what the files of these hold; `made` are the ids of entries of `left` that stand so in no file, since
    that is put together."""

    ref: str
    desired: Desired | None
    left: Desired | None
    files: Files = field(default_factory=dict)
    had: Files = field(default_factory=dict)
    made: Collection[str] = frozenset()


def under(fleet: Desired, now: Desired) -> Desired:
    """The fleet by the names of another, as if it had always had those: where all that came after it have another
    caller, or tenant, their pools have other ids by the same keys, and are the same entries all the same."""
    if (fleet.tenant_id, fleet.caller) == (now.tenant_id, now.caller):
        return fleet
    entries = {}
    for entry in fleet.entries.values():
        if entry.key and entry.pool_id == derive("pool", fleet.tenant_id, fleet.caller or "", entry.key):
            pool_id = derive("pool", now.tenant_id, now.caller or "", entry.key)
            pool = entry.pool and replace(entry.pool, pool_id=pool_id, tenant_id=now.tenant_id)
            entry = replace(entry, pool_id=pool_id, pool=pool)
        entries[entry.pool_id] = entry
    return replace(fleet, tenant_id=now.tenant_id, caller=now.caller, entries=entries)


@dataclass(frozen=True, slots=True)
class Branches:
    """`asked`: the commit of every revision that was asked for; `found` those that have something of their own. Their
    order does not depend on the one in which they were asked for. `files` is what those at hand hold; None: not
    known."""

    asked: Mapping[str, str]
    found: tuple[Branch, ...]
    files: Files | None = None
