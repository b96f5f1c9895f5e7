"""bootstrap, token, world, migrate, family: what needs no server."""

import io
import os
import socket
from pathlib import Path

import pytest

from better_compute.service.actions import ROOT_ADMIN
from tests.better_compute.cli.conftest import WORLD, Run


def test_a_database_is_prepared_with_its_world_and_roots_token(cli: Run, tmp_path: Path) -> None:
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    database, token = f"sqlite:///{tmp_path / 'new.db'}", tmp_path / "root.token"
    flags = ("--database", database, "--world", str(world), "--token-file", str(token))
    first = cli("bootstrap", *flags)
    assert (first.code, first.out, first.err) == (0, "", f"{token} holds root-admin's token\n")
    again = cli("bootstrap", *flags)
    assert (again.code, again.err) == (0, f"{token} holds root-admin's token, as before\n")
    secret = token.read_text().strip()
    assert secret not in first.err + again.err
    assert "sa_fleet" in cli("identities", "list", "--database", database, "--as", ROOT_ADMIN).out
    world.write_text(WORLD + "providerAccounts: [{id: pa_north, tenantId: root}]\n")
    assert cli("bootstrap", *flags).code == 0
    assert "pa_north" in cli("providerAccounts", "list", "--database", database, "--as", ROOT_ADMIN).out


def test_a_token_is_all_that_is_on_stdout(cli: Run, database: str) -> None:
    done = cli("token", "sa_fleet", "--database", database)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("bc_")
    assert done.out.count("\n") == 1


def test_a_token_may_go_to_a_file_and_is_in_no_output(cli: Run, database: str, tmp_path: Path) -> None:
    file = tmp_path / "fleet.token"
    flags = ("token", "sa_fleet", "--database", database, "--token-file", str(file))
    first, again = cli(*flags), cli(*flags)
    assert (first.code, first.out, first.err) == (0, "", f"{file} holds sa_fleet's token\n")
    assert (again.code, again.out, again.err) == (0, "", f"{file} holds sa_fleet's token, as before\n")
    assert file.stat().st_mode & 0o777 == 0o600
    listed = ("credentials", "list", "--identity-id", "sa_fleet", "--tenant", "root", "--format", "json")
    assert cli(*listed, "--database", database, "--as", "sa_fleet").out.count('"id"') == 1


def test_a_file_that_is_not_finished_is_no_token_to_ask_with(cli: Run, tmp_path: Path) -> None:
    file = tmp_path / "root.token"
    file.write_text(f"bc_{'0' * 64}\npending inst_x root-admin\n")
    done = cli("pools", "list", "--server", "http://127.0.0.1:1", "--token-file", str(file))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("INVALID_INPUT: the token is empty or holds characters that no token has")


def test_a_token_of_another_database_is_refused(cli: Run, database: str, tmp_path: Path) -> None:
    file = tmp_path / "root.token"
    assert cli("bootstrap", "--database", str(tmp_path / "other.db"), "--token-file", str(file)).code == 0
    for command in (("bootstrap",), ("token", "sa_fleet")):
        done = cli(*command, "--database", database, "--token-file", str(file))
        assert done.err == (
            f"CONFLICT: {file} holds a token that this database does not know\n"
            "Hint: give another file, or remove this one\n"
        )
        assert done.code == 1


def test_a_token_for_nobody_is_refused_and_makes_no_database(cli: Run, database: str, tmp_path: Path) -> None:
    done = cli("token", "sa_flet", "--database", database)
    assert (done.code, done.err) == (1, 'NOT_FOUND: no identity sa_flet\nHint: did you mean "sa_fleet"?\n')
    typo = tmp_path / "typo.db"
    assert "there is no database at" in cli("token", "sa_fleet", "--database", str(typo)).err
    assert not typo.exists()


def test_a_world_is_added_once(cli: Run, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = tmp_path / "more.yaml"
    world.write_text("tenants: [{id: globex}]\nidentities: [{id: sa_globex, tenantId: globex}]\n")
    monkeypatch.setenv("BETTER_COMPUTE_DATABASE", database)
    assert cli("world", str(world)).err == "2 added\n"
    assert cli("world", str(world)).err == "nothing to add\n"


def test_a_world_may_make_its_database(cli: Run, tmp_path: Path) -> None:
    world, database = tmp_path / "world.yaml", str(tmp_path / "made.db")
    world.write_text(WORLD)
    assert cli("world", str(world), "--database", database).err == "a new database\n"
    assert cli("world", str(world), "--database", database).err == "nothing to add\n"
    assert (
        '"instanceId":"test"'
        in cli("system", "info", "--database", database, "--as", "sa_fleet", "--format", "compact").out
    )


def test_a_world_that_is_wrong_is_told_with_its_line(cli: Run, database: str, tmp_path: Path) -> None:
    world = tmp_path / "bad.yaml"
    world.write_text("tenants:\n  - {id: globex, parent: root}\n")
    done = cli("world", str(world), "--database", database)
    assert done.code == 1
    assert done.err == (
        f"INVALID_INPUT: {world}:2:18: tenants[0].parent: unknown field; there are id, parentId\n"
        'Hint: did you mean "parentId"?\n'
    )


def test_migrate_says_where_the_schema_is(cli: Run, database: str) -> None:
    assert cli("migrate", "--database", database).err == "the schema is 0003\n"
    assert cli("migrate", "--database", "mysql://x").code == 1


def test_a_migrated_database_is_still_new_to_its_world(cli: Run, tmp_path: Path) -> None:
    database, world = str(tmp_path / "new.db"), tmp_path / "world.yaml"
    world.write_text(WORLD)
    assert cli("migrate", "--database", database).code == 0
    done = cli("bootstrap", "--database", database, "--world", str(world), "--token-file", str(tmp_path / "root"))
    assert (done.code, done.err) == (0, f"{tmp_path / 'root'} holds root-admin's token\n")


def test_the_family_of_names_that_are_given(cli: Run) -> None:
    assert cli("family", "NVIDIA H100 80GB HBM3", "GeForce Nonsense 9", "NVIDIA L40S").out == "H100\nunknown\nL40S\n"


def test_the_family_of_names_that_are_read(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("NVIDIA L40S\r\n\nNVIDIA H200"))
    assert cli("family").out == "L40S\nunknown\nH200\n"


COMMANDS = (
    ("migrate",),
    ("bootstrap", "--token-file", "root.token"),
    ("serve", "--listen", "127.0.0.1:0"),
    ("world", "world.yaml"),
    ("token", "sa_fleet"),
    ("pools", "list", "--as", "sa_fleet"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
@pytest.mark.parametrize("scheme", ["", "sqlite:///"], ids=["path", "url"])
def test_what_is_no_file_is_no_database_and_nobody_waits_for_it(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], scheme: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("world.yaml").write_text(WORLD)
    Path("directory").mkdir()
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for name in ("directory", "pipe", "link", "socket", "/dev/null", "/dev/zero"):
            done = cli(*command, "--database", f"{scheme}{name}")
            assert (done.code, done.out) == (1, "")
            says = "Is a directory" if name == "directory" else "Not a file"
            assert done.err == f"INVALID_INPUT: the database file {name!r} cannot be opened: {says}\n"
    assert not Path("root.token").exists()
