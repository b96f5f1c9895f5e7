"""The command line: flags in, a report out, and an exit code that a script can trust."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import FrameType

import click

from fleetctl.cli import failure, streams
from fleetctl.cli.group import fleetctl
from fleetctl.errors import EXIT_INTERRUPTED, EXIT_OK


def run(arguments: Sequence[str]) -> int:
    """Run one command and say how it ended: the frozen exit code."""
    streams.prepare()
    signal.signal(signal.SIGTERM, _end)
    return streams.end(_run(arguments))


def _run(arguments: Sequence[str]) -> int:
    try:
        code = fleetctl.main(list(arguments), prog_name="fleetctl", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_OK
    except (Exception, KeyboardInterrupt, click.Abort) as error:
        if isinstance(error, OSError) and (lost := streams.end(EXIT_OK)):
            return lost  # of what click printed, such as help
        return failure.tell(error)
    return code if isinstance(code, int) else EXIT_OK


def _end(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM where nothing is under way that must be finished; see `signals` for the rest."""
    raise SystemExit(EXIT_INTERRUPTED["SIGTERM"])
