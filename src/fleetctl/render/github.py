"""Annotations of a pull request: one workflow command a line, and the sums as a notice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from better_compute.domain.escape import escape
from fleetctl.look import PLAIN, Look
from fleetctl.outline import outline
from fleetctl.outline.results import results
from fleetctl.outline.shape import plain

if TYPE_CHECKING:
    from fleetctl.outline.results import Result
    from fleetctl.outline.shape import Outline
    from fleetctl.report.forms import Report

_COMMANDS: Final = {"failed": "error", "warned": "warning", "skipped": "notice"}
"""What passed needs no annotation."""
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: Report, look: Look = PLAIN) -> str:
    """The worst first. Files are named from the top of the repository."""
    found = list(results(report))
    lines = [_line(_COMMANDS[status], one, look.under) for status in _COMMANDS for one in found if one.status == status]
    return "".join(f"{line}\n" for line in (*_sums(outline(report)), *lines))


def _sums(words: Outline) -> Iterator[str]:
    said = "\n".join(plain(sentence) for sentence in (*words.opening, *words.closing))
    if said:
        title = plain(words.heading)
        yield f"::notice title={title.translate(_PROPERTY)}::{said.translate(_MESSAGE)}"


def _line(command: str, one: Result, under: str) -> str:
    file, place = one.file(under), {}
    if one.source is not None and file is not None:
        place = {"file": escape(file), "line": str(one.source["line"]), "col": str(one.source["column"])}
    properties = {**place, "title": one.rule}
    said = ",".join(f"{name}={value.translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{command} {said}::{one.whole.translate(_MESSAGE)}"
