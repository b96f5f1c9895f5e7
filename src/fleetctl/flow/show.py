"""A saved report, shown again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from better_compute.domain.problems import ComputeError
from fleetctl.errors import EXIT_ERROR, EXIT_OK, Stop
from fleetctl.flow.finished import Finished
from fleetctl.machine import disk
from fleetctl.report.saved import read_report

_STDIN = Path("-")


def show(file: Path, stdin: Callable[[], bytes]) -> Finished:
    """The report in `file`, of `-` in what `stdin` gives; nothing is asked of a server, so that it may be stale. Raises
    ComputeError where it is none, or was altered."""
    # 1. Read it.
    try:
        data = stdin() if file == _STDIN else disk.read_whole(file)
    except OSError as error:
        raise Stop(EXIT_ERROR, f"{file} cannot be read: {error.strerror}") from error
    # 2. See that it is whole; 3. say it.
    try:
        return Finished(read_report(data), EXIT_OK)
    except ComputeError as error:
        name = "stdin" if file == _STDIN else file
        raise ComputeError(*(replace(one, message=f"{name}: {one.message}") for one in error.problems)) from error
