"""What revisions have of a fleet, and the commits at which they left the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleetctl.base import git, trees
from fleetctl.base.bases import UnreadableError, contents_of, files_of
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files.contents import contents
from fleetctl.files.walk import shown_name
from fleetctl.words import short

Files = Mapping[str, bytes]
"""What the files of a fleet hold, by name."""
_DEEP = 100
"""So many times histories may have crossed; git's own recursion has no end, and ours needs one."""


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """A commit. `left` is the row of commits from which it and others went apart, those before it in its own row, or
    in the order of what was asked for: of crossed histories there are several. Empty where nothing is before it."""

    commit: str
    left: tuple[Revision, ...]
    _name: str
    _mark: str
    _reading: _Reading

    @property
    def files(self) -> Files:
        """Raises Stop."""
        return self._reading.files(self.commit)

    @property
    def desired(self) -> Desired | None:
        """Its fleet, None: none. Raises Stop."""
        return self._reading.desired(self.commit, self._name, self._mark)


@dataclass(frozen=True, slots=True)
class Revisions:
    """`asked`: the commit of every revision that was asked for. One that another contains, or HEAD does, is in that
    one, and is not `found` as one of its own. Their order does not depend on the one in which they were asked for.
    `files` is what those at hand hold."""

    asked: Mapping[str, str]
    found: Mapping[str, Revision]
    files: Files


def revisions(path: Path, refs: Sequence[str], *, caller: str | None) -> Revisions:
    """What the revisions have of the fleet at `path` (a directory, or one file), out of git's objects. `caller` stands
    in where one names none. Raises Stop."""
    path = path.absolute()
    trees.check_straight(path)
    directory = path if path.is_dir() else path.parent
    asked = {shown_name(ref): git.commit_at(directory, ref) for ref in sorted(refs)}
    names = {commit: ref for ref, commit in reversed(asked.items())}
    seen, reading, found = [git.commit_at(directory, "HEAD")], _Reading(path, directory, caller, names), {}
    for commit in git.independent(directory, names):
        ref = names[commit]
        left = git.merge_bases(directory, ref, commit, seen)
        if left != [commit]:
            found[ref] = Revision(commit, reading.row(ref, left), f"{ref} ({short(commit)})", mark(ref), reading)
            seen.append(commit)
    return Revisions(asked, found, contents(path))


def mark(ref: str) -> str:
    """What begins the names of a revision's files, as git writes those of a directory; no name of a revision holds a
    colon, and no file at a base begins so."""
    return f"{ref}:./"


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads each commit once. `tips` are those that were asked for."""

    path: Path
    directory: Path
    caller: str | None
    tips: Collection[str]
    _read: dict[str, tuple[Desired | None, Files]] = field(default_factory=dict)
    _held: dict[str, Files] = field(default_factory=dict)
    _rows: dict[tuple[str, ...], tuple[Revision, ...]] = field(default_factory=dict)

    def files(self, commit: str) -> Files:
        if commit in self._read:
            return self._read[commit][1]
        if commit not in self._held:
            self._held[commit] = contents_of(self.path, commit)
        return self._held[commit]

    def desired(self, commit: str, name: str, marked: str) -> Desired | None:
        """The fleet of a commit, told as `name`, its places `marked`."""
        if commit not in self._read:
            try:
                self._read[commit] = files_of(self.path, commit, name, marked, self.caller)
            except UnreadableError as error:
                message = f"the fleet at {name} cannot be read"
                raise Stop(EXIT_ERROR, message, error.told, self._repair(commit), "together.files") from error
        return self._read[commit][0]

    def _repair(self, commit: str) -> str:
        """What may be done of a fleet with faults: one at which histories went apart stays as it is."""
        if commit in self.tips:
            return "repair it there, or leave the revision out"
        return "merge what repaired it into both, so that they went apart after that, or leave the revision out"

    def row(self, ref: str, commits: Sequence[str], deep: int = 1) -> tuple[Revision, ...]:
        """The commits from which `ref`, or one of a row, went apart; one of them, where all have the same files."""
        if deep > _DEEP:
            message = f"the histories of {ref} and HEAD crossed more than {_DEEP} times"
            raise Stop(EXIT_ERROR, message, hint=f"merge {ref} into what is checked out first", rule="git.mergeBase")
        key = tuple(commits)
        if key not in self._rows:
            first, *others = key
            is_one = all(self.files(each) == self.files(first) for each in others)
            own = [first] if is_one else [*key]
            lefts = [git.common(self.directory, ref, each, own[:n]) if n else [] for n, each in enumerate(own)]
            self._rows[key] = tuple(
                Revision(
                    each,
                    self.row(ref, left, deep + 1) if left else (),
                    f"{short(each)}, where {ref} went its own way,",
                    mark(short(each)),
                    self,
                )
                for each, left in zip(own, lefts, strict=True)
            )
        return self._rows[key]
