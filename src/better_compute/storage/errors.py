"""What can go wrong with a database, and what it means for a transaction."""

from __future__ import annotations

import sqlite3
from enum import Enum, auto

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnection

from better_compute.domain.escape import escape
from better_compute.domain.problems import INTERNAL_ERROR, INVALID_STATE, UNAVAILABLE, ComputeError, Problem

RETRY_AFTER_MS = 1000


class Trouble(Enum):
    CONFLICT = auto()
    """Another transaction came first: the work may be done again."""
    EXISTS = auto()
    """Another transaction made the same row: the work will find it, if it looks, when it is done again."""
    LOST = auto()
    """The connection broke under the transaction."""
    BUSY = auto()
    """No lock, no connection, no room, no end of a statement: it may be there in a while."""
    DAMAGED = auto()
    """What is stored cannot be read as a database: no waiting helps."""


class SchemaTooNewError(ComputeError):
    """The database was migrated by a later build. Nothing was written."""

    def __init__(self, found: str, newest: str) -> None:
        message = f"the database's schema is newer than this build: it is {found}, and this build knows {newest}"
        hint = "run the build that migrated it, or a later one"
        super().__init__(Problem(INVALID_STATE, "storage.schema", message, hint=hint))


# The primary code is the lower byte; a unique violation alone is told by its extended code.
_SQLITE_BUSY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}
_SQLITE_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SQLITE_EXISTS = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}

# SQLSTATEs: serialization failure and deadlock; unique violation, also of a table's name.
_CONFLICTS = {"40001", "40P01"}
_EXISTS = {"23505", "42P07"}
_DAMAGED = ("XX001", "XX002")
# The server goes down, or its connection to us did.
_LOST = ("08", "57P")
# Too few resources (connections, disk), a lock that was not to be had in time, a statement that took too long or was
# cancelled, a standby that does not write yet.
_BUSY = ("53", "55P03", "57014", "25006")

BUSY = "the database is busy or not reachable"
_FULL, _READ_ONLY = "the disk of the database is full", "the database can only be read"
_SHORT: dict[object, str] = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_IOERR: "the disk of the database fails, or is full",
    sqlite3.SQLITE_CANTOPEN: "the file of the database cannot be opened",
    "53100": _FULL,
    "57014": "the database took too long, or was told to stop",
    "53300": "the database has no connection to spare",
    "25006": _READ_ONLY,
}


def trouble_of(error: SQLAlchemyError) -> Trouble | None:
    """What the error means for the transaction it ended; None for a mistake of this program."""
    if isinstance(error, NoConnection):
        return Trouble.BUSY
    if not isinstance(error, DBAPIError):
        return None
    if error.connection_invalidated:
        return Trouble.LOST
    code = getattr(error.orig, "sqlite_errorcode", None)
    return _of_driver(error) if code is None else _of_sqlite(code)


def _of_sqlite(code: int) -> Trouble | None:
    if code in _SQLITE_EXISTS:
        return Trouble.EXISTS
    if code & 0xFF in _SQLITE_DAMAGED:
        return Trouble.DAMAGED
    return Trouble.BUSY if code & 0xFF in _SQLITE_BUSY else None


def _of_driver(error: DBAPIError) -> Trouble | None:
    """SQLite has no code for a text that is not UTF-8."""
    return Trouble.DAMAGED if "Could not decode to UTF-8" in str(error.orig) else _of_postgres(error)


def _of_postgres(error: DBAPIError) -> Trouble | None:
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        # Without a state there was no server to give one: it refused the connection, or is not there.
        return Trouble.BUSY if isinstance(error, OperationalError) else None
    if state in _CONFLICTS:
        return Trouble.CONFLICT
    if state in _EXISTS:
        return Trouble.EXISTS
    if state in _DAMAGED:
        return Trouble.DAMAGED
    if state.startswith(_LOST):
        return Trouble.LOST
    return Trouble.BUSY if state.startswith(_BUSY) else None


def shortage(error: SQLAlchemyError) -> str:
    """What is wanting where the trouble is BUSY: waiting for a lock and making room are two things."""
    cause = getattr(error, "orig", None)
    code = getattr(cause, "sqlite_errorcode", None)
    found = _SHORT.get(getattr(cause, "sqlstate", None) if code is None else code & 0xFF)
    return found or BUSY


def reason(error: Exception) -> str:
    """What the driver says, on one line. It never says the password, nor the statement and what was written with it."""
    if isinstance(error, UnicodeDecodeError):
        said: object = error.object.decode(errors="replace")  # SQLite's own words, with a name as it stands in the file
    else:
        said = error.orig if isinstance(error, DBAPIError) else "no connection came free"
    return escape(next(iter(str(said).splitlines()), ""))


def damaged(error: Exception) -> ComputeError:
    """The database must be mended by people. What the driver says is a note: for the operator, not for the caller."""
    hint = "restore it from a backup; what is in it cannot be trusted"
    found = ComputeError(Problem(INTERNAL_ERROR, "storage.damaged", "the database is damaged", hint=hint))
    found.add_note(reason(error))
    return found


def unavailable(message: str, error: SQLAlchemyError | None = None) -> ComputeError:
    """It may work in a second: the caller should ask again. What the driver says is a note, as above."""
    found = ComputeError(Problem(UNAVAILABLE, "storage", message), retry_after_ms=RETRY_AFTER_MS)
    if error is not None:
        found.add_note(reason(error))
    return found
