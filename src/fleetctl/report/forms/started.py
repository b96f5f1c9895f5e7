"""The shape of a fleet that was begun."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion


class InitReport(TypedDict):
    """A fleet that was begun: the files that were written, named from where `directory` is, and what they pin.
    `toIgnore`: lines that the `.gitignore` which was there lacks. `server` of null: an embedded control plane."""

    formatVersion: FormatVersion
    kind: Literal["init"]
    directory: str
    files: list[str]
    toIgnore: list[str]
    fleet: str
    tenantId: str
    caller: str
    server: str | None
