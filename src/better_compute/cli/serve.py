"""`better-compute serve`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote

import click

from better_compute.bootstrap.outside import Outside
from better_compute.bootstrap.runtime import SYSTEM
from better_compute.cli.target import BILLING, DATABASE
from better_compute.domain.escape import escape
from better_compute.domain.policy.urls import mask_database

ADDRESS = "127.0.0.1:8080"
FILE = "sqlite:///better-compute.db"


billing_option = click.option(
    "--billing-url",
    metavar="URL",
    envvar=BILLING,
    show_envvar=True,
    help="Where billing is asked, for pools whose policy wants its word.",
)


@click.command(epilog="Example: better-compute serve --database postgresql://compute@db/compute --listen 0.0.0.0:8080")
@click.option(
    "--database",
    metavar="URL",
    envvar=DATABASE,
    show_envvar=True,
    default=FILE,
    show_default=True,
    help="sqlite:///PATH or postgresql://…",
)
@click.option("--listen", "address", metavar="HOST:PORT", default=ADDRESS, show_default=True, help="Port 0: any.")
@click.option("--world", type=click.Path(path_type=Path, dir_okay=False), help="What a new database starts with.")
@click.option(
    "--attestor",
    "attestors",
    metavar="NAME=KEYFILE",
    multiple=True,
    help="Who may let machines in beside join tokens, by a key. May be given several times.",
)
@billing_option
def serve(database: str, address: str, world: Path | None, attestors: Sequence[str], billing_url: str | None) -> None:
    """Serve the control plane over HTTP until SIGTERM or SIGINT; calls in flight are finished."""
    from better_compute.bootstrap import serving
    from better_compute.bootstrap.attestors import read_attestors
    from better_compute.bootstrap.billing import billing_at
    from better_compute.bootstrap.plane import opened

    known = read_attestors(attestors, SYSTEM.clock)
    with (
        closing(serving.listen(address)) as listening,
        billing_at(billing_url) as billing,
        opened(database, SYSTEM, world, outside=Outside(known, billing)) as plane,
    ):
        if not serving.is_private(listening):
            click.echo("Warning: tokens would cross the network in clear; put a proxy with TLS before this", err=True)
        if not plane.store.view(lambda tx: tx.credentials(None, 1, None)):
            click.echo(escape(_nobody(database)), err=True)
        serving.serve(plane, database, listening, _say)


def _say(text: str) -> None:
    click.echo(escape(f"better-compute: {text}"), err=True)


def _nobody(database: str) -> str:
    """What a new operator does next."""
    command = f"better-compute bootstrap --database {quote(mask_database(database))} --token-file root.token"
    return f"Nobody has a token yet: `{command}` writes the first one"
