"""`fleetctl test`."""

from __future__ import annotations

import click

from fleetctl.cli import options, streams
from fleetctl.cli.options import Common


@click.command(
    "test",
    help="Run the fleet tests (*.fleet-test.yaml) at PATH, a directory with all below it or one file; left out: the"
    " current directory. No server is asked: the live state is a snapshot, or what other fleet files stand for.",
    epilog=options.examples("fleetctl test", "fleetctl test fleet/ --format junit"),
)
@options.common(options.fleet, options.review)
def command(common: Common) -> int:
    from fleetctl.flow.fleet_tests import test

    return streams.finish(test(common.request), common.format)
