"""The guard of what a base guards: one that is not there, or not this fleet's, says nothing of what may be taken."""

from __future__ import annotations

from better_compute.domain.problems import BLOCKED, INVALID_STATE, Problem
from fleetctl.base.bases import Base
from fleetctl.desired import Desired
from fleetctl.guards.tally import Case
from fleetctl.identity import is_live

_RULE, _OWN = "base.fleet", "base.own"


def problems(case: Case) -> list[Problem]:
    """A base without a fleet at this place, or with another one, beside a plan that takes something away: an error;
    beside one that takes nothing a warning. A base that is the files themselves guards nothing: a warning."""
    comparison, base = case.plan.comparison, case.plan.comparison.asked.base
    found = [] if base is None else _of(case, base, comparison.was)
    for base in comparison.held:
        # Nobody named it: what it lacks is told where it matters.
        found += [problem for problem in _of(case, base, base.desired) if problem.severity == "error"]
    return found


def _of(case: Case, base: Base, was: Desired | None) -> list[Problem]:
    """`was` is the fleet of the base, settled."""
    files = case.desired
    if base.desired is None:
        message = f"{base.ref} has no fleet at this place, so that its guards and pools are not known"
        hint = "if the fleet moved, compare it with its old place: --base-dir"
    elif theirs := _apart(case, base.desired, was):
        message = f"{base.ref} has another fleet at this place, {theirs}: it guards nothing of {files.fleet}"
        hint = "compare with a base of this fleet; give it another name, caller or keyPrefix in a change of its own"
    elif base.is_own and case.plan.operations:
        what = (
            f"{base.ref} is the commit of these files" if base.commit else f"the base, {base.ref}, is these very files"
        )
        message = f"{what}: guards from before the change do not hold, and nothing was removed"
        those = "commit" if base.commit else "files"
        hint = f"compare with the {those} before the change; if these were applied already, all that differs is drift"
        return [Problem(INVALID_STATE, _OWN, message, hint=hint, severity="warning")]
    else:
        return []
    if case.taking is None:
        return [Problem(INVALID_STATE, _RULE, message, hint=hint, severity="warning")]
    return [
        Problem(BLOCKED, _RULE, f"{message}, and this plan takes something away", hint=hint, source=case.taking.source)
    ]


def _apart(case: Case, base: Desired, was: Desired | None) -> str:
    """What tells the fleet of a base from that of the files; empty where they are one. A caller may follow another that
    is told, and a fleet that owns no keys is known by its pools."""
    files, comparison = case.desired, case.plan.comparison
    if (base.fleet, base.tenant_id) != (files.fleet, files.tenant_id):
        return f"{base.fleet} of {base.tenant_id}"
    if base.caller not in files.callers and files.caller not in base.callers:
        return f"that of the caller {base.caller}"
    if base.key_prefix != files.key_prefix:
        return f"that of the keyPrefix {base.key_prefix}" if base.key_prefix else "one without a keyPrefix"
    if base.key_prefix or was is None or not was.entries:
        return ""
    live = {pool_id for pool_id in comparison.settled.named if is_live(case.live.pools.get(pool_id))}
    return "of which no pool has an entry here" if live and live.isdisjoint(was.entries) else ""
