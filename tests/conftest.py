"""Databases for every test that asks for one, and what holds for a whole run."""

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres

# How long an example takes is said by the machine, not by what is tested.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# A job in the background has SIGINT ignored, and so would have every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: no collector looks for garbage in it, now or while the tests run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A running PostgreSQL, one a test process."""
    try:
        with postgres.server() as server:
            yield server
    except postgres.UnavailableError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def postgres_url(postgres_server: postgres.Server) -> Iterator[str]:
    """The SQLAlchemy URL of an empty PostgreSQL database of the test's own."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The SQLAlchemy URL of an empty database: a test that takes it runs on SQLite, and again on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'better-compute.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    return url
