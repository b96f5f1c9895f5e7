"""`fleetctl id`."""

from __future__ import annotations

import click

from fleetctl.cli import offered, options, streams
from fleetctl.cli.named import PLACE
from fleetctl.cli.options import Common


@click.command(
    "id",
    help="Print the id of the pool that KEY stands for: what the entry with this key means (its `id`, or what its "
    "`previously` derives), else what KEY derives. No server is asked whether it is live. With both --tenant and "
    "--caller no fleet is read, and KEY is derived as it is.",
    epilog=options.examples(
        "fleetctl id fra1-h100 --fleet fleet/", "fleetctl id fra1-h100 --tenant root --caller sa_fleet --format json"
    ),
)
@click.argument("key", shell_complete=offered.keys)
@click.option("--tenant", metavar="T", help="The pool's owner, instead of the fleet's.")
@click.option("--caller", metavar="C", help="The identity that creates it, instead of the fleet's.")
@click.option(
    "--fleet",
    "path",
    type=PLACE,
    default=".",
    metavar="PATH",
    help="Where the fleet is; left out: here.",
)
@options.common(options.output)
def command(common: Common, key: str, tenant: str | None, caller: str | None) -> int:
    from fleetctl.flow.id import pool_id

    finished = pool_id(common.request, key, tenant, caller)
    return streams.finish(finished, common.format)
