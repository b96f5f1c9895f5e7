"""`better-compute bootstrap`, `token`, `world` and `migrate`: what is done to a database directly."""

from __future__ import annotations

from pathlib import Path

import click

from better_compute.bootstrap.runtime import SYSTEM
from better_compute.cli.target import DATABASE
from better_compute.domain.escape import escape

database_option = click.option(
    "--database",
    metavar="URL",
    envvar=DATABASE,
    show_envvar=True,
    required=True,
    help="sqlite:///PATH or postgresql://…",
)


@click.command(epilog="Example: better-compute bootstrap --database sqlite:///compute.db --token-file root.token")
@database_option
@click.option("--world", type=click.Path(path_type=Path, dir_okay=False), help="A world file to add.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Where root's first token is written, with mode 0600.",
)
def bootstrap(database: str, world: Path | None, token_file: Path) -> None:
    """Prepare a database and write root's first token. Run again it changes nothing."""
    from better_compute.bootstrap.plane import opened
    from better_compute.bootstrap.tokens import first_token
    from better_compute.service.actions import ROOT_ADMIN

    with opened(database, SYSTEM, world) as plane:
        if world is not None:
            plane.add_world(world)
        made = first_token(plane, token_file)
    _say_made(token_file, ROOT_ADMIN, made)


@click.command(epilog="Example: better-compute token sa_fleet --database sqlite:///compute.db --token-file fleet.token")
@click.argument("identity")
@database_option
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the token is written, with mode 0600, in place of stdout. A file that holds one stays as it is.",
)
def token(identity: str, database: str, token_file: Path | None) -> None:
    """Make a token for an identity, and print it. It is shown this once."""
    from better_compute.bootstrap.plane import opened
    from better_compute.bootstrap.tokens import new_token, token_in_file

    with opened(database, SYSTEM, create=False) as plane:
        if token_file is None:
            click.echo(new_token(plane, identity))
        else:
            _say_made(token_file, identity, token_in_file(plane, identity, token_file))


@click.command(epilog="Example: better-compute world world.yaml --database sqlite:///compute.db")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@database_option
def world(file: Path, database: str) -> None:
    """Add the tenants, sites, identities, accounts and machines of a world file.

    What is there already stays as it is; the same file twice changes nothing.
    """
    from better_compute.bootstrap.plane import opened

    with opened(database, SYSTEM, file) as plane:
        count = plane.add_world(file)
        click.echo("a new database" if plane.new else f"{count} added" if count else "nothing to add", err=True)


@click.command(epilog="Example: better-compute migrate --database postgresql://compute@db/compute")
@database_option
def migrate(database: str) -> None:
    """Bring a database to this build's schema. Any command does so when it opens one."""
    from better_compute.bootstrap.plane import opened_store
    from better_compute.storage.schema import NEWEST

    opened_store(database, SYSTEM).close()
    click.echo(f"the schema is {NEWEST}", err=True)


def _say_made(file: Path, identity: str, made: bool) -> None:
    click.echo(escape(f"{file} holds {identity}'s token{'' if made else ', as before'}"), err=True)
