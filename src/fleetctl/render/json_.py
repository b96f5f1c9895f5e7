"""JSON: the report itself, as its file would hold it. ASCII, so that nothing in it acts on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetctl.look import PLAIN, Look
from fleetctl.spelling import canonical_text

if TYPE_CHECKING:
    from fleetctl.report.forms import Report


def render(report: Report, _look: Look = PLAIN) -> str:
    return canonical_text(report)
