"""One side of a comparison: a fleet in a directory, or as a git revision has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from better_compute.domain.problems import Problem
from fleetctl.base import git, trees
from fleetctl.desired import Desired
from fleetctl.desired.load import load
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop
from fleetctl.files import FilesError
from fleetctl.files.walk import shown_name

_HERE = "."


@dataclass(frozen=True, slots=True)
class Side:
    """A fleet, by what was asked for; `commit` is the one that was read, None for a directory."""

    given: str
    commit: str | None
    desired: Desired


def read_side(given: str, other: str, *, caller: str | None) -> Side:
    """The fleet that `given` names: a directory or file, `REVISION:PATH`, or a revision alone, of which the fleet is
    read that `other` names where that is a path, and else the one of the current directory. What is both a path and a
    revision is a path. `caller` stands in where the files name none. Raises FilesError, with the side in the place of
    each problem, and Stop."""
    if Path(given).exists():
        return Side(shown_name(given), None, _load(Path(given), given, caller))
    ref, colon, written = given.partition(":")
    path = _within(written) if colon else Path(other if Path(other).exists() else _HERE)
    if not path.exists():
        message = f"{given} is no path here" + (f", and neither is {written}" if colon else "")
        hint = "a fleet of a revision is named by where it stands now, as in main:fleet"
        raise Stop(EXIT_USAGE, message, hint=hint, rule="diff.path")
    path = path.absolute()
    commit = git.commit_at(path if path.is_dir() else path.parent, ref)
    with TemporaryDirectory(prefix="fleet-side-") as name:
        into = Path(name)
        if not trees.write_fleet(path, commit, into):
            message = f"{ref} has no fleet at this place"
            raise Stop(
                EXIT_ERROR, message, hint="name another revision, or another path: REVISION:PATH", rule="diff.empty"
            )
        return Side(shown_name(given), commit, _load(into if path.is_dir() else into / path.name, given, caller))


def _within(written: str) -> Path:
    """A path behind a revision, as git reads it: from the top of the repository, unless it begins with a dot."""
    if written.startswith(("./", "../")) or written in (".", "..", ""):
        return Path(written or _HERE)
    top = git.answer(Path(_HERE), "rev-parse", "--show-toplevel").removesuffix("\n")
    return Path(top, written) if top else Path(written)


def _load(path: Path, given: str, caller: str | None) -> Desired:
    try:
        return load(path, caller=caller, empty_ok=True)
    except FilesError as error:
        raise FilesError(_placed(problem, given) for problem in error.problems) from error


def _placed(problem: Problem, given: str) -> Problem:
    """A problem with the side in its place: both may have a file of one name."""
    if problem.source is None:
        return problem
    separator = "/" if ":" in given or Path(given).is_dir() else ":"
    file = given if Path(given).is_file() else f"{given.rstrip('/')}{separator}{problem.source.file}"
    return replace(problem, source=replace(problem.source, file=shown_name(file)))
