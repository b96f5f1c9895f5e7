"""`better-compute attest`: the evidence with which a machine joins, made by who holds an attestor's key."""

from __future__ import annotations

import json
from typing import Any

import click

from better_compute.bootstrap.runtime import SYSTEM
from better_compute.cli.flags import fields, option, stated
from better_compute.wire.inputs import NodesJoin

_MINUTE = 60_000
_NOT_CLAIMED = ("joinToken", "attested")


def _attest(**options: Any) -> None:
    """Write what a machine joins with, to be given to `nodes join --attested`: with the same flags as here, once."""
    from better_compute.bootstrap.attestors import read_attestor
    from better_compute.wire.claims import claim_of
    from better_compute.wire.reading import read

    attestor = read_attestor(options.pop("attestor"), SYSTEM.clock)
    minutes = options.pop("minutes")
    # Whoever asks is not claimed, so any tenant will do here.
    claim = claim_of(read(NodesJoin, {"tenantId": "any", **stated(options)}))
    evidence = attestor.evidence(claim, SYSTEM.clock() + minutes * _MINUTE, SYSTEM.entropy)
    click.echo(json.dumps({"attestor": attestor.name, "evidence": evidence}))


attest = click.Command(
    "attest",
    callback=_attest,
    params=[
        click.Option(["--attestor"], metavar="NAME=KEYFILE", required=True, help="The attestor, and its key."),
        *(option(field) for field in fields(NodesJoin) if field.encode_name not in _NOT_CLAIMED),
        click.Option(
            ["--minutes"],
            type=click.IntRange(1, 60),
            default=10,
            show_default=True,
            help="How long it counts.",
        ),
    ],
    help=_attest.__doc__,
    epilog="Example: better-compute attest --attestor site=site.key --pool-id POOL --inventory @machine.json",
)
