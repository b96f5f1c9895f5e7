from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.better_compute.plane import Plane, open_plane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """A control plane on SQLite."""
    plane = open_plane(f"sqlite:///{tmp_path / 'plane.sqlite'}")
    yield plane
    plane.store.close()


@pytest.fixture
def either(database_url: str) -> Iterator[Plane]:
    """A control plane: the test that takes it runs on SQLite, and again on PostgreSQL."""
    plane = open_plane(database_url)
    yield plane
    plane.store.close()
