"""What a plan file approves."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from fleetctl.apply.saved import SavedOperation, SavedPlan
from fleetctl.errors import EXIT_ERROR, EXIT_STALE, Stop
from fleetctl.machine import disk
from fleetctl.report import parts
from fleetctl.report.forms import PlanReport
from fleetctl.report.saved import called, kind_of, read_plan, read_report
from fleetctl.request import Frame

_WRITTEN = "name the file that `plan --out` wrote"
_MEANT = {"apply": f"{_WRITTEN}; or, to take back what this one tells, give it by --undo"}
"""What is meant, by the kind of the report that was named."""
_UNDO = "give `apply --undo` the report that it takes back, and the digest of this plan by --expect"


def saved_plan(path: Path) -> SavedPlan:
    """What the plan file at `path` approves. Raises Stop, with exit 4 when the file was altered, and ComputeError for
    another kind of report."""
    try:
        data = disk.read_whole(path)
    except OSError as error:
        raise Stop(EXIT_ERROR, f"the plan file {path} cannot be read: {error.strerror}") from error
    if kind := _another_kind(data):
        raise _another(f"{path} is {called(kind)}, and a plan file is meant", _MEANT.get(kind, _WRITTEN))
    try:
        plan = read_plan(data)
    except ComputeError as error:
        first = error.problems[0]
        raise Stop(EXIT_STALE, first.message, hint=first.hint, rule=first.rule) from error
    if "undo" in plan:
        raise _another(f"{path} is the plan of an undo, and one of the files is meant", _UNDO)
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


def _another_kind(data: bytes) -> str | None:
    """What a file is, whole and as it was written: the kind of a report, or `journal`; None where it may be a plan."""
    kind = kind_of(data)
    if kind == "journal":
        return kind
    if kind in (None, "plan"):
        return None
    with suppress(ComputeError):
        return read_report(data)["kind"]
    return None


def _another(message: str, hint: str) -> ComputeError:
    """The error where a file is no plan file, and is not altered either."""
    return ComputeError(Problem(INVALID_INPUT, "plan.file", message, hint=hint))


def _frame(plan: PlanReport) -> Frame:
    base, part = plan["base"], plan["selection"]
    return Frame(
        base_ref=base["commit"] if base else None,
        base_dir=Path(base["ref"]) if base and base["commit"] is None else None,
        prune=plan["prune"],
        only=tuple(part["only"]) if part else (),
        exclude=tuple(part["exclude"]) if part else (),
    )
