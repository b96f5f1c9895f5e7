"""Every format by the name that `--format` takes, as a command renders it."""

from __future__ import annotations

import io
from typing import Any

from fleetctl.cli.streams import FORMATS
from fleetctl.look import Look
from fleetctl.render import text

NAMES = tuple(FORMATS)


def lines(report: Any, **how: Any) -> list[str]:
    """The report as a terminal shows it."""
    return text.render(report, Look(**how)).splitlines()


def rendered(name: str, report: Any, *, verbose: bool = False) -> str:
    """The report as it goes into a pipe."""
    return FORMATS[name](report, io.StringIO(), verbose)
