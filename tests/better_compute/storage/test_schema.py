"""The schema: made once by whoever comes first, the same by every way, and never touched by an older build."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, cast

import pytest
from sqlalchemy import Connection, Inspector, event, inspect, text

from better_compute.bootstrap.arrivals import Machines
from better_compute.domain.hosts import Host
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import count_node
from better_compute.domain.problems import INVALID_INPUT, UNAVAILABLE, ComputeError
from better_compute.domain.state import Rollup
from better_compute.storage import SchemaTooNewError, schema
from better_compute.storage.database import Database
from better_compute.storage.rows import machines_json, to_json
from better_compute.storage.store import SqlStore
from better_compute.storage.tables import metadata
from tests import postgres
from tests.better_compute.storage.changes import carry_out, opened, populate
from tests.builders import a_node
from tests.decisions import create

# Opens each database whose URL comes in, at the same moment as its siblings, and says what it found.
RACER = """
import json, os, sys, time
from better_compute.storage import open_store
for line in sys.stdin:
    try:
        store = open_store(line.strip(), clock=lambda: 1, sleep=time.sleep, entropy=os.urandom)
        found = [store.view(lambda tx: tx.instance_id()), "alembic" in sys.modules]
        store.close()
    except Exception as error:
        found = [repr(error), True]
    print(json.dumps(found), flush=True)
"""


@contextmanager
def database(url: str) -> Iterator[Database]:
    found = Database(url, 5, lambda _: None, os.urandom)
    yield found
    found.close()


@pytest.fixture(scope="module")
def race() -> Iterator[Callable[[str], list[Any]]]:
    """Five processes that open a database, all of them at once."""
    command = [sys.executable, "-W", "error", "-c", RACER]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    processes = [subprocess.Popen(command, **pipes) for _ in range(5)]
    ends = [(cast(IO[str], p.stdin), cast(IO[str], p.stdout)) for p in processes]

    def run(url: str) -> list[Any]:
        for requests, _ in ends:
            requests.write(f"{url}\n")
        return [json.loads(answers.readline()) for _, answers in ends]

    yield run
    for process in processes:
        process.communicate()


ROUNDS = [5, pytest.param(50, marks=pytest.mark.long)]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_five_processes_come_up_on_an_empty_file_at_once(
    race: Callable[[str], list[Any]], tmp_path: Path, rounds: int
) -> None:
    for number in range(rounds):
        assert_one_made_it(race(f"sqlite:///{tmp_path / str(number)}"))


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN; SELECT name FROM sqlite_master"], ids=["writer", "reader"])
def test_an_empty_file_that_another_holds_is_waited_for(tmp_path: Path, lock: str) -> None:
    path = tmp_path / "new.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.executescript(lock)
        with opened(f"sqlite:///{path}", sleep=lambda _: other.rollback()) as store:
            assert store.view(lambda tx: tx.instance_id())
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_that_another_does_not_give_up_is_not_waited_for_endlessly(tmp_path: Path) -> None:
    path, slept = tmp_path / "new.sqlite", list[float]()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with (
            pytest.raises(ComputeError, match="locked") as caught,
            opened(f"sqlite:///{path}", sleep=slept.append, wait_seconds=1.0),
        ):
            pass
    assert caught.value.code == UNAVAILABLE
    assert 1.0 <= sum(slept) < 1.5


@pytest.mark.parametrize("rounds", ROUNDS)
def test_five_processes_come_up_on_an_empty_server_at_once(
    race: Callable[[str], list[Any]], postgres_server: postgres.Server, rounds: int
) -> None:
    for _ in range(rounds):
        with postgres_server.database() as url:
            assert_one_made_it(race(url))


def assert_one_made_it(found: list[Any]) -> None:
    assert len({instance for instance, _ in found}) == 1, found
    assert found[0][0].startswith("inst_"), found
    assert not any(alembic for _, alembic in found), "Alembic is for older schemas alone"


def test_the_schema_is_made_once(database_url: str) -> None:
    with database(database_url) as found:
        assert schema.prepare(found, "inst_1") is True
        assert schema.prepare(found, "inst_2") is False
        assert found.read(lambda c: c.scalar(text("SELECT value FROM meta WHERE name = 'instance_id'"))) == "inst_1"
        assert found.read(lambda c: c.scalars(text("SELECT version_num FROM alembic_version")).all()) == [schema.NEWEST]


def described(connection: Connection) -> dict[str, Any]:
    """All that the database says of its tables."""
    found = inspect(connection)
    return {table: described_table(connection, found, table) for table in sorted(found.get_table_names())}


def described_table(connection: Connection, found: Inspector, table: str) -> dict[str, Any]:
    columns = [{**column, "type": repr(column["type"])} for column in found.get_columns(table)]
    sqlite = connection.dialect.name == "sqlite"
    source = f"SELECT sql LIKE '%WITHOUT ROWID%' FROM sqlite_master WHERE name = '{table}'" if sqlite else "SELECT 0"
    return {
        "columns": columns,
        "primary key": found.get_pk_constraint(table),
        "foreign keys": sorted(found.get_foreign_keys(table), key=str),
        "unique": sorted(found.get_unique_constraints(table), key=str),
        "checks": sorted(found.get_check_constraints(table), key=str),
        "indexes": sorted(map(plain, found.get_indexes(table)), key=str),
        "clustered": connection.scalar(text(source)),
    }


def plain(index: Any) -> dict[str, Any]:
    """An index with the condition of a partial one as text."""
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return {**index, "dialect_options": options}


def test_the_migrations_make_the_tables_that_a_new_database_gets(database_url: str) -> None:
    with database(database_url) as found:
        found.write(schema.upgrade)
        migrated = found.read(described)
        found.write(lambda c: metadata.drop_all(c))
        schema.prepare(found, "inst_1")
        created = found.read(described)
    assert migrated == created
    assert created["pool_quotas"]["checks"]
    assert created["pool_quotas"]["foreign keys"]
    assert created["events"]["unique"]
    assert len(created) == len(metadata.tables)


OLD_NOTE: dict[str, Any] = {
    "groups": {
        "of-old": {
            "pool": "k1",
            "tenant_id": None,
            "caller": "sa_fleet",
            "owner_tenant_id": None,
            "inventory": {"gpus": ["NVIDIA H100 80GB HBM3"], "vcpu": 8, "attributes": {"rack": "ä"}},
            "count": 3,
            "joined": "pool_1",
        }
    }
}


def made_by_0001(url: str, note: Mapping[str, Any] | None) -> None:
    """A database as the first schema had it, with its note of a world's machines."""
    notes = {"instance_id": "inst_1"} | ({} if note is None else {"world_machines": json.dumps(note)})

    def work(connection: Connection) -> None:
        schema.upgrade(connection, "0001")
        for name, value in notes.items():
            connection.execute(text("INSERT INTO meta VALUES (:name, :value)"), {"name": name, "value": value})

    with database(url) as found:
        found.write(work)
        populate(SqlStore(found))


@pytest.mark.parametrize("note", [None, {}, {"groups": {}}], ids=["none", "empty", "no groups"])
def test_an_older_database_with_no_machines_is_brought_to_todays_schema(
    database_url: str, note: Mapping[str, Any] | None
) -> None:
    made_by_0001(database_url, note)
    with opened(database_url) as store:
        carry_out(store, create())
        assert store.view(lambda tx: tx.waiting_machines()) == []


def said_by(number: int) -> dict[str, str | int]:
    return {"rack": f"ä{number % 7}", "row": number % 3, "slot": str(number % 3), "vramGiB": 80} if number else {}


SAID = {f"node_{number:04}": said_by(number) for number in range(1_200)}
"""Machine -> what it says of itself; more than are read at once."""


def test_what_the_machines_of_an_older_database_say_is_kept_as_if_they_joined_today(database_url: str) -> None:
    hosts = [Host(node=a_node(node_id, inventory=Inventory(attributes=said))) for node_id, said in SAID.items()]
    made_by_0001(database_url, None)
    with database(database_url) as found:
        carry_out(SqlStore(found), create())
        rows = [{"id": host.node.id, "said": to_json(asdict(host.node.inventory))} for host in hosts]
        row = "(id, pool_id, role, inventory, joined_at) VALUES (:id, 'pool_1', 'host', :said, 1)"
        found.write(lambda c: c.execute(text(f"INSERT INTO nodes {row}"), rows))
    with opened(database_url) as store:
        migrated = store._database.read(all_said)
        for table in ("node_attributes", "nodes"):
            store._database.write(lambda c, t=table: c.execute(text(f"DELETE FROM {t}")))  # type: ignore[misc]
        store.transact(lambda tx: tx.save_hosts([(None, host) for host in hosts]))
        assert migrated == store._database.read(all_said)
    assert len(migrated) == 4 * 1_199


THERE = {
    "pool_1": [("NVIDIA H100 80GB HBM3",) * 4, (), ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3 MIG 1g.10gb")],
    "pool_2": [("NVIDIA-H100-80GB-HBM3-MIG-1c.3g.40gb",) * 2, ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me",)] * 70,
    "pool_3": [],
}
"""Pool -> the GPUs of its machines; more than are read at once."""


def test_what_pools_of_an_older_database_note_of_their_machines_is_counted_as_today(database_url: str) -> None:
    """It noted no instances, and took them for GPUs."""
    made_by_0001(database_url, None)
    there = [
        a_node(f"{pool_id}_{n}", pool_id=pool_id, inventory=Inventory(gpus=gpus))
        for pool_id, machines in THERE.items()
        for n, gpus in enumerate(machines)
    ]
    there += [
        replace(there[0], id="node_odd", quarantined="Quux", gpu_model=None),
        replace(there[0], id="z", role="infra"),
    ]
    recount = {pool_id: Rollup() for pool_id in THERE}
    for node in there:
        recount[node.pool_id] = count_node(recount[node.pool_id], node)
    with database(database_url) as found:
        for n, pool_id in enumerate(THERE):
            carry_out(SqlStore(found), create(pool_id=pool_id, idempotency_key=f"k{n}"))
            noted = json.loads(machines_json(recount[pool_id])) | {"gpus": 140}
            del noted["instances"]
            note = {"rollup": json.dumps(noted), "id": pool_id}
            found.write(lambda c, v=note: c.execute(text("UPDATE pools SET rollup = :rollup WHERE id = :id"), v))  # type: ignore[misc]
        rows = [asdict(node) | {"inventory": to_json(asdict(node.inventory))} for node in there]
        columns = "id, pool_id, role, gpu_model, inventory, joined_at, quarantined"
        values = ", ".join(f":{name}" for name in columns.split(", "))
        found.write(lambda c: c.execute(text(f"INSERT INTO nodes ({columns}) VALUES ({values})"), rows))
    with opened(database_url) as store:
        noted_now = store._database.read(lambda c: c.execute(text("SELECT id, rollup FROM pools")).all())
    assert {row.id: row.rollup for row in noted_now} == {
        pool_id: machines_json(rollup) for pool_id, rollup in recount.items()
    }
    assert {pool_id: (r.gpus, r.instances) for pool_id, r in recount.items()} == {
        "pool_1": (4, 1),
        "pool_2": (0, 210),
        "pool_3": (0, 0),
    }


def all_said(connection: Connection) -> list[tuple[str, ...]]:
    """The attributes of all machines, as they are kept."""
    return [tuple(row) for row in connection.execute(text("SELECT * FROM node_attributes ORDER BY 1, 2, 3"))]


def test_five_processes_bring_an_older_database_to_todays_schema_at_once(
    race: Callable[[str], list[Any]], database_url: str
) -> None:
    made_by_0001(database_url, OLD_NOTE)
    assert len({instance for instance, _ in race(database_url)}) == 1
    [old] = OLD_NOTE["groups"].values()
    machines = Machines(**{name: it for name, it in old.items() if name not in ("count", "joined")})
    group = replace(machines.group(3), joined="pool_1")
    with opened(database_url) as store:
        assert store.view(lambda tx: tx.machine_groups([group.digest])) == {group.digest: group}
        assert store._database.read(lambda c: c.scalars(text("SELECT name FROM meta")).all()) == ["instance_id"]


def test_migrations_are_run_in_the_transaction_of_their_caller(database_url: str) -> None:
    def work(connection: Connection) -> None:
        schema.upgrade(connection)
        raise ZeroDivisionError

    with database(database_url) as found:
        with pytest.raises(ZeroDivisionError):
            found.write(work)
        assert found.read(described) == {}


def test_what_changes_the_schema_may_take_its_time(postgres_url: str) -> None:
    def slowly(_: object, connection: Connection, **__: object) -> None:
        connection.execute(text("SELECT pg_sleep(0.4)"))
        time.sleep(0.1)

    event.listen(metadata, "before_create", slowly)
    try:
        with opened(postgres_url, statement_seconds=0.2) as store:
            populate(store)
            with pytest.raises(ComputeError, match="took too long"):
                store._database.write(lambda c: c.execute(text("SELECT pg_sleep(0.4)")))
    finally:
        event.remove(metadata, "before_create", slowly)


def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    with opened(database_url) as store:
        populate(store)
        store._database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '0099'")))
    with database(database_url) as found:
        before = found.read(described)
    with pytest.raises(SchemaTooNewError, match="schema is newer than this build: it is 0099"), opened(database_url):
        pass
    with database(database_url) as found:
        assert found.read(described) == before
        assert found.read(lambda c: c.scalar(text("SELECT version_num FROM alembic_version"))) == "0099"


def test_a_schema_that_no_build_made_is_refused(database_url: str) -> None:
    with opened(database_url) as store:
        store._database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '0000'")))
    assert_refused(database_url, "0000")


def test_a_database_of_others_is_left_alone(database_url: str) -> None:
    with database(database_url) as found:
        found.write(lambda c: c.execute(text("CREATE TABLE pools (depth INTEGER)")))
        assert_refused(database_url, "pools")
        assert list(found.read(described)) == ["pools"]


def assert_refused(url: str, message: str, code: str = INVALID_INPUT) -> ComputeError:
    with pytest.raises(ComputeError, match=message) as caught, opened(url):
        pass
    assert caught.value.code == code
    assert "Traceback" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "url",
    ["", "pools.sqlite", "sqlite://", "sqlite:///", "sqlite:///:memory:", "mysql://root@localhost/x", "sqlite:///a\0b"],
)
def test_what_is_no_database_url_is_refused(url: str) -> None:
    assert_refused(url, "sqlite:///")


def test_a_postgresql_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    error = assert_refused("postgresql://me:s3cret%zz@host/db", "not a PostgreSQL URL")
    assert "s3cret" not in repr(error) + repr(error.__cause__)


def test_a_password_with_a_bare_at_sign_is_not_taken_for_a_host() -> None:
    assert "%40" in assert_refused("postgresql://me:my@s3cret@/db", "not a PostgreSQL URL").problems[0].hint
    for rest in ("@db.invalid/db", "/x@127.0.0.1:1/db", ":5@127.0.0.1", ":5/x@127.0.0.1:1"):
        error = assert_refused(f"postgresql://me:my@s3cret{rest}", "not a PostgreSQL URL")
        assert "s3cret" not in repr(error)


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    error = assert_refused(f"postgresql://me:s3cret@/db?host={tmp_path}", "not reachable", UNAVAILABLE)
    assert error.retry_after_ms == 1000
    assert "s3cret" not in str(error)


def test_a_database_that_is_not_there_says_so(postgres_url: str) -> None:
    error = assert_refused(postgres_url.replace("better_compute_test_", "no_such_"), "not reachable", UNAVAILABLE)
    assert "does not exist" in str(error)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    problem = assert_refused(f"sqlite:///{path}", "not a database").problems[0]
    assert problem.message == f"the database sqlite:///{path} cannot be used: file is not a database"
    assert problem.hint.startswith("restore it from a backup, or remove it to begin anew")
    assert path.read_text().startswith("remember the milk")


@pytest.mark.parametrize("size", [1, 100, 511])
def test_a_file_that_is_smaller_than_a_database_is_left_alone(tmp_path: Path, size: int) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"x" * size)
    assert_refused(f"sqlite:///{path}", "is no database")
    assert path.read_bytes() == b"x" * size


def test_a_file_of_no_bytes_may_become_a_database(tmp_path: Path) -> None:
    (tmp_path / "new.db").touch()
    with opened(f"sqlite:///{tmp_path / 'new.db'}") as store:
        populate(store)


def test_a_schema_whose_names_are_no_text_is_told_as_damage(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        populate(store)
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    path.write_bytes(path.read_bytes().replace(b"ix_events_newest", b"ix_\xff\x1bents_newest"))
    error = assert_refused(sqlite_url, "malformed database schema")
    assert "ix_\ufffd\\x1bents_newest" in str(error)
    assert error.problems[0].hint.startswith("restore it from a backup")


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    assert_refused(f"sqlite:///{tmp_path}", "cannot be opened: Is a directory")


def test_a_path_below_a_file_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_refused(f"sqlite:///{tmp_path / 'file' / 'x.sqlite'}", "cannot be opened")


def test_the_file_is_for_its_owner_alone_and_its_directory_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b%20c?d" / "state #1.sqlite"
    with opened(f"sqlite:///{path}") as store:
        populate(store)
        files = [file for file in path.parent.iterdir() if file.name != ".gitignore"]
        assert len(files) == 3, "the file, its log and its index"
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_directory_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'state.sqlite'}") as store:
        populate(store)
    assert not (tmp_path / ".gitignore").exists()


def test_a_relative_path_is_one_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("sqlite:///here.sqlite") as store:
        populate(store)
    assert (tmp_path / "here.sqlite").exists()


def test_an_opened_database_is_found_again(database_url: str) -> None:
    with opened(database_url) as store:
        first = store.view(lambda tx: tx.instance_id())
    with opened(database_url) as store:
        assert store.view(lambda tx: tx.instance_id()) == first
