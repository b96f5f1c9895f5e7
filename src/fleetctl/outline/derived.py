"""A derived id in words: the id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.shape import Outline, Words

if TYPE_CHECKING:
    from fleetctl.report.forms import IdReport


def outline(report: IdReport, **_: bool) -> Outline:
    return Outline(kind="id", closing=((Words(escape(report["id"]), foreign=True),),))
