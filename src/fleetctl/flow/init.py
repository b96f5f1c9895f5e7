"""A fleet to start with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fleetctl import starter
from fleetctl.errors import EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.report.of_init import of_init
from fleetctl.starter import Choices


def init(directory: Path, choices: Choices, more: Mapping[str, str]) -> Finished:
    """Write a starter fleet, and `more` texts by their names below it. Raises Stop where anything is there already."""
    return Finished(of_init(starter.start(directory, choices, more)), EXIT_OK)
