"""`better-compute billing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import click

from better_compute.cli.flags import Counts
from better_compute.domain.escape import escape
from better_compute.domain.ids import KEY_SAYS, is_key

ADDRESS = "127.0.0.1:8090"


@click.command(epilog="Example: better-compute billing --limit acme=64 --limit globex=0")
@click.option("--listen", "address", metavar="HOST:PORT", default=ADDRESS, show_default=True, help="Port 0: any.")
@click.option(
    "--limit",
    "limits",
    type=Counts(),
    multiple=True,
    metavar="TENANT=N",
    help="So many atoms may the tenant have in one reservation; others may have any number. May be given several "
    "times; or a JSON object, or @FILE.",
)
def billing(address: str, limits: Sequence[Mapping[str, int]]) -> None:
    """Stand in for billing, for tests and demonstrations, until SIGTERM or SIGINT.

    `better-compute serve --billing-url` asks it about pools whose policy has `admission: {budgetCheck: meter}`.
    """
    from better_compute.bootstrap import serving
    from better_compute.bootstrap.billing_stand_in import stand_in

    handle = stand_in(_checked(limits))
    with closing(serving.listen(address)) as listening:
        said = f"better-compute: billing for tests is listening on {serving.url_of(listening)}"
        serving.answer(handle, listening, lambda: click.echo(escape(said), err=True))


def _checked(limits: Sequence[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for tenant_id, limit in (pair for some in limits for pair in some.items()):
        if not is_key(tenant_id):
            raise click.BadParameter(f"{tenant_id!r} is no tenant: {KEY_SAYS}", param_hint="--limit")
        if tenant_id in found:
            raise click.BadParameter(f"{tenant_id} stands twice", param_hint="--limit")
        if type(limit) is not int or limit < 0:
            raise click.BadParameter(f"{tenant_id}: a limit is a whole number, 0 or more", param_hint="--limit")
        found[tenant_id] = limit
    return found
