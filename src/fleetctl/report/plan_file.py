"""What a plan file approves."""

from __future__ import annotations

from pathlib import Path

from better_compute.domain.problems import ComputeError
from fleetctl.apply.saved import SavedOperation, SavedPlan
from fleetctl.errors import EXIT_ERROR, EXIT_STALE, Stop
from fleetctl.machine import disk
from fleetctl.report import parts
from fleetctl.report.forms import PlanReport
from fleetctl.report.saved import read_plan
from fleetctl.request import Frame


def saved_plan(path: Path) -> SavedPlan:
    """What the plan file at `path` approves. Raises Stop, with exit 4 when the file was altered."""
    try:
        plan = read_plan(disk.read_whole(path))
    except OSError as error:
        raise Stop(EXIT_ERROR, f"the plan file {path} cannot be read: {error.strerror}") from error
    except ComputeError as error:
        first = error.problems[0]
        raise Stop(EXIT_STALE, first.message, hint=first.hint, rule=first.rule) from error
    operations = (
        SavedOperation(o["action"], o["key"], (o["poolId"], o["toTenantId"]), o["digest"]) for o in plan["operations"]
    )
    return SavedPlan(
        scope=parts.scope(plan),
        digest=plan["digest"],
        inputs=plan["inputs"],
        url=plan["server"]["url"],
        sequence=plan["sequence"],
        commit=plan["commit"],
        expires_at=plan["expiresAt"],
        operations=tuple(operations),
        report=plan,
        frame=_frame(plan),
        allow=plan["allow"],
        reason=plan["reason"],
    )


def _frame(plan: PlanReport) -> Frame:
    base, part = plan["base"], plan["selection"]
    return Frame(
        base_ref=base["commit"] if base else None,
        base_dir=Path(base["ref"]) if base and base["commit"] is None else None,
        prune=plan["prune"],
        only=tuple(part["only"]) if part else (),
        exclude=tuple(part["exclude"]) if part else (),
    )
