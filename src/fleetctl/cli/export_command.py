"""`fleetctl export`."""

from __future__ import annotations

from pathlib import Path

import click

from fleetctl.cli import options, streams
from fleetctl.cli.named import PLACE
from fleetctl.cli.options import Common


@click.command(
    "export",
    help="Print the live pools and offers as fleet files whose plan is empty. They hold secrets in clear. The root"
    " fields and checks are those of the fleet at PATH, its guards among them; what its defaults and policies say"
    " stands in each entry. Where no fleet is, the variables FLEETCTL_SERVER, FLEETCTL_TENANT and FLEETCTL_CALLER say"
    " the root fields, and FLEETCTL_TOKEN who asks.",
    epilog=options.examples(
        "fleetctl export fleet/ --out exported/",
        "FLEETCTL_TENANT=root FLEETCTL_CALLER=sa_fleet \\\n"
        "    fleetctl export --server https://compute.example.com --token-file token > fleet.yaml",
    ),
)
@options.common(options.fleet, options.output, options.target)
@click.option(
    "--out",
    type=PLACE,
    metavar="DIR",
    help="Write fleet.yaml, a file for each site, and their schema there, for their owner alone; replaces no file.",
)
def command(common: Common, out: Path | None) -> int:
    from fleetctl.cli import schemas
    from fleetctl.flow.export import export

    made = export(common.request, out, schemas.text("fleet.v1"), as_json=common.format.name == "json")
    return streams.deliver(made)
