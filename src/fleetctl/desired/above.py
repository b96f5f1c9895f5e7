"""A part of a fleet that was named as if it were a whole one: a folder of it, or one of its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from better_compute.domain.problems import INVALID_INPUT, Problem
from fleetctl.desired.faults import MISSING
from fleetctl.desired.roots import NEEDED
from fleetctl.files.fleet import FIRST
from fleetctl.words import joined

_MOST = 5
"""So many directories above are looked at."""
_EMPTY = "files.empty"


def told(path: Path, problems: Sequence[Problem]) -> Sequence[Problem]:
    """The problems of the documents at `path`. Where these lack what makes a fleet, and a directory above has it, that
    is told first, and not all that the other files of that fleet would say."""
    lacks = [problem for problem in problems if problem.rule == MISSING and problem.path in NEEDED]
    is_empty = all(problem.rule == _EMPTY for problem in problems)
    if not (len(lacks) == len(NEEDED) or is_empty) or (fleet := _above(path)) is None:
        return problems
    hint = f"you are inside a fleet: name {fleet}"
    if is_empty:
        return [replace(problem, hint=hint) for problem in problems]
    message = f"this is a part of the fleet in {fleet}, which says {joined([*NEEDED])}, and no fleet by itself"
    first = Problem(INVALID_INPUT, "fleet.part", message, hint=hint, source=lacks[0].source)
    return [first, *(problem for problem in problems if problem.rule != MISSING)]


def _above(path: Path) -> str | None:
    """The nearest directory around `path` with a fleet's first file, as the way to it from here; none beyond the top of
    the repository."""
    whole = path.absolute()
    around = [whole, *whole.parents] if whole.is_dir() else [*whole.parents]
    for directory in islice(around, _MOST + 1):
        if any((directory / name).is_file() for name in FIRST):
            return None if directory == whole or whole.name in FIRST else os.path.relpath(directory)
        if (directory / ".git").exists():
            return None
    return None
