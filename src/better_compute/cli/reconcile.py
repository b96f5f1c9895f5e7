"""`better-compute reconcile`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from better_compute.bootstrap.outside import Outside
from better_compute.bootstrap.runtime import SYSTEM
from better_compute.cli.admin import database_option
from better_compute.cli.serve import billing_option
from better_compute.domain.escape import escape
from better_compute.reconcilers.rounds import Round


@click.command(epilog="Example: better-compute reconcile --database sqlite:///compute.db")
@database_option
@billing_option
def reconcile(database: str, billing_url: str | None) -> None:
    """Do now what a control plane that is served does every 30 seconds, and say what that was.

    Machines of a world join the pools that are there; what hosts provide follows inventories and policies; reservations
    that wait are placed, become active, or fail.
    """
    from better_compute.bootstrap.billing import billing_at
    from better_compute.bootstrap.plane import opened

    with (
        billing_at(billing_url) as billing,
        opened(database, SYSTEM, create=False, outside=Outside(billing=billing)) as plane,
    ):
        done = plane.reconcile()
    for refusal in done.refusals:
        click.echo(escape(refusal), err=True)
    click.echo("\n".join(_lines(done.round)) or "nothing was due")


def _lines(done: Round) -> Iterator[str]:
    if done.hosts:
        yield f"hosts: {done.hosts} brought up to date"
    parts = [f"{count} {state}" for state in ("placed", "active", "failed") if (count := done.reservations[state])]
    if parts:
        yield f"reservations: {', '.join(parts)}"
