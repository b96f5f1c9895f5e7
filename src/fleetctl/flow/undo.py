"""Undo: the way back from an apply, planned from its report; approved, run and told as any other change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fleetctl import identity
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_BLOCKED, EXIT_CHANGES, EXIT_OK
from fleetctl.files import FilesError
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import judged
from fleetctl.flow.running import How, Made, carried_out, check_caller
from fleetctl.outputs import Kept
from fleetctl.report.apply_file import applied_report
from fleetctl.request import Request
from fleetctl.session.opening import Session, opened, read
from fleetctl.undo import Applied, finding, whose, wish

_NEEDS = (
    "Nothing was taken back: the report says what to take back, and the files who may, at which control plane, and what"
    " is guarded and protected. They must be valid, and need not have the pools"
)


def undo_plan(request: Request, file: Path, *, detailed: bool = False) -> Finished:
    """What an undo by the report in `file` would do: the same plan, with the digest that approves it. `detailed`: exit
    2 when there is something to take back."""
    # 1. Read the files, whose guards hold, and the report.
    files, applied = _read(request), applied_report(file)

    # 2. Choose the target; 3. read the live state, and see that the report is of that.
    with opened(request, files, is_planned=True) as session:
        applied.check(files, session.live)
        # 4. See what there is to take back, and plan it; 5. judge it; 6. say it.
        made = _way_back(session.asking(request), files, applied)
        report = made.report()
    code = EXIT_BLOCKED if made.plan.blocked else EXIT_CHANGES if detailed and made.plan.operations else EXIT_OK
    return Finished(report, code)


def undo(request: Request, how: How, file: Path) -> Finished:
    """Take back what the report in `file` tells, as far as it has an inverse; nothing, where somebody moved an object
    of it since."""
    # 1. Read the report, before its place is made free for that of this run, and the files, whose guards hold.
    applied = applied_report(file)
    kept = Kept(how.report_file, "report", how.journal)
    kept.begin(request)
    files = _read(request)
    kept.check(request, files)

    # 2. Choose the target; 3. read the live state, and see that the report is of that.
    with opened(request, files, is_planned=True) as session:
        check_caller(session)
        applied.check(files, session.live)

        # 4. to 9.: see what there is to take back, plan it, have it approved, run it, and say what is left.
        return carried_out(session.asking(request), how, kept, lambda session: _way_back(session, files, applied))


def _read(request: Request) -> Desired:
    """The files: they say who applies, and where; what guards, checks and `protect` hold; and which pools they let go.
    What else they say of pools is not asked, so that they need not have one. Raises FilesError, also where an entry
    alone is wrong: nobody knows then what is protected."""
    try:
        return read(request, empty_ok=True)
    except FilesError:
        request.tell(_NEEDS)
        raise


def _way_back(session: Session, files: Desired, applied: Applied) -> Made:
    """What takes the apply back: a plan that wishes what was before. Raises ComputeError and Stop."""
    settled = identity.settle(files, session.live.pools).desired
    back = finding.find(applied, settled, session.live, session.asked.selected, session.plane)
    wished = wish.desired(settled, session.live, applied.operations, back.undoing)
    session = replace(session, desired=wished, asked=replace(session.asked, undoes=applied.digest))
    found = judged(session)
    made = whose.told(found.plan.with_findings(back.findings), applied, session.plane)
    return Made(session, replace(found, plan=made), back)
