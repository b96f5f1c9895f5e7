"""A plan of a session, judged by rules and guards."""

from __future__ import annotations

from dataclasses import replace

from better_compute.domain.problems import Problem
from fleetctl import checks, guards, hazards, preflight
from fleetctl import plan as planning
from fleetctl.desired.check import check
from fleetctl.ledger import ledger
from fleetctl.plan import Plan
from fleetctl.report.problems import in_files
from fleetctl.report.tenants import capacity
from fleetctl.session import Session


def judged(session: Session) -> Plan:
    """The plan that the session's files and live state make, with all that is found wrong with it: by the rules of the
    control plane, by hazards, by guards, and by the fleet's own checks. Raises ComputeError and Stop."""
    override, now = session.request.override, session.live.instance.now
    made = planning.make(
        session.desired,
        session.live,
        base=session.base,
        prune=session.request.prune,
        selected=session.selected,
        renames=override.numbers.get("rename"),
    )
    caller = session.desired.places.get("caller")
    found = preflight.check(made, session.live, session.client, caller, session.declared.hint)
    if any(problem.severity == "error" for problem in found):
        born = {operation.pool_id for operation in made.operations if operation.action == "create"}
        found = preflight.joined(found, check(session.desired, born))
    placed = replace(made, findings=tuple(sorted([*made.findings, *found], key=in_files)))
    return placed.with_findings(
        [
            *hazards.cut(session.desired, takes_away=any(o.severity != "safe" for o in made.operations)),
            *guards.check(made, session.live, override, now),
            *_checked(made, session),
        ]
    )


def _checked(made: Plan, session: Session) -> list[Problem]:
    """What the fleet's own rules say; the capacity is added up for them alone."""
    if not checks.checks_of(made):
        return []
    stock = capacity(ledger(made, session.live, session.desired.prices))["stock"]
    return checks.check(made, session.live, stock)
