"""Where a database is."""

from __future__ import annotations

from pathlib import Path

_FILE = "sqlite:///"


def url_of(database: str) -> str:
    """The URL of a database that is given by its URL, or by the path of an SQLite file."""
    return database if "://" in database else _FILE + database


def is_there(database: str) -> bool:
    """Whether there is something to open, or opening would make a new database: without its file, and when that has no
    bytes, which is what `touch` makes. A server's database is there: whether it has tables is not asked."""
    url = url_of(database)
    if not url.startswith(_FILE):
        return True
    try:
        return Path(url.removeprefix(_FILE)).stat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True  # opening it tells what is wrong
