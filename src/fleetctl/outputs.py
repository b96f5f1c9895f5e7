"""The files that a command is to write: none of those that it reads, and known to be writable before anything is asked.
What is in one afterwards is of this run, or no result; what an earlier apply did is told by another file then."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import DecodeError, Struct, json

from fleetctl.desired import Desired, Embedded
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop
from fleetctl.files.walk import SUFFIXES
from fleetctl.machine import disk
from fleetctl.request import Request
from fleetctl.words import count, joined, short

_BESIDE = ("-wal", "-shm", "-journal")
"""What ends the names of the files that SQLite keeps beside a database."""
_KINDS = frozenset({"plan", "apply", "drift", "snapshot"})
_LONGEST = 255
"""Bytes of a file's name."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREAD = "unread"
"""In the name of what this run may not read."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A result that a file keeps; `path` of None: nobody wants it kept, and nothing is done. `what` people call it.
    `journal` is the file of lines that is written beside it.

    First `begin`, then, once the files are read, `check`, and in the end `write`.
    """

    path: Path | None
    what: str
    journal: Path | None = None

    def begin(self, request: Request) -> None:
        """Whether it can be written, and the journal go on, as far as their names tell; then remove the result of an
        earlier run: however this one ends, it says nothing of it. What an apply did can be taken back by its report
        alone, so that one that tells of something is moved aside. What the file itself does not tell to be a result
        stays until `write`, and all stays where nothing can be done at all. Leaves nothing behind. Raises Stop."""
        self._check_apart(request, _named(request))
        for path, append in ((self.path, False), (self.journal, True)):
            if path is not None:
                with _ahead(path):
                    disk.check_output(path, append=append)
        if self.journal is not None and self.journal.is_file() and _result(self.journal) is not None:
            message = f"the journal {self.journal} is a result that a run kept, which its lines would spoil"
            raise Stop(EXIT_USAGE, f"{message}: nothing was written", hint="choose another name")
        if self.path is not None:
            with _ahead(self.path), disk.alone(self.path):
                for said in _room_made(self.path):
                    request.tell(said)

    def check(self, request: Request, wished: Desired) -> None:
        """Whether what is written takes the place of nothing that the files, now read, are made of. Raises Stop."""
        if self.path or self.journal:
            self._check_apart(request, [*_named(request), *_own(wished, request)])

    def _check_apart(self, request: Request, own: Iterable[Path]) -> None:
        """Nor will it be read as a part of the fleet or its base. Raises Stop."""
        is_own = frozenset(map(disk.identity, own))
        read = [
            Path(os.path.realpath(each)) for each in (request.directory, request.frame.base_dir) if each is not None
        ]
        for path in filter(None, (self.path, self.journal)):
            real = Path(os.path.realpath(path))
            is_read = real.suffix in SUFFIXES and any(map(real.is_relative_to, read))
            if is_read or disk.identity(path) in is_own:
                message = f"{path} is a file of the fleet or its base, or would be read as one: nothing was written"
                such_as = "" if real.suffix == ".json" else ", such as one that ends in .json"
                raise Stop(EXIT_USAGE, message, hint=f"choose another name{such_as}")

    def write(self, data: Callable[[], bytes]) -> tuple[str, ...]:
        """Write it whole or not at all; gives what people should know. Raises Stop, and BrokenPipeError where it is a
        pipe whose reader left."""
        if self.path is None:
            return ()
        said: list[str] = []
        try:
            said.extend(self._written(self.path, data))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _refused(self.path, error, ". ".join(("nothing of it was kept", *said))) from error
        return tuple(said)

    def write_done(self, data: Callable[[], bytes]) -> tuple[tuple[str, ...], bool]:
        """The same of what is done and must be said, also where it cannot be kept; and whether it was, or nobody wanted
        it to be."""
        if self.path is None:
            return (), True
        said: list[str] = []
        try:
            said.extend(self._written(self.path, data))
        except OSError as error:
            reason = error.strerror or error
            return (*said, f"The {self.what} could not be written to {self.path}: {reason}"), False
        return tuple(said), True

    def _written(self, path: Path, data: Callable[[], bytes]) -> Iterator[str]:
        """Write it, and tell of each step once it is done: what is moved is to be known also where nothing takes its
        place. Raises OSError."""
        written = data()
        with disk.alone(path):
            yield from _other_kept(path, written)
            disk.save(path, written)
            less = [*map(str, _without_less(path, written))]
        told = f", and tells all that {joined(less)} did, which is removed" if less else ""
        yield f"The {self.what} is in {path}{told}"


@contextmanager
def _ahead(path: Path) -> Iterator[None]:
    """What goes wrong before anything is asked. Raises Stop."""
    try:
        yield
    except OSError as error:
        raise _refused(path, error, "nothing was done") from error


def _refused(path: Path, error: OSError, left: str) -> Stop:
    return Stop(EXIT_ERROR, f"{path} cannot be written: {error.strerror or error}; {left}")


class _Head(Struct, rename="camel"):
    """As much of a result as tells that it is one."""

    format_version: int
    kind: str


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
    """The report of an apply that tells of something done; None: it is none, and can be made again."""
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


def _room_made(path: Path) -> Iterator[str]:
    """Remove an earlier result, or move it aside, and say so. Raises OSError."""
    real = disk.replaced(path)
    if real is None or (data := _result(real)) is None:
        return
    if record := _record(data):
        yield _kept_aside(real, record)
    else:
        real.unlink()


def _other_kept(path: Path, data: bytes) -> Iterator[str]:
    """Move aside what another run wrote since this one began, unless `data`, this one's, tells all that it did, and say
    so. Raises OSError."""
    real, own = disk.replaced(path), _record(data)
    if real is None:
        return
    try:
        real.open("rb").close()
    except PermissionError:  # somebody else's run: a report is for its owner alone
        aside = next(each for each in _asides(real, _UNREAD) if not os.path.lexists(each))
        real.replace(aside)
        yield f"What was there, which may not be read here, is kept as {aside}"
        return
    if (other := _record(_result(real) or b"")) and not (own and _is_told(other, own)):
        yield _kept_aside(real, other)


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


def _without_less(path: Path, data: bytes) -> Iterator[Path]:
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


def _named(request: Request) -> list[Path]:
    """What is named as one file: a fleet, or its base."""
    return [path for path in (request.path, request.frame.base_dir) if path is not None and path.is_file()]


def _own(desired: Desired, request: Request) -> list[Path]:
    """The files that the fleet is made of."""
    own, server = [request.directory / file for file in desired.files], desired.server
    if isinstance(server, Embedded):
        # SQLite keeps them beside the file that a link leads to.
        own += [Path(os.path.realpath(server.database) + beside) for beside in ("", *_BESIDE)]
        own += [Path(server.world)] if server.world else []
    return own
