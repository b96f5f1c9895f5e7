"""The commands by name. What `--help` says of them stands here, so that it imports none of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from fleetctl import __version__

COMMANDS: Final = {
    "init": "Begin a fleet: commented files, and jobs for CI.",
    "validate": "Check fleet files offline: YAML, fields, rules.",
    "fmt": "Format fleet files; comments and anchors stay.",
    "plan": "Show what an apply would change, and what that does.",
    "apply": "Make the plan again, have it approved, and run it.",
    "drift": "Show what differs from the files: since when, by whom.",
    "show": "Show a report that was kept, in any format.",
    "diff": "Show what one fleet wishes differently from another.",
    "snapshot": "Keep the live state in a file, for plan and drift.",
    "export": "Write the live pools and offers as fleet files.",
    "graph": "Draw a plan: its operations, and which wait for which.",
    "explain": "Say what a pool, a check, a rule, a code or a finding is.",
    "test": "Run fleet tests: plans that are as they say, without a server.",
    "id": "Print the id of the pool that a key stands for.",
    "whoami": "Show server, identity, pins and missing rights.",
    "schema": "Print the JSON Schemas of files and reports.",
    "completion": "Print the completion script of a shell.",
}
"""Name -> what it does, in the order people meet them."""

_HELP = """GPU capacity as code: files say which pools exist and which tenant may use how much of each."""

_EPILOG = """\b
Examples:
  fleetctl validate fleet/
  fleetctl plan fleet/ --out plan.json
  fleetctl apply fleet/ --plan plan.json
  fleetctl drift fleet/ --format json

\b
Exit codes: 0 success, 1 error, 2 changes or drift, 3 blocked, 4 stale or another target,
5 done in part, 64 usage, 130 and 143 interrupted.

\b
Environment: FLEETCTL_TOKEN holds the token. FLEETCTL_SERVER, FLEETCTL_TENANT and FLEETCTL_CALLER pin
what the files say; files that name no server or caller take them from here. NO_COLOR: no colour.

\b
Completion, for bash (zsh and fish alike; see fleetctl completion --help):
  fleetctl completion bash > ~/.local/share/bash-completion/completions/fleetctl
"""


class Lazy(click.Group):
    """A group that imports a command when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"fleetctl.cli.{cmd_name}_command").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        rows: Sequence[tuple[str, str]] = list(COMMANDS.items())
        with formatter.section("Commands"):
            formatter.write_dl(rows)


fleetctl = Lazy(
    "fleetctl",
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
click.version_option(__version__, message="fleetctl %(version)s", help="Print the version.")(fleetctl)
