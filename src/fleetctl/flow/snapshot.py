"""Snapshot: the live state, read for a file."""

from __future__ import annotations

from pathlib import Path

from fleetctl import snapshot as saving
from fleetctl.flow.finished import FileText
from fleetctl.flow.rooted import rooted
from fleetctl.outputs import Kept
from fleetctl.request import Request
from fleetctl.session.opening import opened


def snapshot(request: Request, out: Path | None) -> FileText:
    """A snapshot of all that plan and drift read, in `out` where that is given. The files need no pool yet."""
    # 1. Read the files; see that the snapshot can be kept.
    kept = Kept(out, "snapshot")
    kept.begin(request)
    wished = rooted(request)
    kept.check(request, wished)
    # 2. Choose the target; 3. read the live state, and the last events of its objects.
    with opened(request, wished) as session:
        data = saving.file_bytes(saving.Saved(session.live, session.read_history(session.live.pools, 0)))
    # 4. Keep it, and say what it holds.
    where = kept.write(lambda: data)
    said = f"{where[0]}, and" if where else "The snapshot"
    return FileText("" if where else data.decode(), f"{said} {saving.IN_CLEAR}")
