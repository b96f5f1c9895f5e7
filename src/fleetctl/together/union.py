"""The files of all together, as git would merge them: once merged they may say more than what each entry wishes, since
policies, defaults and other shared parts reach the entries of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from better_compute.domain.problems import Problem
from fleetctl.base.revisions import Files
from fleetctl.desired import Desired, PoolEntry
from fleetctl.desired.load import assemble
from fleetctl.files import FilesError, read_fleet
from fleetctl.files.walk import last_name
from fleetctl.together.branch import Branch
from fleetctl.together.fields import same
from fleetctl.together.lines import in_the_way, merge
from fleetctl.together.moves import moves, with_names

_EMPTY = "files.empty"


@dataclass(frozen=True, slots=True)
class Side:
    """One that has a part in the union: `ref` of None are the files at hand. `had`: what its files held where it left
    the others, and `left` the fleets of these; what differs from all of them is its own. `desired` is its fleet, None:
    none."""

    ref: str | None
    desired: Desired | None
    files: Files
    had: tuple[Files, ...]
    left: tuple[Desired | None, ...] = ()

    def changed(self) -> list[str]:
        """The files that are its own, also those that it took away."""
        names = sorted(self.files.keys() | {file for had in self.had for file in had})
        return [file for file in names if all(had.get(file) != self.files.get(file) for had in self.had)]

    def wrote(self) -> Iterator[PoolEntry]:
        """The entries that are its own."""
        left = [was.entries if was else {} for was in self.left]
        for pool_id, entry in self.desired.entries.items() if self.desired else ():
            if not any(same(entry, was.get(pool_id)) for was in left):
                yield entry


@dataclass(frozen=True, slots=True)
class Union:
    """`files` is what the merged files hold, and `desired` the fleet of these. None: it is not known, since lines of
    the files `clash`, or since the files have `problems`, which none of the sides has."""

    sides: tuple[Side, ...]
    files: Files
    desired: Desired | None = None
    problems: tuple[Problem, ...] = ()
    clash: tuple[str, ...] = ()


def united(path: Path, ours: Desired, files: Files, branches: Sequence[Branch], *, empty_ok: bool = False) -> Union:
    """The union of the files at hand of the fleet at `path`, whose fleet is `ours`, and of what the branches changed.
    `empty_ok`: it may be left without a pool. Raises Stop where git cannot merge them."""
    # Every branch left somewhere else, and the files at hand left all of these places.
    own = _side(None, ours, files, branches)
    sides = (own, *(_side(each.ref, each.desired, each.files, (each,)) for each in branches))
    whole, clash = files, set[str]()
    for branch in branches:
        merged = merge(whole, branch.had, branch.files)
        whole, clash = merged.files, clash | merged.clash.keys()
    clash |= in_the_way(whole)
    if clash or not whole:
        return Union(sides, whole, clash=tuple(sorted(clash)))
    try:
        found = loaded(path, whole, ours.caller, empty_ok=empty_ok or any(map(_is_empty, sides)))
        return Union(sides, whole, replace(found, server=ours.server))
    except FilesError as error:
        return Union(sides, whole, problems=tuple(each for each in error.problems if each.rule != _EMPTY))


def _side(ref: str | None, desired: Desired | None, files: Files, branches: Sequence[Branch]) -> Side:
    """One that left where these branches did. A file that it moved is its own no more than before."""
    had = tuple(with_names(each.had, moves(each.had, files)) for each in branches)
    return Side(ref, desired, files, had, tuple(each.left for each in branches))


def _is_empty(side: Side) -> bool:
    """Whether it has no pool, which is no news of all together then."""
    return side.desired is None or not side.desired.entries


def loaded(path: Path, files: Files, caller: str | None, *, empty_ok: bool) -> Desired:
    """The fleet that has these files at `path`. Raises FilesError."""
    with TemporaryDirectory(prefix="fleet-union-") as directory:
        for file, data in files.items():
            place = Path(directory) / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        whole = path.is_dir()
        documents = read_fleet(Path(directory) if whole else Path(directory) / last_name(path))
        return assemble(documents, path if whole else path.parent, caller=caller, empty_ok=empty_ok)
