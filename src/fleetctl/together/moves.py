"""Files that have another name than they had, as git finds them: it keeps no record of that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from fleetctl.base.revisions import Files

_MOST = 10_000
"""Pairs of files that are compared by their lines; of more, as where a whole fleet is laid out anew, those alone are
followed that were moved as they are."""
_ALIKE = 0.5


def moves(was: Files, now: Files) -> dict[str, str]:
    """The name that each file has now which had another: with the same content, or with half of it at least. Of several
    that are as like the first by name is it."""
    gone = {name: was[name] for name in sorted(was.keys() - now.keys())}
    new = {name: now[name] for name in sorted(now.keys() - was.keys())}
    found = _as_they_are(gone, new)
    lost = {name: Counter(data.splitlines(keepends=True)) for name, data in gone.items() if name not in found}
    taken = set(found.values())
    came = {name: Counter(data.splitlines(keepends=True)) for name, data in new.items() if name not in taken}
    if len(lost) * len(came) > _MOST:
        return found
    alike = [(-_share(one, other), old, name) for old, one in lost.items() for name, other in came.items()]
    for share, old, name in sorted(alike):
        if -share >= _ALIKE and old not in found and name not in taken:
            found[old] = name
            taken.add(name)
    return found


def with_names(files: Files, names: Mapping[str, str]) -> Files:
    """The files, with other names for some."""
    return {names.get(name, name): data for name, data in files.items()} if names else files


def _as_they_are(gone: Files, new: Files) -> dict[str, str]:
    names = defaultdict[bytes, list[str]](list)
    for name in sorted(new, reverse=True):
        names[new[name]].append(name)
    return {old: names[data].pop() for old, data in gone.items() if data and names[data]}


def _share(one: Counter[bytes], other: Counter[bytes]) -> float:
    """The share of the longer one that is in both, by bytes of whole lines."""
    return _size(one & other) / max(_size(one), _size(other), 1)


def _size(lines: Counter[bytes]) -> int:
    return sum(len(line) * count for line, count in lines.items())
