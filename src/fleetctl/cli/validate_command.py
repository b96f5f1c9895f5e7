"""`fleetctl validate`."""

from __future__ import annotations

import click

from fleetctl.cli import options, streams
from fleetctl.cli.options import Common


@click.command(
    "validate",
    help="Check fleet files offline: YAML, fields, and every rule that needs no live state." + options.PATH,
    epilog=options.examples("fleetctl validate", "fleetctl validate fleet/ --format github"),
)
@options.common(options.fleet, options.review, options.verbose)
def command(common: Common) -> int:
    from fleetctl.flow.validate import validate

    return streams.finish(validate(common.request), common.format, verbose=common.verbose)
