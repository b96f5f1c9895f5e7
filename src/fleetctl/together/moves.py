"""Files that have another name than they had, as git finds them: it keeps no record of that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from posixpath import basename

from fleetctl.base.revisions import Files

_MOST = 10_000
"""Pairs of files that are compared by their lines; of more, as where a whole fleet is laid out anew, those alone are
followed that were moved as they are."""
_ALIKE = 0.5
_ALIKE_BY_NAME = 0.75
"""The share that is enough of a file that has another folder and its own name there, whatever else is as like."""


def moves(was: Files, now: Files) -> dict[str, str]:
    """The name that each file has now which had another: with the same content, else with most of it in another folder
    under the name that it had there, else with half of it at least. Of several that are as like the first by name is
    it."""
    gone = {name: was[name] for name in sorted(was.keys() - now.keys())}
    new = {name: now[name] for name in sorted(now.keys() - was.keys())}
    found = _as_they_are(gone, new)
    taken = set(found.values())
    lost = {name: _Lines(data) for name, data in gone.items() if name not in found}
    came = {name: _Lines(data) for name, data in new.items() if name not in taken}
    for old, name in _by_name(lost, came):
        if lost[old].share(came[name]) >= _ALIKE_BY_NAME:
            found[old] = name
            del lost[old], came[name]
    if len(lost) * len(came) > _MOST:
        return found
    alike = [(-one.share(other), old, name) for old, one in lost.items() for name, other in came.items()]
    for share, old, name in sorted(alike):
        if -share >= _ALIKE and old in lost and name in came:
            found[old] = name
            del lost[old], came[name]
    return found


def with_names(files: Files, names: Mapping[str, str]) -> Files:
    """The files, with other names for some."""
    return {names.get(name, name): data for name, data in files.items()} if names else files


def _as_they_are(gone: Files, new: Files) -> dict[str, str]:
    names = defaultdict[bytes, list[str]](list)
    for name in sorted(new, reverse=True):
        names[new[name]].append(name)
    return {old: names[data].pop() for old, data in gone.items() if data and names[data]}


def _by_name(lost: Iterable[str], came: Iterable[str]) -> list[tuple[str, str]]:
    """Files that alone have their name, without its folder, on each side."""
    one, other = _alone(lost), _alone(came)
    return [(old, other[name]) for name, old in one.items() if name in other]


def _alone(files: Iterable[str]) -> dict[str, str]:
    listed = list(files)
    count = Counter(map(basename, listed))
    return {basename(file): file for file in listed if count[basename(file)] == 1}


class _Lines:
    """Whole lines of a file, in any order."""

    def __init__(self, data: bytes) -> None:
        self._count = Counter(data.splitlines(keepends=True))
        self._size = len(data)

    def share(self, other: _Lines) -> float:
        """The share of the longer one that is in both, by bytes."""
        longer = max(self._size, other._size, 1)
        if min(self._size, other._size) < _ALIKE * longer:
            return 0.0
        return sum(len(line) * count for line, count in (self._count & other._count).items()) / longer
