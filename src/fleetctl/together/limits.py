"""Guards and checks that several sides have: of all together, and of what they had before."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from fleetctl.desired import Check, Desired, Guards


def governed(ours: Desired, theirs: Desired, was: Desired | None) -> Desired:
    """Ours with the limits that theirs changed: of a guard the stricter holds, and a check that they added."""
    guards = ours.guards
    for name in (each.name for each in fields(Guards)):
        value = getattr(theirs.guards, name)
        if was is not None:
            held = getattr(was.guards, name)
            if isinstance(value, frozenset | tuple):  # of names and windows those count that are new
                value = type(value)(one for one in value if one not in held)
            if value == held:
                continue
        guards = guards.stricter(replace(guards, **{name: value}))
    added = [check for check in theirs.checks if was is None or check not in was.checks]
    checks: dict[Check, None] = dict.fromkeys((*ours.checks, *added))
    return replace(ours, guards=guards, checks=tuple(checks))


def governed_before(ours: Desired, theirs: Desired, was: Desired | None) -> Desired:
    """Ours with the limits that theirs changed, as a base of what came after both. Where both changed one it has the
    laxest there was, and of a check none: so each side that has one since then has a limit of its own."""
    before, own, their = (each.guards if each else Guards() for each in (was, ours, theirs))
    names = [each.name for each in fields(Guards)]
    guards = {name: _before(getattr(before, name), getattr(own, name), getattr(their, name)) for name in names}
    return replace(ours, guards=Guards(**guards), checks=_checks_before(ours, theirs, was))


def _before(was: Any, ours: Any, theirs: Any) -> Any:
    if isinstance(was, frozenset | tuple):  # each name and window by itself
        known = dict.fromkeys((*ours, *theirs, *was))
        return type(was)(one for one in known if (one in (ours if (one in theirs) == (one in was) else theirs)))
    if theirs in (was, ours):
        return ours
    if ours == was:
        return theirs
    values = (was, ours, theirs)
    return None if None in values else max(values)


def _checks_before(ours: Desired, theirs: Desired, was: Desired | None) -> tuple[Check, ...]:
    before, own, their = ({check.name: check for check in each.checks} if each else {} for each in (was, ours, theirs))
    found = []
    for name in dict.fromkeys((*own, *their)):
        one, other = own.get(name), their.get(name)
        if other in (before.get(name), one):
            found.append(one)
        elif one == before.get(name):
            found.append(other)
    return tuple(check for check in found if check)
