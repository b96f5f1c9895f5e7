"""The files of a fleet as they were, which a change is compared with: at a revision, or in another directory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from better_compute.domain.problems import Problem
from fleetctl.base import git, trees
from fleetctl.desired import Desired
from fleetctl.desired.load import assemble
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files import FilesError, read_fleet
from fleetctl.files.contents import contents
from fleetctl.files.walk import last_name, shown_name
from fleetctl.words import AT_BASE, short

_TOLD = 5
_ESCAPE = re.compile(rb"\\x([89a-f][0-9a-f])")
"""As `shown_name` writes a byte that is not UTF-8."""


class UnreadableError(Exception):
    """A fleet that is not of today has faults: the first of them in `told`, each with its place."""

    def __init__(self, told: list[str]) -> None:
        super().__init__(*told)
        self.told = told


@dataclass(frozen=True, slots=True)
class Base:
    """`ref` as it was asked for (a revision, or a directory) and the commit that was read, None for a directory.
    `desired` of None: there was no fleet at that place then. `is_own`: it is the commit that the files are of,
    or their own place."""

    ref: str
    commit: str | None
    desired: Desired | None
    is_own: bool = False


def at_ref(path: Path, ref: str, *, caller: str | None, files_are_of: str | None = None) -> Base:
    """The fleet at `path` (a directory, or one file) as it was where `ref` and HEAD went apart, out of git's objects.
    `caller` stands in where it names none; `files_are_of` is the commit that the files of today are of. Raises Stop:
    what cannot be read is never left out."""
    path = path.absolute()
    trees.check_straight(path)
    commit = git.merge_base(path if path.is_dir() else path.parent, ref)
    return _at_commit(path, commit, shown_name(ref), caller, files_are_of)


def _at_commit(path: Path, commit: str, ref: str, caller: str | None, files_are_of: str | None = None) -> Base:
    name = f"{ref} ({short(commit)})"
    try:
        return Base(ref, commit, fleet_of(path, commit, name, AT_BASE, caller), commit == files_are_of)
    except UnreadableError as error:
        raise _refused(name, error) from error


def fleet_of(path: Path, commit: str, name: str, mark: str, caller: str | None) -> Desired | None:
    """The fleet at `path` as a commit has it, told as `name`; its files go by their names behind `mark`. None where it
    has none. Raises UnreadableError, and Stop where git cannot give it."""
    return files_of(path, commit, name, mark, caller)[0]


def files_of(
    path: Path, commit: str, name: str, mark: str, caller: str | None
) -> tuple[Desired | None, Mapping[str, bytes]]:
    """The same, with what its files hold; see `contents`. Raises as it does."""
    with TemporaryDirectory(prefix="fleet-base-") as directory:
        into = Path(directory)
        if not trees.write_fleet(path, commit, into):
            return None, {}
        written, place = (into, name) if path.is_dir() else (into / path.name, path.name)
        return _read(written, place, mark, caller), contents(written)


def contents_of(path: Path, commit: str) -> Mapping[str, bytes]:
    """What the files of the fleet at `path` hold as a commit has it, without reading anything of them. Raises Stop."""
    with TemporaryDirectory(prefix="fleet-base-") as directory:
        into = Path(directory)
        if not trees.write_fleet(path, commit, into):
            return {}
        return contents(into if path.is_dir() else into / path.name)


def before(path: Path, *, caller: str | None, files_are_of: str | None) -> tuple[Base, ...]:
    """The fleet at `path` as it was before the files of today, which are those of the commit `files_are_of`: in the
    first parent of HEAD, and where they are not HEAD's in HEAD too. Nothing outside of git, of a first commit, and of a
    fleet that git does not keep. Raises Stop, as `at_ref` does."""
    path = path.absolute()
    directory = path if path.is_dir() else path.parent
    head = git.head(directory)
    if head is None:
        return ()
    trees.check_straight(path)
    parent = git.parent(directory, head)
    wanted = {"HEAD^": parent, "HEAD": None if files_are_of == head else head}
    found = [_at_commit(path, commit, ref, caller) for ref, commit in wanted.items() if commit]
    is_kept = files_are_of == head or any(each.desired for each in found)
    return tuple(found) if is_kept else ()


def at_dir(path: Path, name: str, *, caller: str | None, files: Path) -> Base:
    """The fleet in another directory, or file, as the base, known as `name`; `files` is where those of today are.
    Raises Stop."""
    path = _named(path)
    is_own = os.path.realpath(path) == os.path.realpath(files)
    try:
        return Base(shown_name(name), None, _read(path, shown_name(str(path)), AT_BASE, caller), is_own)
    except UnreadableError as error:
        raise _refused(shown_name(str(path)), error) from error


def _named(path: Path) -> Path:
    """The path; where there is none, the one that is shown so, since plan files keep names that are not UTF-8 that
    way."""
    meant = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), os.fsencode(path))
    return path if path.exists() or not os.path.exists(meant) else Path(os.fsdecode(meant))


def _refused(name: str, error: UnreadableError) -> Stop:
    message, hint = f"the fleet at the base, {name}, cannot be read", "a base that is left out guards nothing"
    return Stop(EXIT_ERROR, message, error.told, f"{hint}: repair it first", "base.files")


def _read(path: Path, place: str, mark: str, caller: str | None) -> Desired:
    """The fleet at `path`; its directory, or its one file, is called `place`. Raises UnreadableError."""
    try:
        documents = read_fleet(path)
        for document in documents:
            document.root.lines.file = mark + document.file
        return assemble(documents, path if path.is_dir() else path.parent, caller=caller, empty_ok=True)
    except FilesError as error:
        # Where the files were written to for this is nobody's business.
        own = shown_name(str(path)) if path.is_dir() else last_name(path)
        told = [_told(problem, {own: place}, mark) for problem in error.problems[:_TOLD]]
        if (more := len(error.problems) - _TOLD) > 0:
            told.append(f"and {more} more")
        raise UnreadableError(told) from error


def _told(problem: Problem, called: Mapping[str, str], mark: str) -> str:
    if problem.source is None:
        return problem.message
    file = problem.source.file.removeprefix(mark)
    return f"{replace(problem.source, file=called.get(file, file))}: {problem.message}"
