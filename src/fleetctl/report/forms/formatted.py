"""The shape of formatting."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion


class FormattedFile(TypedDict):
    """A file of the fleet, and what became of it: `formatted`; `unformatted`, where nothing was to be written;
    `unchanged`, being canonical already; `left` as it was, and `why`. `line`: the first one that would change, or that
    would say something else; null where no line is at fault."""

    file: str
    line: int | None
    status: Literal["formatted", "unformatted", "unchanged", "left"]
    why: str


class FormatSummary(TypedDict):
    """Counts of files."""

    formatted: int
    unformatted: int
    unchanged: int
    left: int


class FormatReport(TypedDict):
    """What formatting changed, or with `check` would change."""

    formatVersion: FormatVersion
    kind: Literal["format"]
    check: bool
    files: list[FormattedFile]
    summary: FormatSummary
