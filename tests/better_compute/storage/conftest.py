from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from better_compute.storage import SqlStore
from tests.better_compute.storage.changes import opened, populate


@pytest.fixture
def store(database_url: str) -> Iterator[SqlStore]:
    """A store with tenants and a site: the test that takes it runs on SQLite, and again on PostgreSQL."""
    with opened(database_url) as store:
        populate(store)
        yield store


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a file that is not there yet."""
    return f"sqlite:///{tmp_path / 'better-compute.sqlite'}"
