"""A plan of a session, judged by rules and guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from better_compute.domain.problems import INVALID_INPUT
from fleetctl import guards, preflight
from fleetctl import plan as planning
from fleetctl.consequences import Consequences
from fleetctl.desired import check
from fleetctl.guards import Tally
from fleetctl.machine.signals import killable
from fleetctl.plan import Plan
from fleetctl.report.problems import in_files
from fleetctl.session.opening import Session


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan with all that is found wrong with it, what it does to tenants, and what guards count of that."""

    plan: Plan
    does: Consequences
    taken: Sequence[Tally]


def judged(session: Session) -> Judged:
    """The plan that the session's files and live state make, judged by the rules of the control plane, by hazards, by
    guards, and by the fleet's own checks. Raises ComputeError and Stop."""
    override, now = session.request.override, session.live.instance.now
    made = planning.make(session.desired, session.live, session.asked, session.read_history)
    caller = session.desired.places.get("caller")
    found = preflight.problems(made, session.live, session.client, caller, session.declared.hint)
    if any(problem.severity == "error" for problem in found):
        born = {operation.pool_id for operation in made.operations if operation.action == "create"}
        found = preflight.joined(found, check.problems(session.desired, born))
    placed = replace(made, findings=tuple(sorted([*made.findings, *found], key=in_files)))
    does = Consequences(made, session.live)
    guarded = guards.guarded(does, override, now)
    found = list(guarded.problems)
    # What is wrong in the files comes first: checks ask for what should be there, and may be wrong themselves.
    wrong = any(problem.severity == "error" and problem.code == INVALID_INPUT for problem in placed.findings)
    if made.comparison.in_force.checks and not wrong:
        from fleetctl import checks  # not at the top: few fleets have checks

        with killable():  # a check may take its time, and nothing is under way yet
            found += checks.problems(does)
    return Judged(placed.with_findings(found), does, guarded.taken)
