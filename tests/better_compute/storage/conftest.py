from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from better_compute.storage import SqlStore
from tests import postgres
from tests.better_compute.storage.changes import opened, populate


@pytest.fixture(scope="session")
def populated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with tenants and a site, for tests to copy."""
    path = tmp_path_factory.mktemp("populated") / "better-compute.sqlite"
    with opened(f"sqlite:///{path}") as store:
        populate(store)
    return path


@pytest.fixture(scope="session")
def populated_postgres(postgres_server: postgres.Server) -> Iterator[str]:
    """The same on PostgreSQL: its URL."""
    with postgres_server.database() as url:
        with opened(url) as store:
            populate(store)
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """A store with tenants and a site: the test that takes it runs on SQLite, and again on PostgreSQL."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{shutil.copy(request.getfixturevalue('populated_sqlite'), tmp_path)}"
        else:
            server: postgres.Server = request.getfixturevalue("postgres_server")
            url = stack.enter_context(server.database(like=request.getfixturevalue("populated_postgres")))
        yield stack.enter_context(opened(url))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a file that is not there yet."""
    return f"sqlite:///{tmp_path / 'better-compute.sqlite'}"
