"""`fleetctl apply`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fleetctl.cli import frame, options, streams, values
from fleetctl.cli.dialogue import Dialogue
from fleetctl.cli.named import FILE
from fleetctl.cli.options import Common


@click.command(
    "apply",
    help="Make the plan again, show it, have it approved, run it, and report what became of every operation."
    + options.PATH,
    epilog=options.examples(
        "fleetctl apply",
        "fleetctl apply fleet/ --plan plan.json --report report.json",
        "fleetctl apply fleet/ --expect DIGEST",
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
@click.option("--parallelism", type=click.IntRange(1, 64), default=10, show_default=True, help="Calls at a time.")
@click.option("--journal", type=FILE, metavar="FILE", help="Keep every attempt, as JSON lines.")
@click.option(
    "--report",
    "report_file",
    type=FILE,
    metavar="FILE",
    help="Write the report, as JSON; one that is there is removed before anything is done.",
)
def command(common: Common, yes: bool, plan_file: Path | None, expect: str | None, **how: Any) -> int:
    from fleetctl.flow.apply import How, apply

    files = {"--plan": plan_file, "--journal": how["journal"], "--report": how["report_file"]}
    options.check_apart(common.request, files)
    asks = not (yes or plan_file is not None or expect is not None)
    dialogue = Dialogue(common, approved=not asks)
    tell = dialogue.progress.tell
    orders = How(plan_file=plan_file, expect=expect, approve=dialogue.approve, asks=asks, progress=tell, **how)
    with dialogue.progress:
        finished = apply(common.request, orders)
    return streams.finish(finished, common.format, verbose=common.verbose)
