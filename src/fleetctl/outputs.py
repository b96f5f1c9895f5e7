"""The files that a command is to write: none of those that it reads, and known to be writable before anything is asked.
What is in one afterwards is of this run, or no result; what an earlier apply did is told by another file then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fleetctl import results
from fleetctl.desired import Desired, Embedded
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop
from fleetctl.files.walk import SUFFIXES
from fleetctl.machine import disk
from fleetctl.request import Request
from fleetctl.words import joined

_BESIDE = ("-wal", "-shm", "-journal")
"""What ends the names of the files that SQLite keeps beside a database."""


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
        if self.journal is not None and self.journal.is_file() and results.is_result(self.journal):
            message = f"the journal {self.journal} is a result that a run kept, which its lines would spoil"
            raise Stop(EXIT_USAGE, f"{message}: nothing was written", hint="choose another name")
        if self.path is not None:
            with _ahead(self.path), disk.alone(self.path):
                for said in results.room_made(self.path):
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
            yield from results.other_kept(path, written)
            disk.save(path, written)
            less = [*map(str, results.without_less(path, written))]
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
