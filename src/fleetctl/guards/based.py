"""The guard of what a base guards: one that is not there, or not this fleet's, says nothing of what may be taken."""

from __future__ import annotations

from better_compute.domain.problems import BLOCKED, INVALID_STATE, Problem
from fleetctl.guards.tally import Case

_RULE = "base.fleet"


def check(case: Case) -> list[Problem]:
    """A base without a fleet at this place, or with another one, beside a plan that takes something away: an error;
    beside one that takes nothing a warning."""
    base, files = case.plan.comparison.base, case.desired
    if base is None:
        return []
    if base.desired is None:
        message = f"{base.ref} has no fleet at this place, so that its guards and pools are not known"
        hint = "if the fleet moved, compare it with its old place: --base-dir"
    elif (base.desired.fleet, base.desired.tenant_id) != (files.fleet, files.tenant_id):
        theirs = f"{base.desired.fleet} of {base.desired.tenant_id}"
        message = f"{base.ref} has another fleet at this place, {theirs}: it guards nothing of {files.fleet}"
        hint = "compare with a base of this fleet; give it another name in a change of its own"
    else:
        return []
    if case.taking is None:
        return [Problem(INVALID_STATE, _RULE, message, hint=hint, severity="warning")]
    return [
        Problem(BLOCKED, _RULE, f"{message}, and this plan takes something away", hint=hint, source=case.taking.source)
    ]
