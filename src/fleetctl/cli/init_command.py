"""`fleetctl init`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fleetctl.cli import options, streams
from fleetctl.cli.named import Named
from fleetctl.cli.options import Common

_SCHEMAS = ("fleet.v1", "fleet-test.v1", "world.v1")
_FIELDS = {"--fleet": "fleet", "--tenant": "tenantId", "--caller": "caller", "--server": "server"}
"""Flag -> the field of the files that it fills."""


@click.command(
    "init",
    help="Begin a fleet in DIR, or here: commented files that work at once with an embedded control plane, and for "
    "GitHub the jobs that plan, apply and look for drift, and CODEOWNERS on pins and guards. Where any of the files "
    "is there already, nothing is written; but .gitignore and CODEOWNERS, wherever GitHub reads it, may be there: they "
    "stay as they are, and the lines to add are shown.",
    epilog=options.examples("fleetctl init fleet", "fleetctl init fleet --server https://compute.example.com"),
)
@click.argument("directory", type=Named(path_type=Path, file_okay=False), default=".", metavar="[DIR]")
@click.option("--fleet", "name", default="default", metavar="NAME", help="The fleet's name.")
@click.option(
    "--tenant",
    envvar="FLEETCTL_TENANT",
    default="root",
    metavar="T",
    show_default=True,
    help="The owner of the pools.",
)
@click.option(
    "--caller",
    envvar="FLEETCTL_CALLER",
    default="sa_fleet",
    metavar="C",
    show_default=True,
    help="The identity that applies.",
)
@click.option("--server", "url", envvar="FLEETCTL_SERVER", metavar="URL", help="A served control plane.")
@click.option("--no-ci", is_flag=True, help="No files for GitHub.")
@options.common(options.output)
def command(common: Common, directory: Path, **given: Any) -> int:
    from fleetctl.cli import schemas
    from fleetctl.flow.init import init
    from fleetctl.starter import Choices

    names = {"--fleet": "name", "--tenant": "tenant", "--caller": "caller", "--server": "url"}
    _check({flag: given[name] for flag, name in names.items()})
    choices = Choices(
        fleet=given["name"],
        tenant=given["tenant"],
        caller=given["caller"],
        server=given["url"],
        ci=not given["no_ci"],
    )
    wanted = [name for name in _SCHEMAS if name != "world.v1" or choices.server is None]
    texts = {f"schemas/{name}.json": schemas.text(name) for name in wanted}
    return streams.finish(init(directory, choices, texts), common.format)


def _check(given: Mapping[str, str | None]) -> None:
    """What is written into files must be what reading takes. Raises click.UsageError."""
    from fleetctl.desired.faults import faults  # not at the top: `--help` reads nothing
    from fleetctl.files import read_text

    flags = {_FIELDS[flag]: flag for flag in given}
    said = json.dumps({_FIELDS[flag]: text for flag, text in given.items() if text is not None})
    for fault in faults(read_text(said.encode(), "")[0].root):
        if flag := flags.get(str(fault.path[0])):
            raise click.UsageError(f"{flag} {given[flag]!r}: {fault.message}")
