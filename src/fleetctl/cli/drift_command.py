"""`fleetctl drift`."""

from __future__ import annotations

from pathlib import Path

import click

from fleetctl.cli import frame, options, streams
from fleetctl.cli.named import FILE
from fleetctl.cli.options import Common


@click.command(
    "drift",
    help="Show what differs between files and live state: what, since when, by whom. Exit 2 when something does, but"
    " for what the files list under `expected` (fleetctl explain expected)." + options.PATH,
    epilog=options.examples(
        "fleetctl drift", "fleetctl drift fleet/ --format json", 'fleetctl drift fleet/ --notify "$WEBHOOK"'
    ),
)
@options.common(
    options.fleet, frame.base, frame.selection, frame.snapshot, options.metrics, options.verbose, options.target
)
@click.option("--out", type=FILE, metavar="FILE", help="Keep the report too, as JSON.")
@click.option(
    "--notify",
    metavar="URL",
    help="Where something drifted, POST a summary and the report to this webhook, as JSON. The variable"
    " FLEETCTL_NOTIFY_SECRET signs it, as Standard Webhooks do. It is sent once; exit 1 where it was not taken. What"
    " fails before drift is known, such as an expired token, is exit 1 too, and is not sent.",
)
def command(common: Common, out: Path | None, notify: str | None) -> int:
    from fleetctl.flow.drift import drift

    options.check_apart(common.request, {"--out": out})
    return streams.finish(drift(common.request, out=out, notify=notify), common.format, verbose=common.verbose)
