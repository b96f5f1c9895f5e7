"""`fleetctl graph`."""

from __future__ import annotations

from dataclasses import replace

import click

from fleetctl.cli import frame, options, streams
from fleetctl.cli.options import Common


@click.command(
    "graph",
    help="Draw what an apply would do: the operations of the plan, and which of them wait for which. One that is"
    " blocked is drawn too, and exits with 0. Changes nothing that is live." + options.PATH,
    epilog=options.examples(
        "fleetctl graph",
        "fleetctl graph fleet/ --only site=site_fra1 --format svg > plan.svg",
    ),
)
@options.common(
    options.fleet,
    frame.base,
    frame.prune,
    frame.selection,
    frame.snapshot,
    options.drawing,
    options.target,
)
def command(common: Common) -> int:
    from fleetctl.flow.graph import graph
    from fleetctl.render.graph import mermaid

    made = graph(common.request)
    told = mermaid.remarks(made.report) if common.format.name == "mermaid" else ()
    return streams.finish(replace(made, remarks=(*made.remarks, *told)), common.format)
