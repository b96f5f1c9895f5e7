"""A report as a list of results, for tools that count and place them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, assert_never

from better_compute.domain.escape import escape
from fleetctl.outline import applied, drifted, moved, operations, together, undone, values
from fleetctl.outline.problems import place
from fleetctl.words import AT_BASE

if TYPE_CHECKING:
    from fleetctl.report.forms import (
        ApplyReport,
        Drifted,
        DriftedOperation,
        FleetDiffReport,
        FleetTestResult,
        FormattedFile,
        LeftOperation,
        Operation,
        Outcome,
        PlanReport,
        Problem,
        Report,
        Source,
        StandingOperation,
    )

Status = Literal["failed", "warned", "skipped", "passed"]

_SEVERITIES: Final[dict[str, Status]] = {"error": "failed", "warning": "warned", "unchecked": "skipped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One thing that was looked at. `name` is what of, `rule` what a reader can look up, `text` one line of words;
    `source` is as the report has it, not escaped. `warned`: people should see it; `skipped`: nobody knows, or it did
    not come to it."""

    group: str
    name: str
    rule: str
    status: Status
    text: str
    hint: str = ""
    source: Source | None = None

    @property
    def whole(self) -> str:
        """The text, and the hint on a line of its own."""
        return f"{self.text}\nHint: {self.hint}" if self.hint else self.text

    def file(self, under: str) -> str | None:
        """The file, of a fleet whose directory is at `under`; not escaped. None where it is none of today's files."""
        if self.source is None or self.source["file"].startswith(AT_BASE):
            return None
        return posixpath.normpath(posixpath.join(under, self.source["file"]))


def results(report: Report) -> Iterator[Result]:
    """What was found and done, in the report's order; nothing of a report that lists nothing."""
    match report["kind"]:
        case "plan":
            yield from _of_plan(report)
        case "apply":
            yield from _of_apply(report)
        case "drift":
            yield from map(_drifted, report["drift"])
        case "validation" | "error":
            yield from _problems(report["problems"])
        case "tests":
            yield from map(_test, report["tests"])
        case "format":
            yield from map(_file, report["files"])
        case "diff":
            yield from _of_diff(report)
        case "id" | "whoami" | "init" | "explanation":
            return
        case _:
            assert_never(report)


def _of_plan(report: PlanReport) -> Iterator[Result]:
    yield from _problems(report["findings"])
    if "together" in report:
        yield from _problems(together.told(report["together"]), "together")
    if "undo" in report:
        yield from map(_standing, report["undo"]["outside"])
    drift = moved.by_number(report)
    yield from (_operation(operation, drift.get(operation["n"])) for operation in report["operations"])


def _of_apply(report: ApplyReport) -> Iterator[Result]:
    yield from _problems([report["refused"]] if report["refused"] else (), "refused")
    for outcomes in (report["failed"], report["blocked"], report["notStarted"], report["done"]):
        yield from map(_outcome, outcomes)
    if report["undo"]:
        yield from map(_left, report["undo"]["left"])
        yield from map(_standing, report["undo"]["outside"])


def _of_diff(report: FleetDiffReport) -> Iterator[Result]:
    """Limits and pools; people should see what guards less, and what is gone."""
    for limit in report["limits"]:
        name, (before, after) = escape(limit["change"]["path"]), values.sides(limit["change"])
        yield Result(
            group="limits",
            name=name,
            rule=f"diff.{limit['direction']}",
            status="warned" if limit["direction"] == "looser" else "passed",
            text=f"{name} {before} -> {after}",
        )
    for pool in report["pools"]:
        name, lost = escape(pool["key"] or pool["poolId"]), "; it was protected, and is no more"
        yield Result(
            group="pools",
            name=name,
            rule=f"diff.{pool['kind']}",
            status="warned" if pool["looser"] or pool["kind"] == "removed" else "passed",
            text=f"{name}: {pool['kind']}{lost if pool['looser'] else ''}",
            source=None if pool["kind"] == "removed" else pool["source"],
        )


def _problems(problems: Iterable[Problem], group: str = "findings") -> Iterator[Result]:
    for problem in problems:
        path, message, source = escape(problem["path"]), escape(problem["message"]), problem["source"]
        rule = escape(problem["rule"] or problem["code"])
        yield Result(
            group=group,
            name=path or (place(source) if source else rule),
            rule=rule,
            status=_SEVERITIES[problem["severity"]],
            text=f"{path}: {message}" if path and not message.startswith(path) else message,
            hint=escape(problem["hint"]),
            source=source,
        )


def _test(test: FleetTestResult) -> Result:
    name, mismatches = escape(test["name"]), test["mismatches"]
    return Result(
        group="tests",
        name=name,
        rule="fleet.test",
        status="failed" if mismatches else "passed",
        text=f"{name}: {'; '.join(escape(each['message']) for each in mismatches) or 'passed'}",
        source=mismatches[0]["source"] if mismatches else test["source"],
    )


def _file(file: FormattedFile) -> Result:
    name = escape(file["file"])
    said = {"unformatted": "it would be formatted", "left": escape(file["why"])}
    return Result(
        group="format",
        name=name,
        rule=f"format.{file['status']}",
        status="failed" if file["status"] in said else "passed",
        text=said.get(file["status"], file["status"]),
        hint="run fleetctl fmt" if file["status"] == "unformatted" else "",
        source={"file": file["file"], "line": file["line"] or 1, "column": 1},
    )


def _operation(operation: Operation, other: DriftedOperation | None) -> Result:
    is_destructive = operations.is_destructive(operation)
    parts = [", ".join(operations.details(operation, whole=False)), *map(escape, operation["effects"])]
    parts += [moved.why(operation["causes"], [other])] if other else []
    because = f" (because {escape(operation['reason']['sentence'])})" if is_destructive else ""
    return Result(
        group="operations",
        name=operations.named(operation),
        rule=f"operation.{operation['action']}",
        status="warned" if is_destructive else "passed",
        text=f"{operations.named(operation)}: {'; '.join(filter(None, parts))}{because}",
        source=operation["source"],
    )


def _outcome(outcome: Outcome) -> Result:
    problem, note = outcome["problem"], applied.note(outcome)
    waits = f"waits for {', '.join(f'#{n}' for n in outcome['waitsFor'])}" if outcome["waitsFor"] else ""
    said = f"{escape(problem['code'])}: {escape(problem['message'])}" if problem else ""
    status: dict[str, Status] = {"done": "passed", "failed": "failed"}
    why = "; ".join(filter(None, (said, waits, note, *map(escape, outcome["meanwhile"]))))
    return Result(
        group="outcomes",
        name=operations.named(outcome),
        rule=f"operation.{outcome['action']}",
        status=status.get(outcome["status"], "skipped"),
        text=f"{operations.named(outcome)}: {outcome['status']}{f': {why}' if why else ''}",
        hint=escape(problem["hint"]) if problem else "",
        source=outcome["source"],
    )


def _left(one: LeftOperation) -> Result:
    return _kept(one, "undo.left", "warned", f"not taken back: {escape(one['why'])}")


def _standing(one: StandingOperation) -> Result:
    return _kept(one, "undo.outside", "skipped", undone.STANDS)


def _kept(one: StandingOperation, rule: str, status: Status, said: str) -> Result:
    """An operation that an undo does not take back."""
    name = operations.named(one)
    return Result(group="outcomes", name=name, rule=rule, status=status, text=f"{name}: {said}", source=one["source"])


def _drifted(one: Drifted) -> Result:
    parts = [escape(one["what"]), *(f"{path} {sides}" for path, sides in drifted.changes(one, whole=False))]
    parts += [words.text for words in drifted.since([one])]
    if one["expected"] is not None:
        parts.append(f"expected: {escape(one['expected'])}")
    return Result(
        group="drift",
        name=drifted.subject(one),
        rule=f"drift.{one['kind']}",
        status="failed" if one["expected"] is None else "skipped",
        text=f"{drifted.subject(one)}: {'; '.join(parts)}",
        source=one["source"],
    )
