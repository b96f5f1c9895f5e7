"""Files of a fleet as they are to be, and what becomes of each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import yaml

from better_compute.domain.problems import Problem
from fleetctl.files import FilesError
from fleetctl.files.fleet import fleet_files
from fleetctl.files.walk import FoundFile, read_bytes
from fleetctl.formatting.formatted import UnsafeError, format_bytes
from fleetctl.machine import disk

Status = Literal["formatted", "unformatted", "unchanged", "left"]
"""`unformatted`: it would be formatted, and nothing was to be written; `left`: it cannot be, and is as it was."""


@dataclass(frozen=True, slots=True)
class FormattedFile:
    """What became of a file; `why` it was left, empty where it was not; `line` is the first one that would change, or
    would say something else."""

    file: str
    status: Status
    why: str = ""
    line: int | None = None


def format_fleet(path: Path, *, check: bool) -> list[FormattedFile]:
    """Format every file of the fleet at `path`, in the order of names; with `check` nothing is written. Raises
    FilesError where the fleet cannot be read: then nobody knows which files are of it, and nothing is written."""
    return [_format(found, check) for found in fleet_files(path)]


def _format(found: FoundFile, check: bool) -> FormattedFile:
    data = read_bytes(found)
    if isinstance(data, Problem):
        return FormattedFile(found.file, "left", data.message)
    try:
        made = format_bytes(data, found.file)
        if made == data:
            return FormattedFile(found.file, "unchanged")
        if check:
            return FormattedFile(found.file, "unformatted", line=_first_changed(data, made))
        disk.rewrite(Path(found.real), made)
    except (FilesError, yaml.YAMLError):
        return FormattedFile(found.file, "left", "it was changed while it was read")
    except UnsafeError as error:
        why = f"formatted it would not say the same: {error.what} would differ"
        return FormattedFile(found.file, "left", why, error.line)
    except OSError as error:
        return FormattedFile(found.file, "left", f"it cannot be written: {error.strerror or error}")
    return FormattedFile(found.file, "formatted")


def _first_changed(data: bytes, made: bytes) -> int:
    """The first line of two different texts that differs."""
    lines = zip_longest(data.splitlines(keepends=True), made.splitlines(keepends=True))
    return next(number for number, (before, after) in enumerate(lines, 1) if before != after)
