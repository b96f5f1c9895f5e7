"""What other branches have of a fleet: as it is there, and as it was where they left the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleetctl.base import git, trees
from fleetctl.base.bases import UnreadableError, files_of
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files.contents import contents
from fleetctl.files.walk import shown_name
from fleetctl.words import short


@dataclass(frozen=True, slots=True)
class Branch:
    """A revision by the name that it was asked for. `desired` is the fleet that it has, None: none; `left` are those of
    the commits from which it and all others (HEAD and the branches before it) went apart: what differs from all of
    them is its own. `files` and `had` are what the files of these hold, by name."""

    ref: str
    desired: Desired | None
    left: tuple[Desired | None, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    had: tuple[Mapping[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Branches:
    """`asked`: the commit of every revision that was asked for. One that another contains, or HEAD does, is in that
    one, and is no branch of its own. Their order does not depend on the one in which they were asked for. `files` is
    what those at hand hold, by name; None: not known."""

    asked: Mapping[str, str]
    found: tuple[Branch, ...]
    files: Mapping[str, bytes] | None = None


def branches(path: Path, refs: Sequence[str], *, caller: str | None) -> Branches:
    """What the revisions have of the fleet at `path` (a directory, or one file), out of git's objects. `caller` stands
    in where one names none. Raises Stop: one that cannot be read is never left out."""
    path = path.absolute()
    trees.check_straight(path)
    directory = path if path.is_dir() else path.parent
    asked = {shown_name(ref): git.commit_at(directory, ref) for ref in sorted(refs)}
    names = {commit: ref for ref, commit in reversed(asked.items())}
    seen, reading, found = [git.commit_at(directory, "HEAD")], _Reading(path, caller), []
    for commit in git.independent(directory, names):
        ref = names[commit]
        left = git.merge_bases(directory, ref, commit, seen)
        if left == [commit]:
            continue
        was = tuple(reading.of(each, f"{short(each)}, where {ref} went its own way,", short(each)) for each in left)
        desired, files = reading.of(commit, f"{ref} ({short(commit)})", ref)
        left_desired, had = tuple(each for each, _ in was), tuple(each for _, each in was)
        found.append(Branch(ref, desired, left_desired, files, had))
        seen.append(commit)
    return Branches(asked, tuple(found), contents(path))


class _Reading:
    """Reads each commit once."""

    def __init__(self, path: Path, caller: str | None) -> None:
        self._path, self._caller = path, caller
        self._known: dict[str, tuple[Desired | None, Mapping[str, bytes]]] = {}

    def of(self, commit: str, name: str, ref: str) -> tuple[Desired | None, Mapping[str, bytes]]:
        """The fleet of a commit, told as `name`, its places with `ref`; and what its files hold. Raises Stop."""
        if commit not in self._known:
            try:
                self._known[commit] = files_of(self._path, commit, name, mark(ref), self._caller)
            except UnreadableError as error:
                message, hint = f"the fleet at {name} cannot be read", "repair it there, or leave the revision out"
                raise Stop(EXIT_ERROR, message, error.told, hint, "together.files") from error
        return self._known[commit]


def mark(ref: str) -> str:
    """What begins the names of a revision's files, as git writes those of a directory; no name of a revision holds a
    colon, and no file at a base begins so."""
    return f"{ref}:./"
