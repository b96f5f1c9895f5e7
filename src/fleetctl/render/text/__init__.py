"""Terminal output: a report as people read it, calm and with the dangerous first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.escape import inert
from fleetctl.look import PLAIN, Look
from fleetctl.outline import outline
from fleetctl.render.text import lines
from fleetctl.render.text.style import Style
from fleetctl.render.text.window import wrapped

if TYPE_CHECKING:
    from fleetctl.report.forms import Outcome, Report


def render(report: Report, look: Look = PLAIN) -> str:
    """The report in lines of text, each ended. Text from files and servers is escaped; only colour adds sequences.
    Lines go on below themselves where the window does not hold them."""
    words, width = outline(report, verbose=look.verbose), look.width
    if look.below_plan and words.kind == "apply":
        from fleetctl.outline.applied import below_plan  # not at the top: few commands apply

        words = below_plan(words, verbose=look.verbose)
    shown = (inert(line) for line in lines.lines(words, Style(look.colour, width)))
    if width is not None:
        shown = (part for line in shown for part in wrapped(line, width))
    return "".join(f"{line}\n" for line in shown)


def progress_line(outcome: Outcome, number: int, total: int, *, whole: bool = True, colour: bool = False) -> str:
    """One operation that ended, the `number`th of `total`: `[ 3/12] done    offer fra1-h100 to acme`. Not `whole`: why
    it failed is told later."""
    from fleetctl.outline.applied import progress  # not at the top: it is told while an apply runs

    status, text = progress(outcome, whole=whole)
    padded = Style(colour).toned(status.tone, f"{status.text:<7}")
    return f"[{number:>{len(str(total))}}/{total}] {padded} {text}"
