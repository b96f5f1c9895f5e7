"""`better-compute GROUP METHOD`: one command for each operation of the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from better_compute.api.routes import ROUTES
from better_compute.cli import SETTINGS
from better_compute.cli.flags import TENANT, all_fields, example, fields, option, stated
from better_compute.cli.output import show
from better_compute.cli.target import OPTIONS, Target
from better_compute.domain.ids import is_id
from better_compute.domain.problems import NOT_FOUND, ComputeError


def command(operation: str) -> click.Command:
    """The command of an operation, its flags made from the operation's input."""
    route = ROUTES[operation]
    group, _, method = operation.partition("/")

    def callback(**options: Any) -> None:
        target = Target.taken_from(options)
        call(target, operation, stated(options))

    return click.Command(
        method,
        callback=callback,
        params=[*map(option, fields(route.input)), *OPTIONS],
        help=route.run.__doc__,
        epilog=f"Example: better-compute {group} {method}{example(route.input)}",
        context_settings=SETTINGS,
    )


def call(target: Target, operation: str, body: Mapping[str, Any]) -> None:
    """Call an operation as the target's tenant, and print what it answers."""
    with target.opened() as connection:
        tenant = {} if TENANT in body or not needs_tenant(operation) else {TENANT: target.tenant_of(connection)}
        try:
            data = connection.client.call(operation, {**tenant, **body})
        except ComputeError as error:
            raise _hinted(error, body) from error
    show(operation, data, target.form)


def _hinted(error: ComputeError, body: Mapping[str, Any]) -> ComputeError:
    """The error, with the way from a key to an id where a key was given for the id of a pool that is not there."""
    pool_id = body.get("poolId")
    [first, *others] = error.problems
    if first.code != NOT_FOUND or first.rule != "pool.owner" or not isinstance(pool_id, str) or is_id("pool", pool_id):
        return error
    hint = f"{pool_id} is no id of a pool; if it is a key of a fleet, `fleetctl id {pool_id}` tells the id"
    return ComputeError(replace(first, hint=hint), *others)


def needs_tenant(operation: str) -> bool:
    """Whether the operation cannot do without a tenant to act as."""
    return any(field.encode_name == TENANT and field.required for field in all_fields(ROUTES[operation].input))
