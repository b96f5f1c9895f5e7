"""`fleetctl snapshot`."""

from __future__ import annotations

from pathlib import Path

import click

from fleetctl.cli import options, streams
from fleetctl.cli.named import FILE
from fleetctl.cli.options import Common


@click.command(
    "snapshot",
    help="Print the live state that plan and drift read, as a file that they can be given instead of the server."
    " It holds secrets in clear." + options.PATH,
    epilog=options.examples("fleetctl snapshot --out live.json", "fleetctl snapshot fleet/ --token-file token"),
)
@options.common(options.fleet, options.errors, options.target)
@click.option("--out", type=FILE, metavar="FILE", help="Write it there, for its owner alone (mode 0600).")
def command(common: Common, out: Path | None) -> int:
    from fleetctl.flow.snapshot import snapshot

    options.check_apart(common.request, {"--out": out})
    return streams.deliver(snapshot(common.request, out))
