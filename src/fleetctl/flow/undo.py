"""Undo: the way back from an apply, planned from its report; approved, run and told as any other change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fleetctl import identity
from fleetctl.apply import approval
from fleetctl.comparison.compare import Undoes
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_BLOCKED, EXIT_ERROR, EXIT_OK
from fleetctl.flow.apply import BLOCKED_SINCE, How, answered, carried_out, check_caller
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import judged
from fleetctl.flow.told import plan_report
from fleetctl.outputs import Kept
from fleetctl.report.apply_file import applied_report
from fleetctl.request import Request
from fleetctl.session.opening import Session, opened, read, read_again
from fleetctl.undo import Applied, Back, finding, wish


def undo(request: Request, how: How, file: Path) -> Finished:
    """Take back what the report in `file` tells, as far as it has an inverse; nothing, where somebody moved an object
    of it since."""
    # 1. Read the files, whose guards hold, and the report.
    kept = Kept(how.report_file, "report", how.journal)
    kept.begin(request)
    files, applied = read(request), applied_report(file)
    kept.check(request, files)

    # 2. Choose the target; 3. read the live state, and see that the report is of that.
    with opened(request, files, is_planned=True) as session:
        check_caller(session)
        applied.check(files, session.live)

        def again(session: Session) -> Session:
            return _wishing(read_again(session), files, applied)[0]

        # 4. See what there is to take back; 5. have it planned, judged, approved and run; 6. say what is left.
        wishing, back = _wishing(session.asking(request), files, applied)
        finished = _carried_out(wishing, back, how, kept, again)
        return replace(finished, exit_code=finished.exit_code or _exit_code(back))


def _carried_out(session: Session, back: Back, how: How, kept: Kept, again: Callable[[Session], Session]) -> Finished:
    """What the session wishes, as any other change; a question is asked of the session that is read `again`."""
    found = judged(session)
    report = plan_report(session, found)
    if how.expect is not None:
        approval.by_digest(how.expect, found.plan)
    if found.plan.blocked:
        return Finished(report, EXIT_BLOCKED)
    session, found = answered(session, found, report, how, again)
    if found.plan.blocked:
        return Finished(plan_report(session, found), EXIT_BLOCKED, (BLOCKED_SINCE,))
    return carried_out(found.plan, session, how, kept, back)


def _wishing(session: Session, files: Desired, applied: Applied) -> tuple[Session, Back]:
    """The session that wishes what was before the apply, and what there is to take back. Raises ComputeError and
    Stop."""
    settled = identity.settle(files, session.live.pools).desired
    back = finding.find(applied, settled, session.live, session.asked.selected, session.plane)
    wished = wish.desired(settled, session.live, applied.operations, back.undoing)
    asked = replace(session.asked, undoes=Undoes(applied.digest, tuple(back.findings)))
    return replace(session, desired=wished, asked=asked), back


def _exit_code(back: Back) -> int:
    """Of a run in which nothing went wrong: what is left is told, and an error where that is all there was."""
    return EXIT_ERROR if back.is_in_vain else EXIT_OK
