"""Which limits hold: the files' own and, with a base, the stricter of both."""

from __future__ import annotations

from dataclasses import replace

from fleetctl.comparison import Comparison
from fleetctl.desired import Desired
from fleetctl.desired.limits import Limits


def in_force(comparison: Comparison) -> Limits:
    """The guards of a change. What the base protects stays protected, in whichever way it says so: a change cannot
    remove its own guard."""
    own, base = _protecting(comparison.desired), comparison.base
    was = comparison.was or (base.desired if base else None)
    return own if was is None else own.stricter(_protecting(was))


def _protecting(desired: Desired) -> Limits:
    """With the entries that say `protect: true` among what is protected, by id and key."""
    names = {name for entry in desired.entries.values() if entry.protect for name in (entry.pool_id, entry.key) if name}
    return replace(desired.limits, protect=desired.limits.protect | names)
