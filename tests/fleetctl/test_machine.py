"""Files are written whole, and a commit is named where the files are of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetctl.machine import commit_of, save


def test_a_file_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save(path, b"one")
    save(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(OSError, match=r"plan\.json"):
        save(tmp_path / "plan.json", b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_file_that_cannot_be_made_is_named_as_people_named_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        save(tmp_path / "none" / "plan.json", b"one")
    assert caught.value.filename == str(tmp_path / "none" / "plan.json")


def test_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save(pipe, b"one")
        assert os.read(reader, 10) == b"one"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    (fleet / "fleet.yaml").write_text("apiVersion: fleet/v1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a fleet")
    return fleet


def git(directory: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    ran = subprocess.run(["git", *who, *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def test_committed_files_are_of_their_commit(repository: Path) -> None:
    assert commit_of(repository) == git(repository, "rev-parse", "HEAD")


def test_files_that_differ_from_the_commit_are_of_none(repository: Path) -> None:
    (repository / "more").mkdir()
    (repository / "more" / "b.yml").write_text("pools: []\n")
    assert commit_of(repository) is None


def test_other_files_do_not_count(repository: Path) -> None:
    (repository / "control-plane.db").write_text("")
    (repository.parent / "README").write_text("")
    assert commit_of(repository) is not None


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None


def test_settings_of_the_repository_start_no_program(repository: Path) -> None:
    git(repository, "config", "core.fsmonitor", f"touch '{repository.parent / 'ran'}'; false")
    commit_of(repository)
    assert not (repository.parent / "ran").exists()
