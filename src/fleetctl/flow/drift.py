"""Drift: what differs, since when, and by whom."""

from __future__ import annotations

from pathlib import Path

from fleetctl import drift as drifting
from fleetctl.comparison.compare import compared
from fleetctl.errors import EXIT_CHANGES, EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.flow.told import header
from fleetctl.outputs import Kept
from fleetctl.report.of_drift import of_drift
from fleetctl.report.saved import file_bytes
from fleetctl.request import Request
from fleetctl.session.opening import opened, read


def drift(request: Request, *, out: Path | None = None) -> Finished:
    """What differs from the files, since when, and by whom. `out` keeps the report."""
    # 1. Read the files; 2. choose the target; 3. read the live state.
    kept = Kept(out, "report")
    kept.begin(request)
    wished = read(request)
    kept.check(request, wished)
    with opened(request, wished) as session:
        # 4. Compare; 5. ask the events who did it.
        differences = compared(session.desired, session.live, session.asked)
        found = drifting.find(differences, session.read_history, session.live.instance.now)
        report = of_drift(found, header(session))
    remarks = (*found.remarks, *kept.write(lambda: file_bytes(report)))
    return Finished(report, EXIT_OK if found.is_in_sync else EXIT_CHANGES, remarks)
