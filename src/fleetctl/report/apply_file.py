"""What a report of an apply tells that was done, read to take it back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape
from itertools import chain
from pathlib import Path

import msgspec

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem, Source
from fleetctl.errors import EXIT_ERROR, EXIT_STALE, Stop
from fleetctl.machine import disk
from fleetctl.plan import Inverse
from fleetctl.report import parts, sides
from fleetctl.report.forms import ApplyReport
from fleetctl.report.saved import called, kind_of, read_report
from fleetctl.undo import Applied, Done
from fleetctl.words import joined

_DIGITS = "[0-9a-f]" * 12
_MEANT = (
    "name what the apply of that plan wrote by `--report`, or printed as JSON; or, to run the plan, give it by --plan"
)
_REFUSAL = Applied.refusal


def applied_report(path: Path) -> Applied:
    """What the report at `path` tells. Raises Stop, with exit 4 where it was altered, and ComputeError for another kind
    of report."""
    try:
        data = disk.read_whole(path)
    except OSError as error:
        real = Path(os.path.realpath(path)) if path.is_symlink() else path
        kept = (real.parent.glob(f"{escape(real.name)}.{end}") for end in (_DIGITS, f"{_DIGITS}.[0-9]*"))
        beside = sorted(map(str, chain(*kept)))
        hint = f"a later run kept what was there as {joined(beside)}" if beside else ""
        raise Stop(EXIT_ERROR, f"the report {path} cannot be read: {error.strerror}", hint=hint) from error
    kind = kind_of(data)
    if kind not in (None, "apply"):
        message = f"{path} is {called(kind)}, and the report of an apply is meant"
        hint = _MEANT if kind == "plan" else _REFUSAL.hint
        raise ComputeError(Problem(INVALID_INPUT, _REFUSAL.file, message, hint=hint))
    try:
        report = read_report(data)
        assert report["kind"] == "apply"
        return applied(report)
    except ComputeError as error:
        raise _altered(error.problems[0].message) from error
    except msgspec.ValidationError as error:
        raise _altered(str(error)) from error


def _altered(why: str) -> Stop:
    message = f"the report was altered since it was made, or is none that this build wrote: {why}"
    return Stop(EXIT_STALE, message, hint=_REFUSAL.hint, rule=_REFUSAL.file)


def applied(report: ApplyReport) -> Applied:
    """What a report tells. Raises msgspec.ValidationError where it tells of an object twice, or of an inverse that is
    none."""
    operations = tuple(_operations(report))
    if len({one.subject for one in operations}) < len(operations):
        raise msgspec.ValidationError("two operations are of one object")
    return Applied(
        scope=parts.scope(report),
        digest=report["digest"],
        commit=report["commit"],
        sequence=report["sequence"],
        operations=operations,
        report=report,
    )


def _operations(report: ApplyReport) -> Iterator[Done]:
    """What was done, also by earlier runs of the plan file, and what failed: of that nobody knew in the end."""
    for outcome in (*report["before"], *report["done"], *report["failed"]):
        sides.check_inverse(outcome)
        yield Done(
            n=outcome["n"],
            action=outcome["action"],
            key=outcome["key"],
            subject=(outcome["poolId"], outcome["toTenantId"]),
            digest=outcome["digest"],
            is_done=outcome["status"] == "done",
            is_found=outcome["found"],
            inverse=Inverse(**outcome["inverse"]),
            source=Source(**outcome["source"]),
        )
