"""Who one is, in words: identity, server, pins, missing rights, and the clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.head import server
from fleetctl.outline.shape import Fact, Outline

if TYPE_CHECKING:
    from fleetctl.report.forms import WhoamiReport

_IN_STEP_MS, _NOTED_OFFSET_MS = 100, 2000


def outline(report: WhoamiReport, **_: bool) -> Outline:
    identity, pins, missing = report["identity"], report["pins"], report["missing"]
    apply = _rights("apply", missing["apply"])
    if pins["caller"] is not None and pins["caller"] != identity["id"]:
        apply = Fact("apply", f"needs the token of {escape(pins['caller'])}", "bad")
    facts = (
        Fact("identity", f"{escape(identity['id'])} of tenant {escape(identity['tenantId'])}"),
        Fact("server", server(report["server"])),
        Fact("pins", _pins(pins["server"], pins["tenantId"], pins["caller"])),
        _rights("plan", missing["plan"]),
        apply,
        _offset(report["clockOffsetMs"]),
    )
    return Outline(kind="whoami", facts=facts)


def _pins(url: str | None, tenant_id: str, caller: str | None) -> str:
    named = {"server": url, "tenant": tenant_id, "caller": caller}
    return ", ".join(f"{name} {escape(it) if it is not None else '(none)'}" for name, it in named.items())


def _rights(name: str, missing: Sequence[str]) -> Fact:
    if not missing:
        return Fact(name, "all rights", "good")
    return Fact(name, f"missing {', '.join(escape(right) for right in missing)}", "bad")


def _offset(ms: int) -> Fact:
    if abs(ms) < _IN_STEP_MS:
        return Fact("clock", "in step with the server's")
    text = f"the server's is {abs(ms) / 1000:.1f} s {'ahead of' if ms > 0 else 'behind'} this machine's"
    return Fact("clock", text, "notice" if abs(ms) >= _NOTED_OFFSET_MS else "plain")
