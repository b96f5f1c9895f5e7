"""The only SQL: the service's `Store` on SQLite and on PostgreSQL, with the same SQLAlchemy Core code.

Every transaction goes through `database.Database.run`. No sequences, advisory locks or notifications: ids come from
the caller, so that databases that merely speak PostgreSQL's language serve as well.
"""

from better_compute.storage.errors import SchemaTooNewError
from better_compute.storage.store import SqlStore, open_store

__all__ = ["SchemaTooNewError", "SqlStore", "open_store"]
