"""`fleetctl explain`."""

from __future__ import annotations

import click

from fleetctl.cli import offered, options, streams
from fleetctl.cli.named import PLACE
from fleetctl.cli.options import Common


@click.command(
    "explain",
    help="Say what WHAT is: a pool, by its key or id (what the files say of it and where, what is live, what happened"
    " last); an error code; a rule; a check of the fleet's own; a word of reports, such as tombstone or drift.changed;"
    " or a finding as it was printed.",
    epilog=options.examples(
        "fleetctl explain fra1-h100 --fleet fleet/",
        "fleetctl explain guard.archives",
        "fleetctl explain 'fleet.yaml:8:5: a repeated key [yaml.duplicateKey]'",
    ),
)
@click.argument("what", shell_complete=offered.explained)
@click.option(
    "--fleet",
    "path",
    type=PLACE,
    default=".",
    metavar="PATH",
    help="Where the fleet is; left out: here.",
)
@click.option("--offline", is_flag=True, help="Say what the files say; ask no server.")
@options.common(options.output, options.verbose, options.target)
def command(common: Common, what: str, offline: bool) -> int:
    if offline and (common.request.server is not None or common.request.token_file is not None):
        raise click.UsageError("--offline asks no server, and takes neither --server nor --token-file")
    from fleetctl.flow.explain import explain

    finished = explain(common.request, what, offline=offline)
    return streams.finish(finished, common.format, verbose=common.verbose)
