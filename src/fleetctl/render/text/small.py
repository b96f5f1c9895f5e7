"""The small reports: validation, a derived id, who one is, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.render.text import problems
from fleetctl.render.text.head import server
from fleetctl.render.text.style import Style
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import ErrorReport, IdReport, ValidationReport, WhoamiReport

_IN_STEP_MS, _NOTED_OFFSET_MS = 100, 2000


def validation(report: ValidationReport, style: Style) -> Iterator[str]:
    yield from problems.block(report["problems"], style)
    summary = report["summary"]
    found = problems.tally(summary["errors"], summary["warnings"], summary["unchecked"])
    if report["valid"]:
        counts = f"{count(summary['entries'] or 0, 'pool')}, {count(summary['offers'] or 0, 'offer')}"
        yield style.green(f"Valid: {counts}.") + (f" {found}." if found else "")
    else:
        yield style.red(f"Not valid: {found}.")


def derived_id(report: IdReport, _: Style) -> Iterator[str]:
    yield escape(report["id"])


def whoami(report: WhoamiReport, style: Style) -> Iterator[str]:
    identity, pins, missing = report["identity"], report["pins"], report["missing"]
    rows = {
        "identity": f"{escape(identity['id'])} of tenant {escape(identity['tenantId'])}",
        "server": server(report["server"]),
        "pins": _pins(pins["server"], pins["tenantId"], pins["caller"]),
        "plan": _rights(missing["plan"], style),
        "apply": _rights(missing["apply"], style),
        "clock": _offset(report["clockOffsetMs"], style),
    }
    if pins["caller"] is not None and pins["caller"] != identity["id"]:
        rows["apply"] = style.red(f"needs the token of {escape(pins['caller'])}")
    yield from (f"{style.dim(f'{name:<9}')} {text}" for name, text in rows.items())


def error(report: ErrorReport, style: Style) -> Iterator[str]:
    yield from problems.block(report["problems"], style)


def _pins(url: str | None, tenant_id: str, caller: str | None) -> str:
    named = {"server": url, "tenant": tenant_id, "caller": caller}
    return ", ".join(f"{name} {escape(it) if it is not None else '(none)'}" for name, it in named.items())


def _rights(missing: Sequence[str], style: Style) -> str:
    if not missing:
        return style.green("all rights")
    return style.red(f"missing {', '.join(escape(right) for right in missing)}")


def _offset(ms: int, style: Style) -> str:
    if abs(ms) < _IN_STEP_MS:
        return "in step with the server's"
    text = f"the server's is {abs(ms) / 1000:.1f} s {'ahead of' if ms > 0 else 'behind'} this machine's"
    return style.yellow(text) if abs(ms) >= _NOTED_OFFSET_MS else text
