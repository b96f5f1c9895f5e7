"""What a database wants is said: a lock to wait for and a disk to make room on are two things."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, event, text

from better_compute.domain.problems import INTERNAL_ERROR, UNAVAILABLE, ComputeError
from better_compute.domain.state import PoolState
from tests.better_compute.storage.changes import carry_out, opened, pool_state, populate
from tests.decisions import create


def test_a_database_that_can_only_be_read_says_so(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
        event.listen(store._database.engine, "begin", lambda c: c.exec_driver_sql("PRAGMA query_only = ON"))
        with pytest.raises(ComputeError, match=r"(?m)^the database can only be read: nothing was written$") as caught:
            carry_out(store, create())
        assert (caught.value.code, caught.value.retry_after_ms) == (UNAVAILABLE, 1000)
        assert pool_state(store) == PoolState()


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("53100", "the disk of the database is full"),
        ("53300", "the database has no connection to spare"),
        ("25006", "the database can only be read"),
        ("57014", "the database took too long, or was told to stop"),
        ("55P03", "the database is busy or not reachable"),
    ],
)
def test_what_is_wanting_is_said(postgres_url: str, state: str, says: str) -> None:
    with opened(postgres_url) as store:

        def work(connection: Connection) -> None:
            connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '{state}'; END $$"))

        with pytest.raises(ComputeError) as caught:
            store._database.write(work)
        assert (caught.value.code, str(caught.value)) == (UNAVAILABLE, f"{says}: nothing was written")
        assert caught.value.__notes__ == ["so"], "what the driver says, without the statement"


@pytest.mark.parametrize("state", ["XX001", "XX002"])
def test_a_database_that_is_damaged_says_so_and_not_to_come_back(postgres_url: str, state: str) -> None:
    with opened(postgres_url) as store:

        def work(connection: Connection) -> None:
            connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '{state}'; END $$"))

        with pytest.raises(ComputeError, match=r"(?m)^the database is damaged$") as caught:
            store._database.write(work)
        assert (caught.value.code, caught.value.retry_after_ms) == (INTERNAL_ERROR, None)


def test_pages_that_are_damaged_under_a_running_server_are_told(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
        carry_out(store, create())
        store._database.engine.dispose()
        path = Path(sqlite_url.removeprefix("sqlite:///"))
        data = path.read_bytes()
        path.write_bytes(data[:4096] + bytes(len(data) - 4096))
        with pytest.raises(ComputeError, match=r"(?m)^the database is damaged$"):
            pool_state(store)


def test_a_text_that_is_none_is_told_as_damage(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
        store._database.write(lambda c: c.execute(text("UPDATE tenants SET status = CAST(x'ff' AS TEXT)")))
        with pytest.raises(ComputeError, match=r"(?m)^the database is damaged$"):
            store.view(lambda tx: tx.tenant("root"))
