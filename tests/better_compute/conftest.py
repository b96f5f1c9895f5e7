"""Control planes on real databases, for tests of the service and of the doors to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.better_compute.copies import copied
from tests.better_compute.plane import Plane, open_plane


@pytest.fixture(scope="session")
def fresh_plane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SQLite file of a plane that nobody has asked anything yet."""
    path = tmp_path_factory.mktemp("fresh") / "plane.sqlite"
    open_plane(f"sqlite:///{path}").store.close()
    return path


@pytest.fixture
def plane(fresh_plane: Path, tmp_path: Path) -> Iterator[Plane]:
    """A control plane on SQLite."""
    plane = open_plane(f"sqlite:///{shutil.copy(fresh_plane, tmp_path)}")
    yield plane
    plane.store.close()


@pytest.fixture(scope="session")
def fresh_postgres(postgres_server: postgres.Server) -> Iterator[str]:
    """The same on PostgreSQL: its URL."""
    with postgres_server.database() as url:
        open_plane(url).store.close()
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Plane]:
    """A control plane: the test that takes it runs on SQLite, and again on PostgreSQL."""
    with copied(request, tmp_path, sqlite="fresh_plane", postgresql="fresh_postgres") as url:
        plane = open_plane(url)
        try:
            yield plane
        finally:
            plane.store.close()
