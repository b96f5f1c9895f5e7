"""What a report is of, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.shape import Fact
from fleetctl.words import count, short

if TYPE_CHECKING:
    from fleetctl.report.forms import Base, Headed, Selection, Server

NO_BASE = "none: guards of the base not checked"


def head(report: Headed, more: Mapping[str, str]) -> Iterator[Fact]:
    """Tenant, caller, server, and `more`, which is escaped already."""
    caller, reader = escape(report["caller"]), escape(report["reader"])
    common = {
        "tenant": escape(report["tenantId"]),
        "caller": caller if reader == caller else f"{caller}, read by {reader}",
        "server": server(report["server"]),
    }
    yield from (Fact(name, text) for name, text in {**common, **more}.items())


def server(it: Server) -> str:
    overridden = "; --server overrides the files' pin" if it["overridden"] else ""
    return f"{escape(it['url'])} (instance {escape(it['instanceId'])}){overridden}"


def base(it: Base) -> str:
    """`origin/main, commit 0123456789ab`."""
    return escape(it["ref"]) + commit(it["commit"])


def commit(it: str | None) -> str:
    return f", commit {escape(short(it))}" if it else ""


def selection(it: Selection) -> str:
    """`only key=fra1-*, without tenant=acme: a part of the fleet; 3 outside differ`."""
    return f"{chosen(it)}: a part of the fleet; {outside(it)}"


def chosen(it: Selection) -> str:
    """`only key=fra1-*, without tenant=acme`."""
    words = {"only": it["only"], "without": it["exclude"]}
    return ", ".join(f"{word} {' or '.join(map(escape, names))}" for word, names in words.items() if names)


def outside(it: Selection) -> str:
    """What differs and nobody was shown."""
    number = it["outside"]
    return f"{number:,} outside {'differs' if number == 1 else 'differ'}" if number else "nothing outside differs"


def live(as_of: str, *, snapshot: bool) -> str:
    """`as of event 412, from a snapshot`."""
    return f"as of {as_of}{', from a snapshot' if snapshot else ''}"


def files(entries: int, offers: int) -> str:
    """`4 pools, 2 offers`."""
    return f"{count(entries, 'pool')}, {count(offers, 'offer')}"
