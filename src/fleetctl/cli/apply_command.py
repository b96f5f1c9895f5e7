"""`fleetctl apply`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetctl.cli import frame, options, streams, values
from fleetctl.cli.dialogue import Dialogue
from fleetctl.cli.named import FILE
from fleetctl.cli.options import Common

if TYPE_CHECKING:
    from fleetctl.request import Request


@click.command(
    "apply",
    help="Make the plan again, show it, have it approved, run it, and report what became of every operation."
    + options.PATH,
    epilog=options.examples(
        "fleetctl apply",
        "fleetctl apply fleet/ --plan plan.json --report report.json",
        "fleetctl apply fleet/ --expect DIGEST",
        "fleetctl apply fleet/ --undo report.json",
    ),
)
@options.common(
    options.fleet,
    frame.base,
    frame.prune,
    frame.selection,
    options.override,
    options.review,
    options.verbose,
    options.target,
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--plan", "plan_file", type=FILE, metavar="FILE", help="Run what this plan file approves, or its rest.")
@click.option("--expect", metavar="DIGEST", callback=values.digest, help="Run the plan of this digest alone.")
@click.option(
    "--undo",
    type=FILE,
    metavar="REPORT",
    help="Take back what this report of an apply tells, as far as that can be; the files must be reverted too.",
)
@click.option(
    "--parallelism",
    type=click.IntRange(1, 64),
    default=10,
    show_default=True,
    metavar="N",
    help="Calls at a time, 64 at most. Half as many, one at least, whenever the control plane answers 429 or 503; one"
    " more, up to N, after as many answers as may be under way.",
)
@click.option("--journal", type=FILE, metavar="FILE", help="Keep every attempt, as JSON lines.")
@click.option(
    "--report",
    "report_file",
    type=FILE,
    metavar="FILE",
    help="Write the report, as JSON. One that is there and tells of something done is kept as FILE.DIGEST, with 12"
    " digits of its own, before anything is done; unless this one tells all of it, as that of a plan file's rest does.",
)
def command(
    common: Common, yes: bool, plan_file: Path | None, expect: str | None, undo: Path | None, **how: Any
) -> int:
    from fleetctl.flow.apply import apply
    from fleetctl.flow.running import How
    from fleetctl.flow.undo import undo as take_back

    _check(common.request, plan_file, undo, how)
    asks = not (yes or plan_file is not None or expect is not None)
    dialogue = Dialogue(common, approved=not asks, undoes=undo is not None)
    tell = dialogue.progress.tell
    orders = How(plan_file=plan_file, expect=expect, approve=dialogue.approve, asks=asks, progress=tell, **how)
    with dialogue.progress:
        finished = take_back(common.request, orders, undo) if undo else apply(common.request, orders)
    form = replace(common.format, look=replace(common.format.look, below_plan=True))
    return streams.finish(finished, form, verbose=common.verbose)


def _check(request: Request, plan_file: Path | None, undo: Path | None, how: Mapping[str, Any]) -> None:
    """Raises click.UsageError for a file that is named twice, and for flags that ask for something else than the report
    tells that is to be undone."""
    files = {"--plan": plan_file, "--undo": undo, "--journal": how["journal"], "--report": how["report_file"]}
    options.check_apart(request, files)
    frame.check_undo(undo, request, {"--plan": plan_file})
