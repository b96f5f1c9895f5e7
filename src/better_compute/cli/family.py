"""`better-compute family`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from better_compute.domain.families import family_of

UNKNOWN = "unknown"


@click.command(epilog='Example: better-compute family "NVIDIA H100 80GB HBM3"')
@click.argument("names", metavar="[NAME]...", nargs=-1)
def family(names: tuple[str, ...]) -> None:
    """Print the GPU family of each NVML name, or `unknown`: one a line, in the same order.

    Without a NAME, names are read from standard input, one a line.
    """
    given: Iterable[str] = names or (line.rstrip("\r\n") for line in sys.stdin)
    for name in given:
        click.echo(family_of(name) or UNKNOWN)
