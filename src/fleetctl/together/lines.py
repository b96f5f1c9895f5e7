"""Files that two sides changed, merged as git does: by files where one of them changed a file, by lines where both
did, and under the name that one of them gave it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from fleetctl.base import git
from fleetctl.base.revisions import Files
from fleetctl.together.moves import moves, with_names


@dataclass(frozen=True, slots=True)
class Merged:
    """What the files hold that can be merged; of those that `clash` what one side has, and as git has them in a base
    that it merged itself: with its marks around the lines, and else as they were (None: not at all)."""

    files: Files
    clash: Mapping[str, bytes | None]


def in_the_way(files: Files) -> set[str]:
    """Files in a folder whose name another file has: they cannot stand there together."""
    return {file for file in files if not files.keys().isdisjoint(map(str, PurePosixPath(file).parents))}


def merge(ours: Files, was: Files, theirs: Files) -> Merged:
    """What both made of what it was. Raises Stop where git cannot merge."""
    named = _named(ours, was, theirs)
    whole, clash = dict(named.ours), dict.fromkeys(named.torn)
    for file in sorted(named.was.keys() | named.theirs.keys()):
        own, before, their = (files.get(file) for files in (named.ours, named.was, named.theirs))
        if file in clash:
            clash[file] = before
        elif their in (before, own):
            continue
        elif own == before:
            _set(whole, file, their)
        else:
            lines, is_clear = (None, False) if own is None or their is None else git.merged(own, before or b"", their)
            if is_clear:
                _set(whole, file, lines)
            else:
                clash[file] = lines or before
    return Merged(whole, clash)


@dataclass(frozen=True, slots=True)
class _Named:
    """Three versions of files under one name each. `torn`: of these one side took away what the other moved, or both
    moved it, to two places."""

    ours: Files
    was: Files
    theirs: Files
    torn: Collection[str] = ()


def _named(ours: Files, was: Files, theirs: Files) -> _Named:
    """Each file with the name that one side gave it, or both alike; what they moved to two places under the old one,
    and where another file has the name it stays two files."""
    if was.keys() <= ours.keys() & theirs.keys():
        return _Named(ours, was, theirs)
    own, their = moves(was, ours), moves(was, theirs)
    sides = (ours, own), (theirs, their)
    apart = {old for old in own.keys() & their.keys() if own[old] != their[old]}
    names = {
        old: new
        for old, new in (own | their).items()
        if all(moved[old] == new if old in moved else new not in side for side, moved in sides)
    }
    torn = apart | {new for old, new in names.items() for side, moved in sides if old not in side and old not in moved}
    mine, his = ({moved[old]: old for old in apart} | names for moved in (own, their))
    return _Named(with_names(ours, mine), with_names(was, names), with_names(theirs, his), torn)


def _set(whole: dict[str, bytes], file: str, data: bytes | None) -> None:
    if data is None:
        whole.pop(file, None)
    else:
        whole[file] = data
