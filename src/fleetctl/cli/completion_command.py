"""`fleetctl completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fleetctl.cli import options, streams

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FLEETCTL_COMPLETE"


@click.command(
    "completion",
    help="Print the script that completes commands, flags and their values in SHELL. Kept in a file, it starts nothing "
    "when a shell begins; fleetctl is asked when Tab is pressed.",
    epilog=options.examples(
        "fleetctl completion bash > ~/.local/share/bash-completion/completions/fleetctl",
        "fleetctl completion zsh > ~/.zfunc/_fleetctl",
        "fleetctl completion fish > ~/.config/fish/completions/fleetctl.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    from fleetctl.cli.group import fleetctl  # not at the top: the group imports its commands

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(fleetctl, {}, "fleetctl", VARIABLE)
    # Not `source()`: it asks the shell for its version, and the script is for another machine perhaps.
    return streams.write(script.source_template % script.source_vars())
