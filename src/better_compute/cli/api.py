"""`better-compute api`: any operation, its input spelled field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from better_compute.cli.flags import TENANT, json_value
from better_compute.cli.operations import call
from better_compute.cli.target import OPTIONS, Target, read_text
from better_compute.domain.problems import ComputeError, did_you_mean
from better_compute.service.actions import ACTIONS


@click.command(
    params=list(OPTIONS),
    epilog="Example: better-compute api pools.offer poolId=pool_41ajr0h7xph5z9bavercrty41f toTenantId=acme "
    "quota:='{\"gpu\": 32}' policy:=@policy.json",
)
@click.argument("operation", metavar="GROUP.METHOD")
@click.argument("fields", metavar="[FIELD]...", nargs=-1)
def api(operation: str, fields: tuple[str, ...], **options: Any) -> None:
    """Call an operation of the API.

    A FIELD reads key=value for a string, key:=value for any JSON value; @FILE as the value reads it from a file, and
    @- from standard input.
    """
    name = operation.replace(".", "/", 1)
    if name not in ACTIONS:
        hint = did_you_mean(name, ACTIONS).replace("/", ".")
        raise click.UsageError(f"there is no operation {operation!r}. {hint}".strip())
    body: dict[str, Any] = {}
    for field in fields:
        key, value = _parsed(field)
        if key in body:
            raise click.UsageError(f"{key} stands twice")
        body[key] = value
    target = Target.taken_from(options)
    if TENANT in body and target.tenant is not None:
        raise click.UsageError(f"give --tenant or {TENANT}, not both")
    call(target, name, body)


def _parsed(field: str) -> tuple[str, Any]:
    key, equals, text = field.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not equals or not key:
        raise click.UsageError(f"{field!r} reads neither key=value nor key:=json")
    if text.startswith("@"):
        text = read_text(Path(text[1:]), key)
    if not is_json:
        return key, text
    try:
        return key, json_value(text)
    except ComputeError as error:
        raise click.UsageError(f"{key}: {error}") from None
