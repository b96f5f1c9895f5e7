"""A fleet to start with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fleetctl import starter
from fleetctl.errors import EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.report.of_init import of_init
from fleetctl.starter import Choices
from fleetctl.words import listed


def init(directory: Path, choices: Choices, more: Mapping[str, str]) -> Finished:
    """Write a starter fleet, and `more` texts by their names below it. Raises Stop where anything is there already."""
    started = starter.start(directory, choices, more)
    remarks = []
    if others := [str(directory / name) for name in started.others]:
        be = "is" if len(others) == 1 else "are"
        told = f"{listed(others, 'file')} {be} there already, and read as a part of this fleet"
        remarks.append(f"{told}: move away what is none of it, or name it in `exclude` in fleet.yaml")
    return Finished(of_init(started), EXIT_OK, tuple(remarks))
