"""Drift: what differs, since when, and by whom."""

from __future__ import annotations

from pathlib import Path

from fleetctl import drift as drifting
from fleetctl.comparison.compare import compared
from fleetctl.errors import EXIT_CHANGES, EXIT_ERROR, EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.flow.told import header
from fleetctl.notify import Notifier, notifier
from fleetctl.outline.notice import notice
from fleetctl.outputs import Kept
from fleetctl.report.forms import DriftReport
from fleetctl.report.of_drift import of_drift
from fleetctl.report.saved import file_bytes
from fleetctl.request import Request
from fleetctl.session.opening import opened, read


def drift(request: Request, *, out: Path | None = None, notify: str | None = None) -> Finished:
    """What differs from the files, since when, and by whom. `out` keeps the report; `notify` is the URL of a webhook
    that is told where something drifted."""
    # 1. Read the files; 2. choose the target; 3. read the live state.
    told = None if notify is None else notifier(notify, request.environ)
    kept = Kept(out, "report")
    kept.begin(request)
    wished = read(request)
    kept.check(request, wished)
    with opened(request, wished) as session:
        # 4. Compare; 5. ask the events who did it.
        differences = compared(session.desired, session.live, session.asked, session.read_history)
        found = drifting.find(differences, session.read_history, session.live.instance.now)
        report = of_drift(found, header(session))
    remarks = (*found.remarks, *kept.write(lambda: file_bytes(report)))
    # 6. Tell whoever is to know.
    if found.is_in_sync:
        return Finished(report, EXIT_OK, remarks)
    said, code = _notified(report, told)
    return Finished(report, code, (*remarks, *said))


def _notified(report: DriftReport, told: Notifier | None) -> tuple[tuple[str, ...], int]:
    """What is to be said of the notice, and the exit code: a notice that nobody got is an error."""
    if told is None:
        return (), EXIT_CHANGES
    remarks, is_sent = told.send(notice(report), report)
    return remarks, EXIT_CHANGES if is_sent else EXIT_ERROR
