"""Bringing a database to this build's schema, when several processes may do so at once."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import DBAPIError

from better_compute.storage.database import Database
from better_compute.storage.engines import refused
from better_compute.storage.errors import SchemaTooNewError
from better_compute.storage.tables import meta, metadata, schema_version

NEWEST = "0001"
"""The last of `migrations/versions`; versions are numbers, each one higher than the one before."""


def prepare(database: Database, instance_id: str) -> bool:
    """Make the schema the newest this build knows. True if this call did it, False if it was already.

    Alembic is loaded only to get from an older schema to this one: a new database gets its tables as they are today.
    Raises SchemaTooNewError, and ComputeError INVALID_INPUT for a file or database that is not ours; then nothing was
    written.
    """
    try:
        if database.read(_found) == NEWEST:
            return False
        if database.dialect == "sqlite":
            _write_ahead(database)
        return database.write(lambda connection: _migrate(connection, instance_id))
    except DBAPIError as error:
        reason = str(error.orig).splitlines()[0]
        raise refused(f"the database cannot be used: {reason}") from error


def upgrade(connection: Connection) -> None:
    """Run the migrations that are missing, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "better_compute.storage:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def create(connection: Connection) -> None:
    """All tables as they are today, in a database without any."""
    metadata.create_all(connection, tables=[t for t in metadata.sorted_tables if t is not schema_version])
    connection.execute(schema_version.insert(), {"version_num": NEWEST})


def _migrate(connection: Connection, instance_id: str) -> bool:
    # On SQLite this transaction holds the write lock. On PostgreSQL two may make this table at once: the second gets
    # an error when the first commits, is run again, and waits at the lock.
    schema_version.create(connection, checkfirst=True)
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE alembic_version IN SHARE ROW EXCLUSIVE MODE"))
    found = _found(connection)
    if found == NEWEST:
        return False
    if found is None:
        create(connection)
        connection.execute(meta.insert(), {"name": "instance_id", "value": instance_id})
    else:
        upgrade(connection)
    return True


def _found(connection: Connection) -> str | None:
    """The schema's version, None for a database without one. Raises SchemaTooNewError."""
    if not inspect(connection).has_table(schema_version.name):
        return None
    found = connection.scalar(select(schema_version.c.version_num))
    if found is not None and found > NEWEST:
        raise SchemaTooNewError(found, NEWEST)
    return found


def _write_ahead(database: Database) -> None:
    """Let readers and a writer of the SQLite file work at once; the file remembers it."""
    with database.engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.cursor().execute("PRAGMA journal_mode = WAL")
