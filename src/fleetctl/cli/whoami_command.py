"""`fleetctl whoami`."""

from __future__ import annotations

import click

from fleetctl.cli import options, streams
from fleetctl.cli.options import Common


@click.command(
    "whoami",
    help="Show server, instance, identity, the files' pins, rights missing for plan and apply, and the clock offset."
    + options.PATH,
    epilog=options.examples("fleetctl whoami", "fleetctl whoami fleet/ --token-file token"),
)
@options.common(options.fleet, options.output, options.target)
def command(common: Common) -> int:
    from fleetctl.flow.whoami import whoami

    return streams.finish(whoami(common.request), common.format)
