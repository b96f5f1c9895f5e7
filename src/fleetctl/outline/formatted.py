"""Formatting in words: what was changed, what was left and why, and the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.shape import Item, Outline, Section, Sentence, Tone, Words, filled
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import FormatReport, FormattedFile

_SAID = {"formatted": "formatted", "unformatted": "would be formatted", "left": "left as it is", "unchanged": ""}


def outline(report: FormatReport, *, verbose: bool) -> Outline:
    """Files that are canonical already are told to those who ask for everything."""
    told = [file for file in report["files"] if verbose or file["status"] != "unchanged"]
    return Outline(
        kind="format",
        sections=filled(Section(title="", items=tuple(_item(file) for file in told))),
        closing=(_sum(report),),
    )


def _item(file: FormattedFile) -> Item:
    is_left = file["status"] == "left"
    return Item(
        subject=escape(file["file"] if file["line"] is None else f"{file['file']}:{file['line']}"),
        tone="bad" if is_left else "quiet" if file["status"] == "unchanged" else "plain",
        details=(_SAID[file["status"]] or "as it should be",),
        notes=(Words(escape(file["why"]), foreign=True),) if is_left else (),
        alarm=is_left,
    )


def _sum(report: FormatReport) -> Sentence:
    summary = report["summary"]
    said = [
        (count(summary["formatted"], "file") + " formatted", summary["formatted"]),
        (count(summary["unformatted"], "file") + " would be formatted", summary["unformatted"]),
        (count(summary["left"], "file") + " left as found", summary["left"]),
    ]
    done = ", ".join(text for text, number in said if number)
    if not done:
        return (Words(f"{count(summary['unchanged'], 'file')} formatted already.", "good"),)
    rest = f"; {summary['unchanged']:,} formatted already" if summary["unchanged"] else ""
    tone: Tone = "bad" if summary["left"] else "notice" if summary["unformatted"] else "good"
    return (Words(f"{done}{rest}.", tone),)
