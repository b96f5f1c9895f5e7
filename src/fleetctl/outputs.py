"""The files that a command is to write: none of the fleet's own, and known to be writable before anything is asked."""

from __future__ import annotations

import os
from pathlib import Path

from fleetctl import machine
from fleetctl.desired import Desired, Embedded
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop

_BESIDE = ("-wal", "-shm", "-journal")
"""What ends the names of the files that SQLite keeps beside a database."""


def check(desired: Desired, base: Path, *, saved: Path | None, journal: Path | None = None) -> None:
    """Whether a plan or report can be saved, and a journal go on, in the place named; `base` is the fleet's directory.

    Leaves nothing behind. Raises Stop.
    """
    outputs = [(path, append) for path, append in ((saved, False), (journal, True)) if path is not None]
    own = _own(desired, base) if outputs else frozenset()
    for path, _ in outputs:
        _check_apart(path, own, Path(os.path.realpath(base)))
    for path, append in outputs:
        try:
            machine.check_output(path, append=append)
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror or error}; nothing was done"
            raise Stop(EXIT_ERROR, message) from error


def save(path: Path, data: bytes) -> None:
    """Write such a file whole or not at all. Raises Stop, and BrokenPipeError where it is a pipe whose reader left."""
    try:
        machine.save(path, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}; nothing of it was kept"
        raise Stop(EXIT_ERROR, message) from error


def _own(desired: Desired, base: Path) -> frozenset[object]:
    """The identities of the files that the fleet is made of."""
    own, server = [base / file for file in desired.files], desired.server
    if isinstance(server, Embedded):
        # SQLite keeps them beside the file that a link leads to.
        own += [Path(os.path.realpath(server.database) + beside) for beside in ("", *_BESIDE)]
        own += [Path(server.world)] if server.world else []
    return frozenset(map(machine.identity, own))


def _check_apart(path: Path, own: frozenset[object], base: Path) -> None:
    """What is written takes the place of nothing that the fleet is made of, and will not be read as part of it."""
    real = Path(os.path.realpath(path))
    is_read = real.suffix in (".yaml", ".yml") and real.is_relative_to(base)
    if is_read or machine.identity(path) in own:
        message = f"{path} is a file of the fleet, or would be read as one: nothing was written"
        raise Stop(EXIT_USAGE, message, hint="choose another name, such as one that ends in .json")
