"""What holds for a change, whatever its files say of it: the guards and checks of files and bases together."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from better_compute.domain.problems import BLOCKED, Problem
from fleetctl.desired import Check, Desired, Guards


@dataclass(frozen=True, slots=True)
class InForce:
    """What holds for a change, whatever its files say of it."""

    guards: Guards
    checks: tuple[Check, ...]


def in_force(desired: Desired, guarding: Iterable[Desired]) -> InForce:
    """The stricter of files and bases for each guard, and the checks of all: a change cannot remove its own. What one
    of them protects stays protected, in whichever way it says so."""
    guards, checks = _protecting(desired), dict.fromkeys(desired.checks)
    for was in guarding:
        guards = guards.stricter(_protecting(was))
        checks |= dict.fromkeys(was.checks)
    return InForce(guards, tuple(checks))


def _protecting(desired: Desired) -> Guards:
    """With the entries that say `protect: true` among what is protected, by id and key."""
    names = {name for entry in desired.entries.values() if entry.protect for name in (entry.pool_id, entry.key) if name}
    return replace(desired.guards, protect=desired.guards.protect | names)


def findings(desired: Desired, was: Desired, left: Collection[str]) -> list[Problem]:
    """Rule `fleet.empty`: a change that leaves the fleet without a pool, where its base had some and does not say
    `allowEmpty`. Entries that archive pools, or let them go, say so of each; then it is told only where a pool of the
    base is live and no entry has its key. `left` are the ids of live pools that no entry means; both fleets are
    settled."""
    if was.allow_empty or any(entry.stays for entry in desired.entries.values()):
        return []
    had = [entry for entry in was.entries.values() if entry.stays]
    said = {entry.key for entry in desired.entries.values() if entry.key}
    if not had or (desired.entries and not any(entry.pool_id in left and entry.key not in said for entry in had)):
        return []
    place = desired.places.get("allowEmpty")
    message = "the fleet has no pool any more, and its base does not say that it may have none"
    hint = "write allowEmpty: true in a change of its own first, or say `archived: true` of each pool"
    return [Problem(BLOCKED, "fleet.empty", message, "allowEmpty", hint, source=place.source() if place else None)]
