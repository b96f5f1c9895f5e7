"""`fleetctl show`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleetctl.cli import options, streams
from fleetctl.cli.named import NamedFile
from fleetctl.cli.options import Common


@click.command(
    "show",
    help="Show a report in any format, also one that is stale: what any command kept (plan --out, drift --out, apply "
    "--report), or printed as JSON. FILE of - is stdin.",
    epilog=options.examples("fleetctl show plan.json", "fleetctl show plan.json --format markdown"),
)
@click.argument("file", type=NamedFile(path_type=Path, allow_dash=True))
@options.common(options.metrics, options.verbose)
def command(common: Common, file: Path) -> int:
    from fleetctl.flow.show import show
    from fleetctl.machine.disk import read_all

    finished = show(file, lambda: read_all(sys.stdin.buffer))
    return streams.finish(finished, common.format, verbose=common.verbose)
