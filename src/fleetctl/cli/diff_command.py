"""`fleetctl diff`."""

from __future__ import annotations

import click

from fleetctl.cli import options, streams
from fleetctl.cli.options import Common


@click.command(
    "diff",
    help="Show what fleet B wishes differently from fleet A: pools, offers, guards, checks and pins, by meaning and "
    "without a server. Each is a directory, a file, REVISION:PATH, or a git revision alone: of that the fleet is read "
    "that the other names, or the one in the current directory.",
    epilog=options.examples(
        "fleetctl diff main fleet/",
        "fleetctl diff v1:fleet v2:fleet --format json",
        "fleetctl diff fleet/ ../other/fleet --detailed-exitcode",
    ),
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--detailed-exitcode", "detailed", is_flag=True, help="Exit 2 when anything differs.")
@options.common(options.review, options.verbose)
def command(common: Common, before: str, after: str, detailed: bool) -> int:
    from fleetctl.flow.diff import diff

    finished = diff(before, after, caller=common.request.caller, detailed=detailed)
    return streams.finish(finished, common.format, verbose=common.verbose)
