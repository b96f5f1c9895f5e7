"""`fleetctl schema`."""

from __future__ import annotations

import click

from better_compute.domain.problems import did_you_mean
from fleetctl.cli import options, streams


def _names(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    from fleetctl.cli import schemas  # not at the top: `--help` needs none

    return [name for name in schemas.NAMES if name.startswith(begun)]


@click.command(
    "schema",
    help="Print the JSON Schema NAME; without NAME, the names there are.",
    epilog=options.examples("fleetctl schema", "fleetctl schema fleet.v1 > fleet.v1.json"),
)
@click.argument("name", required=False, shell_complete=_names)
def command(name: str | None) -> int:
    from fleetctl.cli import schemas

    if name is None:
        return streams.write("".join(f"{each}\n" for each in schemas.NAMES))
    if name not in schemas.NAMES:
        raise click.UsageError(f"there is no schema {name!r}; {did_you_mean(name, schemas.NAMES)}".rstrip("; "))
    return streams.write(schemas.text(name))
