"""What earlier runs kept, and where it stays: of what an apply did its report alone tells how it is taken back, so that
no other one takes its place. Each of these functions is for one run at a time: `disk.alone`."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, json

from fleetctl.machine import disk
from fleetctl.words import count, short

_KINDS = frozenset({"plan", "apply", "drift", "snapshot"})
_LONGEST = 255
"""Bytes of a file's name."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREAD = "unread"
"""In the name of what this run cannot read."""


class _Head(Struct, rename="camel"):
    """As much of a result as tells that it is one."""

    format_version: int
    kind: str


class _Named(Struct):
    """The same, and whatever says of which apply it is."""

    kind: str
    digest: Any = None


class _Operation(Struct):
    digest: str


class _Record(Struct):
    """As much of the report of an apply as tells what can be taken back by it: what happened after `sequence`. Of one
    that failed nobody knows in the end."""

    digest: str
    sequence: int = 0
    before: list[_Operation] = []
    done: list[_Operation] = []
    failed: list[_Operation] = []

    @property
    def did(self) -> frozenset[str]:
        """The digests of what was done."""
        return frozenset(one.digest for one in (*self.before, *self.done))

    @property
    def told(self) -> frozenset[str]:
        """The digests of what was done, or may have been."""
        return self.did.union(one.digest for one in self.failed)


def is_result(path: Path) -> bool:
    """Whether a file holds by what it says what a run kept."""
    return _result(path) is not None


def _result(path: Path) -> bytes | None:
    """What a file holds, where that is by what it says what a run kept. A large one that is something else is not
    read."""
    try:
        with path.open("rb") as stream:
            start = stream.read(1)
            data = start + stream.read() if start == b"{" else b""
            is_result = json.decode(data, type=_Head).kind in _KINDS
    except (OSError, DecodeError, RecursionError):
        return None
    return data if is_result else None


def _record(data: bytes) -> _Record | None:
    """The report of an apply that tells of something done; None: it is none, or in a form that this build has not."""
    try:
        record = json.decode(data, type=_Record) if json.decode(data, type=_Head).kind == "apply" else None
    except (DecodeError, RecursionError):
        return None
    is_one = record is not None and _DIGEST.fullmatch(record.digest) and record.told
    return record if is_one else None


def _asides(path: Path, mark: str) -> Iterator[Path]:
    """The name with a mark, such as digits of a digest, cut where a name may not be as long; then, for ever, with a
    number too."""
    for number in itertools.count(1):
        name, end = path.name, f".{mark}{f'.{number}' if number > 1 else ''}"
        while len(os.fsencode(name + end)) > _LONGEST:
            name = name[:-1]
        yield path.with_name(name + end)


def room_made(path: Path) -> Iterator[str]:
    """Remove an earlier result, or move it aside, and say so. Raises OSError."""
    real = disk.replaced(path)
    if real is None or (data := _result(real)) is None:
        return
    if record := _record(data):
        yield _kept_aside(real, record)
    elif _is_unread(real):
        yield _kept_unread(real)
    else:
        real.unlink()


def other_kept(path: Path, data: bytes) -> Iterator[str]:
    """Move aside what another run wrote since this one began, unless `data`, this one's, tells all that it did, and say
    so. Raises OSError."""
    real, own = disk.replaced(path), _record(data)
    if real is None:
        return
    if _is_unread(real):
        yield _kept_unread(real)
    elif (other := _record(_result(real) or b"")) and not (own and _is_told(other, own)):
        yield _kept_aside(real, other)


def _is_unread(path: Path) -> bool:
    """Whether a file may tell of something done that is not known here: another identity's run wrote it, for its owner
    alone, or it says that it is the report of an apply, in a form that this build has not."""
    try:
        path.open("rb").close()
    except PermissionError:
        return True
    if (data := _result(path)) is None:
        return False
    named = json.decode(data, type=_Named)
    try:
        json.decode(data, type=_Record)
    except DecodeError:
        return named.kind == "apply" and isinstance(named.digest, str) and _DIGEST.fullmatch(named.digest) is not None
    return False


def _kept_unread(path: Path) -> str:
    """Move it aside, and say so. Raises OSError."""
    aside = next(each for each in _asides(path, _UNREAD) if not os.path.lexists(each))
    path.replace(aside)
    return f"What was there, which cannot be read here, is kept as {aside}"


def _kept_aside(path: Path, record: _Record) -> str:
    """Move a report aside, and say so. Of two reports of one apply the one that tells all that the other does stays;
    whatever else is in the way stays too. Raises OSError."""
    for aside in _asides(path, short(record.digest)):
        if not os.path.lexists(aside):
            break
        if (earlier := _earlier(aside, record)) is None:
            continue
        if earlier.told <= record.told:
            break
        # An older one may be of the same change before that was taken back: what was done anew is told here alone.
        if earlier.told > record.told and earlier.sequence >= record.sequence:
            path.unlink()
            return f"The report that was there is removed: {aside} tells all that it did"
    path.replace(aside)
    return f"The report that was there is kept as {aside}: it tells of {count(len(record.did), 'operation')} done"


def _is_told(record: _Record, by: _Record) -> bool:
    """Whether another report of the same apply tells all that this one says was done, or may have been: what was done
    before a run of a plan file is told by the events, which know it of what failed too."""
    is_known = bool(by.before) or record.told <= by.told
    return record.digest == by.digest and record.did <= by.did and is_known


def _earlier(aside: Path, record: _Record) -> _Record | None:
    """The report that is kept already, of the same apply. Nothing else is read: of a pipe nobody knows when it ends."""
    other = _record(_result(aside) or b"") if os.path.isfile(aside) else None
    return other if other is not None and other.digest == record.digest else None


def without_less(path: Path, data: bytes) -> Iterator[Path]:
    """Remove the reports beside `path` that tell a part of what this one does, as the one does that an earlier run of a
    plan file left; gives their names."""
    real, record = disk.replaced(path), _record(data)
    if real is None or record is None:
        return
    for aside in itertools.takewhile(os.path.lexists, _asides(real, short(record.digest))):
        earlier = _earlier(aside, record)
        if earlier is not None and _is_told(earlier, record):
            with suppress(OSError):
                aside.unlink()
                yield aside
