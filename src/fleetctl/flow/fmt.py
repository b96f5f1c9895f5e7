"""Formatting: the files of a fleet, each written anew where that changes it."""

from __future__ import annotations

from pathlib import Path

from fleetctl.errors import EXIT_ERROR, EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.formatting import format_fleet
from fleetctl.report.of_format import of_format


def fmt(path: Path, *, check: bool) -> Finished:
    """Format the fleet at `path`; `check`: only say what would change, and make that an error. A file that cannot be
    formatted is one too. Raises FilesError."""
    files = format_fleet(path, check=check)
    wrong = any(file.status in ("unformatted", "left") for file in files)
    return Finished(of_format(files, check=check), EXIT_ERROR if wrong else EXIT_OK)
