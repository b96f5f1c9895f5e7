"""Bringing a database to this build's schema, when several processes may do so at once."""

from __future__ import annotations

import sqlite3
from itertools import count

from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import DBAPIError

from better_compute.domain.problems import UNAVAILABLE, ComputeError
from better_compute.storage.database import Database
from better_compute.storage.engines import refused, without_limits
from better_compute.storage.errors import BUSY, SchemaTooNewError, reason, unavailable
from better_compute.storage.tables import meta, metadata, schema_version

NEWEST = "0003"
"""The last of `migrations/versions`; versions are numbers, each one higher than the one before."""


def prepare(database: Database, instance_id: str) -> bool:
    """Make the schema the newest this build knows. True if this call did it, False if it was already.

    Alembic is loaded only to get from an older schema to this one: a new database gets its tables as they are today.
    Raises ComputeError: SchemaTooNewError, INVALID_INPUT for a file or database that is not ours, UNAVAILABLE for one
    that is not to be had now. Then nothing was written.
    """
    try:
        if database.read(_found) == NEWEST:
            return False
        if database.dialect == "sqlite":
            _write_ahead(database)
        return database.write(lambda connection: _migrate(connection, instance_id))
    except DBAPIError as error:
        raise refused(f"the database {database.shown} cannot be used: {reason(error)}") from error
    except ComputeError as error:
        if not isinstance(error.__cause__, DBAPIError | UnicodeDecodeError):
            raise
        if error.code != UNAVAILABLE:
            hint = "restore it from a backup, or remove it to begin anew; or is this the wrong one?"
            raise refused(f"the database {database.shown} cannot be used: {reason(error.__cause__)}", hint) from error
        raise unavailable(f"{BUSY}: {reason(error.__cause__)}") from error


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run the migrations that are missing, in the transaction of the connection: all, or those up to a version."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", "better_compute.storage:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, to)
    except CommandError as error:
        raise refused(f"the database has a schema that no build made: {error}") from error


def _migrate(connection: Connection, instance_id: str) -> bool:
    without_limits(connection)
    # On SQLite this transaction holds the write lock. On PostgreSQL two may make this table at once: the second gets
    # an error when the first commits, is run again, and waits at the lock.
    schema_version.create(connection, checkfirst=True)
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE alembic_version IN SHARE ROW EXCLUSIVE MODE"))
    found = _found(connection)
    if found == NEWEST:
        return False
    if found is None:
        tables = [table for table in metadata.sorted_tables if table is not schema_version]
        metadata.create_all(connection, tables=tables, checkfirst=False)
        connection.execute(schema_version.insert(), {"version_num": NEWEST})
        connection.execute(meta.insert(), {"name": "instance_id", "value": instance_id})
    else:
        upgrade(connection)
    return True


def _found(connection: Connection) -> str | None:
    """The schema's version, None for a database without one."""
    names = set(inspect(connection).get_table_names())
    if schema_version.name not in names:
        # A server's database may be shared with tables of other names, a file is ours or not.
        strange = names if connection.dialect.name == "sqlite" else names & metadata.tables.keys()
        if strange:
            raise refused(f"the database holds tables that are not ours: {', '.join(sorted(strange))}")
        return None
    found = connection.scalar(select(schema_version.c.version_num))
    if found is not None and not found.isdecimal():
        raise refused("the database has the schema of another program")
    if found is not None and found > NEWEST:
        raise SchemaTooNewError(found, NEWEST)
    return found


def _write_ahead(database: Database) -> None:
    """Let readers and a writer of the SQLite file work at once; the file remembers it.

    Of several processes that do so at once SQLite lets one, and refuses the others at once, whatever their timeout. So
    the waiting is done here, on a connection that does none of its own and is not used again.
    """
    waited = 0.0
    with database.engine.connect() as connection:
        connection.detach()
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.cursor().execute("PRAGMA busy_timeout = 0")
        for attempt in count():
            try:
                raw.cursor().execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if waited >= database.wait_seconds:
                    raise unavailable(f"{BUSY}: {error}") from error
            waited += database.pause(attempt)
