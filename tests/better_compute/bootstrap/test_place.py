"""Whether a database is there, or would be made."""

import os
from pathlib import Path

import pytest

from better_compute.bootstrap import SYSTEM, is_there
from better_compute.bootstrap.plane import opened, opened_store
from better_compute.domain.problems import ComputeError


@pytest.mark.parametrize("scheme", ["", "sqlite:///"], ids=["path", "url"])
def test_a_file_is_there_once_it_was_opened(tmp_path: Path, scheme: str) -> None:
    database = f"{scheme}{tmp_path / 'deep' / 'plane.db'}"
    assert not is_there(database)
    opened_store(database, SYSTEM).close()
    assert is_there(database)


def test_a_file_of_no_bytes_is_none_yet(tmp_path: Path) -> None:
    path = tmp_path / "plane.db"
    path.touch()
    assert not is_there(str(path))
    with pytest.raises(ComputeError, match="there is no database at"), opened(str(path), SYSTEM, create=False):
        pass
    assert path.read_bytes() == b""


def test_what_cannot_be_opened_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert not is_there(str(tmp_path / "file" / "plane.db"))
    assert is_there("a\0b")
    assert is_there(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    assert is_there(str(tmp_path / "pipe"))
    assert is_there("postgresql://nowhere/x")


@pytest.mark.parametrize("name", ["a@b.db", "a@b:c.db", "12:30.db"])
def test_a_name_with_one_of_a_passwords_signs_is_a_path(name: str, tmp_path: Path) -> None:
    opened_store(str(tmp_path / name), SYSTEM).close()
    assert (tmp_path / name).is_file()


def test_a_file_with_such_a_name_is_opened_by_its_url(tmp_path: Path) -> None:
    path = tmp_path / "u:s3cret@h.db"
    opened_store(f"sqlite:///{path}", SYSTEM).close()
    assert path.is_file()


@pytest.mark.parametrize(
    "database",
    [
        "host=127.0.0.1 password=s3cret",
        "postgresql:/u:s3cret@h/db",
        "sqlite:plane.db",
        "postgres:u@h",
        "dbname = s3cret",
        "u:s3cret@h/db",
        "//u:s3cret@h/db",
        "u:s3/c@ret@h:5432/db",
        "u:s3c\nret@h/db",
        "u@h/db?sslpassword=s3cret",
    ],
)
def test_what_is_plainly_no_path_is_no_file_and_is_not_repeated(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ComputeError, match="not the URL of a database") as caught, opened(database, SYSTEM):
        pass
    assert "s3cret" not in repr(caught.value.problems)
    assert list(tmp_path.iterdir()) == []
