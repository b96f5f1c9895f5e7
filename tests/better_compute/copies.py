"""Databases that begin as a copy of one that a fixture of the session made."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import postgres


@contextmanager
def copied(request: pytest.FixtureRequest, tmp_path: Path, *, sqlite: str, postgresql: str) -> Iterator[str]:
    """The URL of a copy, on the database that the fixture's parameter names. `sqlite` and `postgresql` name the
    fixtures of the originals, a file and a URL: the one of the other database is not made."""
    if request.param == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue(sqlite), tmp_path)}"
        return
    server: postgres.Server = request.getfixturevalue("postgres_server")
    with server.database(like=request.getfixturevalue(postgresql)) as url:
        yield url
