"""The command `better-compute`: its groups and commands by name; a command's code is loaded when it runs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

import click

from better_compute import __version__
from better_compute.domain.problems import did_you_mean
from better_compute.service.actions import ACTIONS

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

COMMANDS = {
    "serve": ("serve:serve", "Serve the control plane over HTTP."),
    "bootstrap": ("admin:bootstrap", "Prepare a database and write root's first token."),
    "token": ("admin:token", "Make a token for an identity, directly in the database."),
    "world": ("admin:world", "Add tenants, sites, identities and machines from a file."),
    "migrate": ("admin:migrate", "Bring a database to this build's schema."),
    "reconcile": ("reconcile:reconcile", "Do now what is due."),
    "attest": ("attest:attest", "Make the evidence with which a machine joins."),
    "billing": ("billing:billing", "Stand in for billing, for tests."),
    "family": ("family:family", "Tell the GPU family of NVML names."),
    "api": ("api:api", "Call any operation by its name."),
}
"""Name -> where its code is, and its line in the overview."""

GROUPS = {
    "pools": "Pools: create, list, change, offer, archive.",
    "quotas": "Quota rows of pools.",
    "preflight": "Ask what operations would do.",
    "sites": "Sites.",
    "providerAccounts": "Provider accounts.",
    "nodes": "Machines and their join tokens.",
    "tenants": "Tenants.",
    "identities": "Identities, and who am I.",
    "credentials": "Tokens of identities.",
    "reservations": "What tenants book in pools.",
    "usage": "Hours that were used.",
    "events": "What happened.",
    "system": "Which control plane this is.",
}
"""Group of operations -> its line in the overview."""


class Overview(click.Group):
    """Groups and commands that are listed without being loaded."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return [*COMMANDS, *GROUPS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in GROUPS:
            return Methods(cmd_name, help=GROUPS[cmd_name], context_settings=SETTINGS, epilog=_example(cmd_name))
        if cmd_name not in COMMANDS:
            raise unknown(cmd_name, self.list_commands(ctx), ctx)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"better_compute.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
        with formatter.section("Operations (each GROUP has methods)"):
            formatter.write_dl(list(GROUPS.items()))


class Methods(click.Group):
    """The operations of one group."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [operation.partition("/")[2] for operation in ACTIONS if operation.startswith(f"{self.name}/")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            raise unknown(cmd_name, self.list_commands(ctx), ctx)
        from better_compute.cli.operations import command

        return command(f"{self.name}/{cmd_name}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with the whole of its first paragraph, which click would cut."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first(command)) for name, command in commands if command])


def unknown(name: str, known: Iterable[str], ctx: click.Context | None = None) -> click.UsageError:
    """The error for a command that there is none of."""
    near = did_you_mean(name, known)
    return click.UsageError(f"there is no command {name!r}{near and '; '}{near}", ctx)


def _first(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _example(group: str) -> str:
    method = next(name for name in ACTIONS if name.startswith(f"{group}/")).partition("/")[2]
    return f"Example: better-compute {group} {method} --help"


@click.group(
    cls=Overview,
    context_settings=SETTINGS,
    epilog=(
        "Example: better-compute pools list --tenant acme\n\n"
        'Shell completion is click\'s: for bash, eval "$(_BETTER_COMPUTE_COMPLETE=bash_source better-compute)".'
    ),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """The control plane of GPU capacity: serve it, prepare its database, call its operations."""
