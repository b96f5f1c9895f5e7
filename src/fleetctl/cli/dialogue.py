"""The conversation of an apply: the plan is shown, approved, and every operation that ends is told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleetctl.cli import streams
from fleetctl.cli.options import Common

if TYPE_CHECKING:
    from fleetctl.journal import Outcome
    from fleetctl.report import PlanReport


class Dialogue:
    """`approved`: the plan is approved already, and is shown all the same."""

    def __init__(self, common: Common, *, approved: bool) -> None:
        """Raises click.UsageError where there is nobody to ask."""
        if not approved and not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError("without a terminal to ask on, one of --yes, --plan and --expect is needed")
        self._common, self._approved = common, approved
        self._total = self._ended = 0

    def approve(self, report: PlanReport) -> bool:
        """Show the plan, beside the result where that is not for people, and ask where there is something to do."""
        self._total = len(report["operations"])
        if self._common.format.for_people:
            streams.show(report, self._common.format, verbose=self._common.verbose)
        else:
            streams.say(streams.in_words(report, sys.stderr, verbose=self._common.verbose))
        if self._approved or not self._total:
            return True
        streams.say('Type "yes" to apply this plan: ')
        return sys.stdin.readline().strip() == "yes"

    def progress(self, outcome: Outcome) -> None:
        from fleetctl.render import text
        from fleetctl.report import of_outcome

        self._ended += 1
        line = text.progress_line(of_outcome(outcome), self._ended, self._total, colour=streams.colours(sys.stderr))
        streams.say(f"{line}\n")
