"""A plan on a terminal: what it is of, who loses, what will be done, what was found, and the sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import escape
from fleetctl.render.text import operations, problems
from fleetctl.render.text.head import head
from fleetctl.render.text.problems import place
from fleetctl.render.text.style import Style, width
from fleetctl.words import count, time

if TYPE_CHECKING:
    from fleetctl.report.forms import PlanReport, Share

_ROWS = 20
_SUMS = {
    "archive": ("to archive", "to archive"),
    "unoffer": ("to withdraw", "to withdraw"),
    "create": ("to create", "to create"),
    "update": ("to update", "to update"),
    "offer": ("offer", "offers"),
    "setQuota": ("owner quota", "owner quotas"),
}


def plan(report: PlanReport, style: Style) -> Iterator[str]:
    yield style.bold(f"Plan of fleet {escape(report['fleet'])}")
    yield from head(report, style, _facts(report))
    if report["losses"]:
        yield from ("", style.bold("Who loses"), *_losses(report, style))
    if report["operations"]:
        yield from ("", style.bold("Operations"), *operations.block(report["operations"], style))
    if report["findings"]:
        yield from ("", style.bold("Findings"), *problems.block(report["findings"], style))
    if report["capacity"]["shares"]:
        yield from ("", *_capacity(report, style))
    yield ""
    yield from _summary(report, style)


def _facts(report: PlanReport) -> Mapping[str, str]:
    summary = report["summary"]
    commit = f", commit {escape(report['commit'][:12])}" if report["commit"] else ""
    facts = {
        "base": "none: guards of the base not checked",
        "files": f"{count(summary['entries'], 'pool')}, {count(summary['offers'], 'offer')}{commit}",
        "live": f"as of event {report['sequence']}, {time(report['createdAt'])}",
    }
    if report["allow"]:
        allowed = ", ".join(f"{escape(name)}={number}" for name, number in report["allow"].items())
        facts["allow"] = f"{allowed}: {escape(report['reason'] or '')}"
    elif report["reason"]:
        facts["reason"] = escape(report["reason"])
    if report["expiresAt"] is not None:
        facts["expires"] = time(report["expiresAt"])
    return facts


def _losses(report: PlanReport, style: Style) -> Iterator[str]:
    sources = {operation["n"]: operation["source"] for operation in report["operations"]}
    column = width([escape(loss["tenantId"]) for loss in report["losses"]])
    for loss in report["losses"]:
        first, *rest = loss["operations"]
        where = place(sources[first]) + (f" and {len(rest):,} more" if rest else "")
        tenant = f"{escape(loss['tenantId']):<{column}}"
        yield f"  {style.red(tenant)} {escape(loss['sentence'])}  {style.dim(where)}"


def _capacity(report: PlanReport, style: Style) -> Iterator[str]:
    shares = report["capacity"]["shares"]
    rows = shares if style.verbose else shares[:_ROWS]
    names = [(_model(row), escape(row["tenantId"])) for row in rows]
    first, second = width(["GPUs", *(m for m, _ in names)]), width(["tenant", *(t for _, t in names)])
    yield style.bold(f"{'GPUs':<{first + 2}}  {'tenant':<{second}}  {'before':>9}  {'after':>9}  {'in use':>9}")
    for row, (model, tenant) in zip(rows, names, strict=True):
        line = f"  {model:<{first}}  {tenant:<{second}}  {_limit(row['before'])}  {_limit(row['after'])}"
        below = row["after"] < row["inUse"]
        yield f"{line}  {row['inUse']:>9,}{style.red('  below use') if below else ''}"
    if left := len(shares) - len(rows):
        yield style.dim(f"  and {left:,} more (--verbose)")


def _model(row: Share) -> str:
    return escape(row["gpuModel"] if row["atom"] == "gpu" else f"{row['gpuModel']} {row['atom']}")


def _limit(number: int) -> str:
    return f"{'unlimited' if number == UNLIMITED else format(number, ','):>9}"


def _first(report: PlanReport) -> str:
    """Where the first error is: what blocks a long plan has long left the screen."""
    source = next((f["source"] for f in report["findings"] if f["severity"] == "error" and f["source"]), None)
    return f" (first: {place(source)})" if source else ""


def _summary(report: PlanReport, style: Style) -> Iterator[str]:
    summary = report["summary"]
    if report["operations"]:
        sums = [f"{n:,} {_SUMS[action][n > 1]}" for action in _SUMS if (n := summary["actions"][action])]
        unchanged = f"{summary['unchanged']:,} of {count(summary['entries'], 'pool')} unchanged"
        yield f"{style.bold('Plan:')} {', '.join(sums)}; {unchanged}."
    elif not summary["blocked"]:
        pools, offers = count(summary["entries"], "pool"), count(summary["offers"], "offer")
        yield style.green(f"No changes. {pools}, {offers} as wished.")
    if removed := len(summary["removed"]):
        verbs = ("stands", "is left as it is") if removed == 1 else ("stand", "are left as they are")
        yield f"{count(removed, 'pool')} of this fleet {' in no entry and '.join(verbs)}."
    if summary["foreign"]:
        yield style.dim(f"{count(summary['foreign'], 'foreign pool')} left alone.")
    found = problems.tally(summary["errors"], summary["warnings"], summary["unchecked"])
    if summary["blocked"]:
        yield style.red(f"Blocked: {found}{_first(report)}. Nothing of this plan can be applied.")
    elif found:
        yield style.yellow(f"Found: {found}.")
    yield f"{style.bold('Digest:')} {escape(report['digest'])}"
