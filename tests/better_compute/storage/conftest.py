from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from better_compute.storage import SqlStore
from tests import postgres
from tests.better_compute.copies import copied
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
    with (
        copied(request, tmp_path, sqlite="populated_sqlite", postgresql="populated_postgres") as url,
        opened(url) as store,
    ):
        yield store


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a file that is not there yet."""
    return f"sqlite:///{tmp_path / 'better-compute.sqlite'}"
