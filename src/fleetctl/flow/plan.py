"""Plan and drift: what would be done, and what differs."""

from __future__ import annotations

from pathlib import Path

from fleetctl import drift as drifting
from fleetctl import machine, outputs, report
from fleetctl.comparison import compared
from fleetctl.errors import EXIT_BLOCKED, EXIT_CHANGES, EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import judged
from fleetctl.session import Request, opened, read


def plan(request: Request, *, out: Path | None = None, lifetime: int | None = None, detailed: bool = False) -> Finished:
    """What an apply would do. The plan file may be applied for `lifetime` milliseconds of the server's clock, None: for
    ever. `detailed`: exit 2 when there is something to do, or would be outside the part that was looked at."""
    # 1. Read the files; see that the plan can be kept beside them.
    wished = read(request)
    outputs.check(wished, request.directory, saved=out)
    # 2. Choose the target; 3. read the live state.
    with opened(request, wished) as session:
        # 4. Make the plan; 5. judge it by rules and guards.
        made = judged(session)
        # 6. Say it, and keep it.
        document = session.shown(made, None if lifetime is None else session.live.instance.now + lifetime)
    if out is not None:
        machine.save(out, report.file_bytes(document))
    differs = bool(made.operations or made.comparison.outside.pools)
    code = EXIT_BLOCKED if made.blocked else EXIT_CHANGES if detailed and differs else EXIT_OK
    return Finished(document, code, f"The plan is in {out}" if out else "")


def drift(request: Request, *, out: Path | None = None) -> Finished:
    """What differs from the files, since when, and by whom. `out` keeps the report."""
    # 1. Read the files; 2. choose the target; 3. read the live state.
    wished = read(request)
    outputs.check(wished, request.directory, saved=out)
    with opened(request, wished) as session:
        # 4. Compare; 5. ask the events who did it.
        differences = compared(session.desired, session.live, base=session.base, selected=session.selected)
        found = drifting.find(differences, session.read_history, session.live.instance.now)
        document = report.of_drift(found, session.header())
    if out is not None:
        machine.save(out, report.file_bytes(document))
    return Finished(document, EXIT_OK if found.is_in_sync else EXIT_CHANGES, "\n".join(found.remarks))
