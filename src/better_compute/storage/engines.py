"""From a database URL to an engine: how each of the two databases is opened, locked and read in one snapshot."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem

SQLITE = "sqlite:///"
POSTGRESQL = ("postgresql://", "postgresql+psycopg://")

_CONNECTIONS = 20
"""So many at once; whoever finds none waits like one who finds a lock taken."""

_SMALLEST = 512
"""Bytes of SQLite's smallest page."""

STATEMENT_SECONDS = 30.0
"""How long PostgreSQL may take for one statement: no client waits for its answer longer."""

_IDLE_SECONDS = 60
"""How long a transaction may do nothing on PostgreSQL: a process that stands still must not keep its locks."""

_NETWORK = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""libpq's parameters with which a server that vanished from the network is noticed within half a minute: it can end no
statement. Seconds, probes, and milliseconds."""


def make_engine(url: str, wait_seconds: float, statement_seconds: float = STATEMENT_SECONDS) -> Engine:
    """An engine for the database at `url`, which is created if it is a file. Nobody waits longer than `wait_seconds`
    for a lock or a connection, nor on PostgreSQL longer than `statement_seconds` for a statement. Raises ComputeError
    INVALID_INPUT for what is no database URL of ours."""
    if url.startswith(SQLITE):
        return _sqlite(url.removeprefix(SQLITE), wait_seconds)
    if url.startswith(POSTGRESQL):
        return _postgresql(url.replace("+psycopg", "", 1), wait_seconds, statement_seconds)
    raise refused(f"a database URL starts with {SQLITE} or {POSTGRESQL[0]}")


def refused(message: str, hint: str = "") -> ComputeError:
    """The database named by the URL cannot be used."""
    return ComputeError(Problem(INVALID_INPUT, "storage.url", message, hint=hint))


def _sqlite(name: str, wait_seconds: float) -> Engine:
    path = _file(name)

    def connect() -> sqlite3.Connection:
        # Without an isolation level the driver leaves every BEGIN to us.
        connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        # In WAL mode a crash of this process loses nothing, and one of the machine never more than the last commits.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    engine = _engine("sqlite://", connect, wait_seconds)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    """A transaction that will write takes the write lock now: one that reads first could not wait for it later."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")


def _file(name: str) -> str:
    """The path of the database file, which is made if need be: for its owner's eyes, since it holds token hashes."""
    if not name or name == ":memory:" or "\0" in name:
        raise refused(f"{SQLITE} is followed by the path of a file")
    path = Path(name)
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # A directory that is made for live state belongs into no repository, whatever that ignores.
            (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        if path.exists() and not (path.is_file() or path.is_dir()):
            # SQLite would wait for the other end of a pipe, and read a device for ever.
            raise refused(f"the database file {name!r} cannot be opened: Not a file")
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        size = os.fstat(opened).st_size
        os.close(opened)
    except OSError as error:
        raise refused(f"the database file {name!r} cannot be opened: {error.strerror}") from error
    if 0 < size < _SMALLEST:
        # SQLite would take it for an empty one, and write over what it holds.
        raise refused(f"the file {name!r} is no database", "is it the right one?")
    return str(path)


def _postgresql(url: str, wait_seconds: float, statement_seconds: float) -> Engine:
    """The URL is libpq's, with several hosts if need be."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        parameters: dict[str, Any] = {
            **_NETWORK,
            "connect_timeout": max(2, round(wait_seconds)),
            **conninfo_to_dict(url),
        }
    except psycopg.ProgrammingError:
        # The text of the error may hold the password.
        raise refused("this is not a PostgreSQL URL", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE") from None
    if "@" in "".join(str(parameters.get(name, "")) for name in ("host", "port", "dbname"))[1:]:
        # A part of the password was taken for something else: what cannot be reached by it would be shown.
        raise refused("this is not a PostgreSQL URL", "an @ in a password is written %40")

    limits = {
        "lock_timeout": wait_seconds,
        "statement_timeout": statement_seconds,
        "idle_in_transaction_session_timeout": _IDLE_SECONDS,
    }
    setting = "; ".join(f"SET {name} = {round(seconds * 1000)}" for name, seconds in limits.items())

    def connect() -> psycopg.Connection[Any]:
        connection = psycopg.connect(**parameters)
        connection.execute(setting.encode())
        connection.commit()
        return connection

    return _engine("postgresql+psycopg://", connect, wait_seconds, use_native_hstore=False)


def _engine(dialect: str, connect: Any, wait_seconds: float, **settings: Any) -> Engine:
    from sqlalchemy import QueuePool

    return create_engine(
        dialect,
        creator=connect,
        poolclass=QueuePool,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=wait_seconds,
        **settings,
    )


def without_limits(connection: Connection) -> None:
    """Let this transaction take its time: what changes the schema rewrites whole tables, and is not cut half way."""
    if connection.dialect.name == "postgresql":
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def readers(engine: Engine) -> Engine:
    """The same connections, for transactions that read one snapshot."""
    if engine.dialect.name == "sqlite":
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def writers(engine: Engine) -> Engine:
    """The same connections, for transactions that write. On PostgreSQL they lock the row of the pool they change."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(writes=True)
    return engine.execution_options(isolation_level="READ COMMITTED")
