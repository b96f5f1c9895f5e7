"""Every format by the name that `--format` takes, as a command renders it."""

from __future__ import annotations

import io
from typing import Any

from fleetctl.cli.streams import FORMATS

NAMES = tuple(FORMATS)


def rendered(name: str, report: Any, *, verbose: bool = False) -> str:
    """The report as it goes into a pipe."""
    return FORMATS[name](report, io.StringIO(), verbose)
