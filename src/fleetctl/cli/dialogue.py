"""The conversation of an apply: the plan is shown, and approved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleetctl.cli import streams
from fleetctl.cli.options import Common
from fleetctl.cli.progress import Progress
from fleetctl.errors import EXIT_INTERRUPTED, Stop

if TYPE_CHECKING:
    from fleetctl.report.forms import PlanReport


class Dialogue:
    """`approved`: the plan is approved already, and is shown all the same. `undoes`: it is of no plan file."""

    def __init__(self, common: Common, *, approved: bool, undoes: bool) -> None:
        """Raises click.UsageError where there is nobody to ask."""
        if not approved and not (sys.stdin.isatty() and sys.stderr.isatty()):
            ways = "--yes and --expect" if undoes else "--yes, --plan and --expect"
            raise click.UsageError(f"without a terminal to ask on, one of {ways} is needed")
        self._common, self._approved = common, approved
        self.progress = Progress(verbose=common.verbose, is_told=common.format.for_people)

    def approve(self, report: PlanReport) -> bool:
        """Show the plan, beside the result where that is not for people, and ask where there is something to do. Raises
        Stop where a signal comes in the place of an answer."""
        self.progress.total = len(report["operations"])
        if self._common.format.for_people:
            if streams.show(report, self._common.format, verbose=self._common.verbose):
                return False  # nobody saw it
        else:
            streams.say(streams.in_words(report, sys.stderr, verbose=self._common.verbose))
        if self._approved or not report["operations"]:
            return True
        try:
            streams.say('Type "yes" to apply this plan: ')
            answer = sys.stdin.readline()
            if not answer.endswith("\n"):
                streams.say("\n")  # there is no answer, and nothing ended the line of the question
            return answer.strip() == "yes"
        except (KeyboardInterrupt, SystemExit) as signal:
            streams.say("\n")
            name = "SIGTERM" if isinstance(signal, SystemExit) else "SIGINT"
            raise Stop(EXIT_INTERRUPTED[name], f"{name} came before an answer: nothing was written") from None
