"""`fleetctl fmt`."""

from __future__ import annotations

import click

from fleetctl.cli import options, streams
from fleetctl.cli.options import Common


@click.command(
    "fmt",
    help="Format fleet files: two blanks a level, lists indented below their key, quotes where they are needed. "
    "Values, comments, anchors and the order of keys stay as they are; a file of which that cannot be said is left "
    "alone, and the exit code is 1." + options.PATH + " A world file, or a fleet test, is formatted when it is named.",
    epilog=options.examples("fleetctl fmt", "fleetctl fmt fleet/ --check", "fleetctl fmt fleet/world.yaml"),
)
@options.common(options.fleet, options.review, options.verbose)
@click.option("--check", is_flag=True, help="Write nothing: exit 1 when a file would change.")
def command(common: Common, check: bool) -> int:
    from fleetctl.flow.fmt import fmt

    return streams.finish(fmt(common.request.path, check=check), common.format, verbose=common.verbose)
