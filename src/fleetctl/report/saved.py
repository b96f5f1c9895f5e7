"""Reports as bytes, and back from them: one spelling of what is acted on, a plan or what an apply did, so that a file
that was altered shows."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem, did_you_mean
from fleetctl.report import forms, sides
from fleetctl.spelling import FORMAT_VERSION, canonical_text, checksum

_ALTERED = "the plan does not match its digest"
_NOT_WRITTEN = "it is not, to the byte, what an apply wrote: it was altered"
_NEW_PLAN = "make a new plan: this file was altered, cut short, or not written by this build"
_JOURNAL = "journal"
_CALLED = {
    "plan": "a plan",
    "apply": "the report of an apply",
    "drift": "a report of drift",
    _JOURNAL: "the journal of an apply",
}
_IS_JOURNAL = f"it is {_CALLED[_JOURNAL]}, and no report"
_HINT = "name a file as the run wrote it: by `--out`, by `apply --report`, or what `--format json` printed"


def file_bytes(report: forms.Report) -> bytes:
    """A report as a file holds it."""
    return canonical_text(report).encode()


def read_plan(data: bytes) -> forms.PlanReport:
    """The plan of a file. Raises ComputeError when it is not, to the byte, a file that `file_bytes` made."""
    try:
        head = msgspec.json.decode(data, type=dict[str, Any])
        if (version := head.get("formatVersion")) != FORMAT_VERSION:
            raise _altered(
                f"the plan file is of formatVersion {version!r}, and this build reads {FORMAT_VERSION} alone"
            )
        plan: forms.PlanReport = msgspec.convert(head, forms.PlanReport)
        sides.check(plan["operations"])
        altered = file_bytes(plan) != data or checksum(plan) != plan["checksum"]
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _altered(f"{_ALTERED}: {error}") from error
    if altered:
        raise _altered(_ALTERED)
    return plan


def kind_of(data: bytes) -> str | None:
    """The kind of report that a file says it is, or `journal`, which is kept beside one; None where it says none."""
    try:
        kind = msgspec.json.decode(data, type=dict[str, Any]).get("kind")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        kind = None
    if kind is None and _is_journal(data):
        return _JOURNAL
    return kind if isinstance(kind, str) and kind in _forms() else None


def _is_journal(data: bytes) -> bool:
    """Whether what says no kind is what `apply --journal` keeps: JSON lines, and one alone where nothing was tried."""
    try:
        line = msgspec.json.decode(data.partition(b"\n")[0], type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return line.keys() >= {"time", "plan", "event"}


def called(kind: str) -> str:
    """What people call a report of a kind: `a plan`, `the report of an apply`."""
    return _CALLED.get(kind, f"a report of kind {kind}")


def read_report(data: bytes) -> forms.Report:
    """The report of a file. A plan and the report of an apply are as they were written, to the byte; any other has all
    that its schema names, and nothing else. Raises ComputeError."""
    try:
        document = msgspec.json.decode(data, type=dict[str, Any])
        kind = document.get("kind")
        if kind == "plan":
            return read_plan(data)
        if kind is None and _is_journal(data):
            raise _refused(_IS_JOURNAL)
        form = _form(kind)
        if (version := document.get("formatVersion")) != FORMAT_VERSION:
            raise _refused(f"it is of formatVersion {version!r}, and this build reads {FORMAT_VERSION} alone")
        report: forms.Report = msgspec.convert(document, form)
        altered = report["kind"] == "apply" and (file_bytes(report) != data or checksum(report) != report["checksum"])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _refused(_IS_JOURNAL if _is_journal(data) else f"it is no whole report: {error}") from error
    if report != document:
        raise _refused(f"it holds what no report of kind {kind} does")
    if altered:
        raise _refused(_NOT_WRITTEN)
    return report


def _forms() -> dict[str, Any]:
    return {get_args(get_type_hints(form)["kind"])[0]: form for form in get_args(forms.Report)}


def _form(kind: object) -> Any:
    """The form of the reports of a kind."""
    there = _forms()
    if not isinstance(kind, str) or kind not in there:
        near = did_you_mean(kind, there) if isinstance(kind, str) else ""
        raise _refused(f"it is of kind {kind!r}, and there are {', '.join(sorted(there))}", near)
    return there[kind]


def _altered(message: str) -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "plan.file", message, hint=_NEW_PLAN))


def _refused(message: str, hint: str = "") -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "report.file", message, hint=hint or _HINT))
