"""`fleetctl drift`."""

from __future__ import annotations

import click

from fleetctl.cli import options, scope, streams
from fleetctl.cli.options import Common


@click.command(
    "drift",
    help="Show what differs between files and live state: what, since when, by whom. Exit 2 when something does."
    + options.PATH,
    epilog=options.examples("fleetctl drift", "fleetctl drift fleet/ --format json"),
)
@options.common(options.fleet, scope.base, scope.selection, scope.snapshot, options.metrics, options.target)
def command(common: Common) -> int:
    from fleetctl import flow

    return streams.finish(flow.drift(common.request), common.format, verbose=common.verbose)
