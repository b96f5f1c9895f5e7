"""Which fleet tests there are, and what each of them says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from better_compute.domain.problems import INVALID_INPUT, Problem
from fleetctl.desired import Place, times
from fleetctl.desired.faults import IGNORED, of_shape
from fleetctl.desired.locate import spell
from fleetctl.errors import EXIT_OK
from fleetctl.files import Document, FilesError, read_text
from fleetctl.files.walk import TESTS, FoundFile, file_problem, last_name, read_bytes, shown_name
from fleetctl.fleet_tests.shape import FleetTest

Expected = Mapping[str, Any]
"""An operation or a finding, as far as the test says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test. `live` of None: there is nothing yet; `now`, epoch milliseconds, of None: the live state's own time.
    `operations` and `findings` of None are not looked at; `others`: there may be more of them."""

    name: str
    place: Place
    fleet: Path
    live: Path | None
    now: int | None
    exit_code: int
    operations: Sequence[Expected] | None
    findings: Sequence[Expected] | None
    others: bool


def cases(path: Path) -> list[Case]:
    """The tests of a file, or of all `*.fleet-test.yaml` below a directory (but for folders that begin with a dot), in
    the order of their files. Raises FilesError with every problem of them, and where there is none."""
    home = path if path.is_dir() else path.parent
    names = {name: shown_name(name) for name in _names(path)} if path.is_dir() else {path.name: last_name(path)}
    problems: list[Problem] = []
    found: list[Case] = []
    for name, shown in names.items():
        try:
            found += _read(home / name, shown)
        except FilesError as error:
            problems += error.problems
    if not (found or problems):
        hint = f"a test of a fleet is a file named *{TESTS}"
        problems.append(file_problem(shown_name(str(path)), "test.none", "no fleet test is here", hint))
    if problems:
        raise FilesError(problems)
    return found


def _names(directory: Path) -> list[str]:
    """Relative to the directory, with forward slashes."""
    found = []
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.relpath(os.path.join(folder, name), directory) for name in names if _is_test(name)]
    return sorted(name.replace(os.sep, "/") for name in found)


def _is_test(name: str) -> bool:
    return name.endswith(TESTS) and not name.startswith(".")


def _read(path: Path, shown: str) -> Iterator[Case]:
    data = read_bytes(FoundFile(shown, str(path)))
    if isinstance(data, Problem):
        raise FilesError([data])
    documents = read_text(data, shown)
    if not documents:
        hint = "write expect: {}, or remove the file"
        raise FilesError([file_problem(shown, "files.empty", "the file says nothing", hint)])
    if problems := [problem for document in documents for problem in _problems(document)]:
        raise FilesError(problems)
    for number, document in enumerate(documents, 1):
        title = shown if len(documents) == 1 else f"{shown} ({number})"
        yield _case(Place(document), path.parent, title)


def _problems(document: Document) -> Iterator[Problem]:
    root = document.root
    for fault in of_shape(FleetTest, {key: value for key, value in root.items() if not key.startswith(IGNORED)}):
        source = document.source(fault.path, key=fault.name)
        yield Problem(INVALID_INPUT, fault.rule, fault.message, spell(root, fault.path), fault.hint, source=source)


def _case(place: Place, home: Path, title: str) -> Case:
    said, expect = place.document.root, place.document.root["expect"]
    return Case(
        name=said.get("name", title),
        place=place,
        fleet=home / said.get("fleet", "."),
        live=home / said["live"] if "live" in said else None,
        now=times.milliseconds(said["now"]) if "now" in said else None,
        exit_code=expect.get("exitCode", EXIT_OK),
        operations=expect.get("operations"),
        findings=expect.get("findings"),
        others=expect.get("others", False),
    )
