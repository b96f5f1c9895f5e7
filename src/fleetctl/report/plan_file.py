"""Reports as bytes, and plan files back from them: one spelling of each, so that a file that was altered shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from fleetctl.approval import SavedOperation, SavedPlan
from fleetctl.errors import EXIT_ERROR, EXIT_STALE, Stop
from fleetctl.plan import Scope
from fleetctl.plan.digest import FORMAT_VERSION, checksum
from fleetctl.report import forms
from fleetctl.spelling import canonical_text

_ALTERED = "the plan does not match its digest"
_HINT = "make a new plan: this file was altered, cut short, or not written by this build"


def file_bytes(report: forms.Report) -> bytes:
    """A report as a file holds it."""
    return canonical_text(report).encode()


def read_plan(data: bytes) -> forms.PlanReport:
    """The plan of a file. Raises ComputeError when it is not, to the byte, a file that `file_bytes` made."""
    try:
        head = msgspec.json.decode(data, type=dict[str, Any])
        if (version := head.get("formatVersion")) != FORMAT_VERSION:
            raise _refused(
                f"the plan file is of formatVersion {version!r}, and this build reads {FORMAT_VERSION} alone"
            )
        plan: forms.PlanReport = msgspec.convert(head, forms.PlanReport)
        altered = file_bytes(plan) != data or checksum(plan) != plan["checksum"]
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _refused(f"{_ALTERED}: {error}") from error
    if altered:
        raise _refused(_ALTERED)
    return plan


def saved_plan(path: Path) -> SavedPlan:
    """What the plan file at `path` approves. Raises Stop, with exit 4 when the file was altered."""
    try:
        plan = read_plan(path.read_bytes())
    except OSError as error:
        raise Stop(EXIT_ERROR, f"the plan file {path} cannot be read: {error.strerror}") from error
    except ComputeError as error:
        raise Stop(EXIT_STALE, error.problems[0].message, hint=_HINT, rule=error.problems[0].rule) from error
    scope = Scope(
        derivation=plan["server"]["derivation"],
        instance_id=plan["server"]["instanceId"],
        fleet=plan["fleet"],
        tenant_id=plan["tenantId"],
        caller=plan["caller"],
    )
    operations = (
        SavedOperation(o["action"], o["key"] or o["poolId"], (o["poolId"], o["toTenantId"]), o["digest"])
        for o in plan["operations"]
    )
    return SavedPlan(
        scope=scope,
        digest=plan["digest"],
        inputs=plan["inputs"],
        url=plan["server"]["url"],
        sequence=plan["sequence"],
        commit=plan["commit"],
        expires_at=plan["expiresAt"],
        operations=tuple(operations),
        base_ref=plan["base"] and plan["base"]["commit"],
        base_dir=plan["base"]["ref"] if plan["base"] and plan["base"]["commit"] is None else None,
        prune=plan["prune"],
        only=tuple(plan["selection"]["only"]) if plan["selection"] else (),
        exclude=tuple(plan["selection"]["exclude"]) if plan["selection"] else (),
    )


def _refused(message: str) -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "plan.file", message, hint=_HINT))
