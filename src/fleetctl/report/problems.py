"""Problems and places as reports have them, and the report that holds nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.policy.urls import mask_message
from better_compute.domain.problems import Problem, Source
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from fleetctl.report import forms


def source(place: Source) -> forms.Source:
    return {"file": mask_message(place.file), "line": place.line, "column": place.column}


def problem(found: Problem) -> forms.Problem:
    """Texts that a server or a file had a part in may hold the user part of a URL."""
    return {
        "code": mask_message(found.code),
        "rule": mask_message(found.rule),
        "message": mask_message(found.message),
        "path": mask_message(found.path),
        "hint": mask_message(found.hint),
        "severity": found.severity,
        "source": source(found.source) if found.source else None,
    }


def worst_first(found: Iterable[Problem]) -> list[forms.Problem]:
    """Errors, warnings, then what was not checked; in each the order they were found in."""
    order = {"error": 0, "warning": 1, "unchecked": 2}
    return [problem(p) for p in sorted(found, key=lambda p: order[p.severity])]


def in_files(found: Problem) -> tuple[bool, str, int, int, str]:
    """The order of files, lines and columns; what stands in no file comes last, by name."""
    place = found.source or Source("", 0, 0)
    return found.source is None, place.file, place.line, place.column, found.path


def severities(found: Iterable[Problem]) -> Counter[str]:
    return Counter(p.severity for p in found)


def of_problems(found: Sequence[Problem]) -> forms.ErrorReport:
    """Why there is no other report."""
    return {"formatVersion": FORMAT_VERSION, "kind": "error", "problems": [problem(p) for p in found]}
