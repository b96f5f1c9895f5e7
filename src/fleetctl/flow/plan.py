"""Plan: what would be done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleetctl.errors import EXIT_BLOCKED, EXIT_CHANGES, EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import judged
from fleetctl.flow.told import plan_report
from fleetctl.outputs import Kept
from fleetctl.request import Request
from fleetctl.session.opening import opened, read

if TYPE_CHECKING:
    from fleetctl.report.forms import PlanReport


def plan(
    request: Request,
    *,
    out: Path | None = None,
    lifetime: int | None = None,
    detailed: bool = False,
    beside: Sequence[str] = (),
) -> Finished:
    """What an apply would do. The plan file may be applied for `lifetime` milliseconds of the server's clock, None: for
    ever. `detailed`: exit 2 when there is something to do, or would be outside the part that was looked at. `beside`:
    revisions, of which it is said what they and the plan break only together."""
    # 1. Read the files; see that the plan can be kept beside them.
    kept = Kept(out, "plan")
    kept.begin(request)
    wished = read(request)
    kept.check(request, wished)
    others = None
    if beside:
        from fleetctl.together.branches import branches  # not at the top, nor below: most plans stand alone

        others = branches(request.path, beside, caller=wished.caller)
    # 2. Choose the target; 3. read the live state.
    with opened(request, wished) as session:
        # 4. Make the plan; 5. judge it by rules and guards.
        found = judged(session)
        joint = None
        if others:
            from fleetctl.flow.together import together

            joint = together(session, found, others)
        # 6. Say it, and keep it.
        expires_at = None if lifetime is None else session.live.instance.now + lifetime
        report = plan_report(session, found, expires_at, joint)
    remarks = kept.write(lambda: _file(report))
    made = found.plan
    differs = bool(made.operations or made.comparison.outside.pools)
    blocked = made.blocked or (joint is not None and joint.blocked)
    code = EXIT_BLOCKED if blocked else EXIT_CHANGES if detailed and differs else EXIT_OK
    return Finished(report, code, remarks)


def _file(report: PlanReport) -> bytes:
    from fleetctl.report.saved import file_bytes  # not at the top: most plans are shown, and not kept

    return file_bytes(report)
