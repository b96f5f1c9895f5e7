"""The lines that say what a report is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.render.text.style import Style

if TYPE_CHECKING:
    from fleetctl.report.forms import Headed, Server

_NAMES = 8


def head(report: Headed, style: Style, facts: Mapping[str, str]) -> Iterator[str]:
    """Tenant, caller, server, and `facts`, which are escaped already."""
    caller, reader = escape(report["caller"]), escape(report["reader"])
    common = {
        "tenant": escape(report["tenantId"]),
        "caller": caller if reader == caller else f"{caller}, read by {reader}",
        "server": server(report["server"]),
    }
    yield from (f"  {style.dim(f'{name:<{_NAMES}}')} {text}" for name, text in {**common, **facts}.items())


def server(it: Server) -> str:
    overridden = "; --server overrides the files' pin" if it["overridden"] else ""
    return f"{escape(it['url'])} (instance {escape(it['instanceId'])}){overridden}"
