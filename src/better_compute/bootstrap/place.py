"""Where a database is."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem

_FILE = "sqlite:///"
_NO_PATH = re.compile(
    r"\A(sqlite|postgres|postgresql)(\+\w+)?:|\b(host|hostaddr|user|(ssl)?password|dbname)\s*=|\A[^:]*:[^@]*@",
    re.IGNORECASE,
)
"""A URL with a slip in it or without its scheme, or libpq's other spelling: as a path it would be a new file, named
after a password. A file that has such a name is still opened by its URL."""


def url_of(database: str) -> str:
    """The URL of a database that is given by its URL, or by the path of an SQLite file. Raises ComputeError for what is
    plainly neither; its text is not shown."""
    if "://" in database:
        return database
    if _NO_PATH.search(database):
        message, hint = "this is not the URL of a database", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
        raise ComputeError(Problem(INVALID_INPUT, "storage.url", message, hint=hint))
    return _FILE + database


def is_there(database: str) -> bool:
    """Whether there is something to open, or opening would make a new database: without its file, and when that has no
    bytes, which is what `touch` makes. A server's database is there: whether it has tables is not asked. So is what is
    no file: opening tells that it cannot be a database."""
    url = url_of(database)
    if not url.startswith(_FILE):
        return True
    try:
        state = Path(url.removeprefix(_FILE)).stat()
        return state.st_size > 0 or not stat.S_ISREG(state.st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True  # opening it tells what is wrong
