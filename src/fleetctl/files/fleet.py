"""A fleet: every document of a directory, or of one file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from better_compute.domain.problems import Problem, did_you_mean
from fleetctl.errors import FilesError
from fleetctl.files.document import Documents
from fleetctl.files.reader import read_text
from fleetctl.files.scalars import Scalars
from fleetctl.files.unread import Unread
from fleetctl.files.walk import FoundFile, Listing, file_problem, inside, last_name, list_files, read_bytes, shown_name

FIRST = ("fleet.yaml", "fleet.yml")
"""The names of the file that usually holds the root fields."""
_NEAR = 1000
"""Among so many names beside a missing one it is looked for another one that is meant."""


def fleet_files(path: Path) -> list[FoundFile]:
    """The files of the documents that `read_fleet` reads, and those that hold comments alone, in the order of names.

    Raises FilesError as it does.
    """
    name = str(path)
    return (_directory(name) if os.path.isdir(name) else _file(path)).files()


def read_fleet(path: Path) -> Documents:
    """The documents of a fleet: of a directory with all below it, or of one file.

    Not read: names that begin with a dot, `*.fleet-test.yaml`, folders named `expected`, the file that `server.world`
    of a document names (relative to its file) and what its `exclude` (globs, relative to the fleet) names. What
    `fleet.yaml` at the top says holds first, so that a file it leaves out says nothing; then what all others say.

    Raises FilesError with the problems of all files; also when there is no document at all.
    """
    name = str(path)
    return (_directory(name) if os.path.isdir(name) else _file(path)).documents()


def _directory(name: str) -> _Reader:
    listing = list_files(name)
    reader = _Reader()
    first = [listing.files[file] for file in FIRST if file in listing.files]
    reader.read(first)
    unread = Unread(listing.root, reader.documents())
    reader.read(found for found in _ordered(listing) if found not in unread)
    unread_too = Unread(listing.root, reader.documents())
    for found in [found for found in listing.files.values() if found in unread_too]:
        reader.forget(found)
    problems = [problem for file, problem in listing.problems.items() if not unread_too.names(file)]
    return reader.checked(problems, shown_name(name))


def _ordered(listing: Listing) -> list[FoundFile]:
    return [listing.files[file] for file in sorted(listing.files)]


def _file(path: Path) -> _Reader:
    name, shown = str(path), last_name(path)
    reader = _Reader()
    real = os.path.realpath(name)
    if _is_stream(name):
        message, hint = "a fleet is read from files, and not from stdin or a device", "name its directory"
        return reader.checked([file_problem(shown, "files.kind", message, hint)], shown)
    if os.path.islink(name) and not inside(real, os.path.realpath(path.parent)):
        message, hint = "the link leads out of its directory", "name the file itself"
        return reader.checked([file_problem(shown, "files.link", message, hint)], shown)
    if not os.path.lexists(real):
        message = "cannot be read: no such file or directory"
        return reader.checked([file_problem(shown, "files.unreadable", message, _near(path))], shown)
    reader.read([FoundFile(shown, real)])
    return reader.checked([], shown)


def _near(path: Path) -> str:
    """What to do where nothing has this name: something beside it may have almost that."""
    with suppress(OSError):
        names = sorted(name for name in os.listdir(path.parent) if not name.startswith("."))
        if near := did_you_mean(path.name, map(shown_name, names[:_NEAR])):
            return near
    return "check that it exists and that you may read it"


def _is_stream(name: str) -> bool:
    """Whether a path stands for stdin, a device or a pipe, whatever is behind it now."""
    if name == "-" and not os.path.lexists(name):
        return True
    return os.path.abspath(name).startswith("/dev/") or (os.path.exists(name) and not os.path.isfile(name))


class _Reader:
    """Reads files once each, and keeps the documents and problems of each apart."""

    def __init__(self) -> None:
        self._scalars = Scalars()
        self._found: dict[str, FoundFile] = {}
        self._documents: dict[str, Documents] = {}
        self._problems: dict[str, tuple[Problem, ...]] = {}

    def read(self, files: Iterable[FoundFile]) -> None:
        for found in files:
            if found.file in self._found:
                continue
            self._found[found.file] = found
            self._documents[found.file] = Documents()
            data = read_bytes(found)
            try:
                if isinstance(data, Problem):
                    raise FilesError([data])
                self._documents[found.file] = read_text(data, found.file, self._scalars)
            except FilesError as error:
                self._problems[found.file] = error.problems

    def forget(self, found: FoundFile) -> None:
        self._found.pop(found.file, None)
        self._documents.pop(found.file, None)
        self._problems.pop(found.file, None)

    def documents(self) -> Documents:
        found = Documents(document for file in sorted(self._documents) for document in self._documents[file])
        found.blank = {file: line for each in self._documents.values() for file, line in each.blank.items()}
        return found

    def files(self) -> list[FoundFile]:
        return [self._found[file] for file in sorted(self._found)]

    def checked(self, problems: Iterable[Problem], place: str) -> _Reader:
        """This, if nothing is wrong and there are documents."""
        found = [*problems, *(problem for each in self._problems.values() for problem in each)]
        if found:
            raise FilesError(sorted(found, key=lambda p: (p.source.file, p.source.line) if p.source else ("", 0)))
        if any(self._documents.values()):
            return self
        message, hint = "no fleet document is here", "check the path, or begin one: `fleetctl init`"
        raise FilesError([file_problem(place, "files.empty", message, hint)])
