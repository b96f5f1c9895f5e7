"""A plan of a session, judged by rules and guards."""

from __future__ import annotations

from dataclasses import replace

from better_compute.domain.problems import Problem, Source
from fleetctl import guards, preflight
from fleetctl import plan as planning
from fleetctl.desired.check import check
from fleetctl.plan import Plan
from fleetctl.session import Session


def judged(session: Session) -> Plan:
    made = planning.make(session.desired, session.live)
    caller = session.desired.places.get("caller")
    found = preflight.check(made, session.live, session.client, caller, session.declared.hint)
    if any(problem.severity == "error" for problem in found):
        born = {operation.pool_id for operation in made.operations if operation.action == "create"}
        found = preflight.joined(found, check(session.desired, born))
    placed = replace(made, findings=tuple(sorted([*made.findings, *found], key=in_files)))
    override, now = session.request.override, session.live.instance.now
    return placed.with_findings(guards.check(made, session.live, override, now))


def in_files(problem: Problem) -> tuple[bool, str, int, int, str]:
    """The order of files, lines and columns; what stands in no file comes last, by name."""
    place = problem.source or Source("", 0, 0)
    return problem.source is None, place.file, place.line, place.column, problem.path
