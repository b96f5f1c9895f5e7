"""The shape of a fleet that was begun."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion


class OwnersReport(TypedDict):
    """Lines for the file of code owners that was there."""

    file: str
    lines: list[str]


class InitReport(TypedDict):
    """A fleet that was begun: the files that were written, named from where `directory` is, and what they pin.
    `toIgnore`: lines that the `.gitignore` which was there lacks; `toOwn`: the same of the code owners; null where that
    file was written, or lacks none. `server` of null: an embedded control plane."""

    formatVersion: FormatVersion
    kind: Literal["init"]
    directory: str
    files: list[str]
    toIgnore: list[str]
    toOwn: OwnersReport | None
    fleet: str
    tenantId: str
    caller: str
    server: str | None
