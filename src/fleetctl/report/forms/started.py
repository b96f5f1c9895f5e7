"""The shape of a fleet that was begun."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion


class InitReport(TypedDict):
    """A fleet that was begun: the files that were written, relative to `directory`, and what they pin. `server` of
    null: an embedded control plane."""

    formatVersion: FormatVersion
    kind: Literal["init"]
    directory: str
    files: list[str]
    fleet: str
    tenantId: str
    caller: str
    server: str | None
