"""`fleetctl validate`."""

from __future__ import annotations

import click

from fleetctl.cli import options, streams
from fleetctl.cli.options import Common


@click.command(
    "validate",
    help="Check fleet files offline: YAML, fields, and every rule that needs no live state." + options.PATH,
    epilog=options.examples("fleetctl validate", "fleetctl validate fleet/ --format json"),
)
@options.common(options.fleet, options.output)
def command(common: Common) -> int:
    from fleetctl import flow, report
    from fleetctl.errors import EXIT_ERROR
    from fleetctl.files import FilesError

    try:
        finished = flow.validate(common.request())
    except FilesError as error:
        if common.format == "text":
            raise  # told like the faulty files of any other command
        finished = flow.Finished(report.of_validate(error.problems, None), EXIT_ERROR)
    return streams.finish(finished, common.format, verbose=common.verbose)
