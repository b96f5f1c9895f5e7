"""A side of a comparison: a directory, a file, or what a git revision has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetctl.errors import Stop
from fleetctl.files import FilesError
from fleetctl.fleet_diff import read_side

ROOT = "apiVersion: fleet/v1\ntenantId: root\nfleet: {name}\npools: [{{idempotencyKey: a, archived: true}}]\n"
ENVIRON = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(directory: Path, *arguments: str) -> str:
    environ = {**os.environ, **ENVIRON}
    ran = subprocess.run(["git", *arguments], cwd=directory, env=environ, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`fleet/` is called old at the tag v1, and new in the work tree; one file beside it at the tag as well."""
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "fleet.yaml").write_text(ROOT.format(name="old"))
    (tmp_path / "fleet.yaml").write_text(ROOT.format(name="top"))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "a fleet")
    git(tmp_path, "tag", "v1")
    (tmp_path / "fleet" / "fleet.yaml").write_text(ROOT.format(name="new"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "other", "name"),
    [
        ("fleet", "v1", "new"),
        ("fleet/fleet.yaml", "v1", "new"),
        ("v1:fleet", "fleet", "old"),
        ("v1", "fleet", "old"),
        ("HEAD", "fleet/fleet.yaml", "old"),
        ("v1:./fleet", "fleet", "old"),
        ("v1:fleet.yaml", "fleet", "top"),
    ],
)
def test_a_side_is_a_path_or_what_a_revision_has_there(repository: Path, given: str, other: str, name: str) -> None:
    side = read_side(given, other, caller=None)
    assert (side.given, side.desired.fleet) == (given, name)
    assert side.commit == (git(repository, "rev-parse", "v1") if name in ("old", "top") else None)


def test_two_revisions_are_of_the_current_directory(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "fleet")
    assert read_side("v1", "HEAD", caller=None).desired.fleet == "old"


def test_a_path_behind_a_revision_is_seen_from_the_top(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "fleet")
    assert read_side("v1:fleet", ".", caller=None).desired.fleet == "old"
    assert read_side("v1:./", ".", caller=None).desired.fleet == "old"


def test_what_is_a_path_and_a_revision_is_a_path(repository: Path) -> None:
    git(repository, "branch", "fleet")
    assert read_side("fleet", "v1", caller=None).commit is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere", "there is no commit nowhere in this repository"),
        ("v1:nowhere", "v1:nowhere is no path here, and neither is nowhere"),
        ("--output=x", "there is no commit --output=x in this repository"),
    ],
)
def test_what_is_neither_is_told(repository: Path, given: str, message: str) -> None:
    with pytest.raises(Stop) as caught:
        read_side(given, "fleet", caller=None)
    assert caught.value.message == message
    assert sorted(path.name for path in repository.iterdir()) == [".git", "fleet", "fleet.yaml"]


def test_a_fleet_that_came_later_is_not_in_the_revision(repository: Path) -> None:
    (repository / "later").mkdir()
    (repository / "later" / "fleet.yaml").write_text(ROOT.format(name="later"))
    with pytest.raises(Stop) as caught:
        read_side("v1:later", "fleet", caller=None)
    assert caught.value.message == "v1 has no fleet at this place"


def test_a_problem_says_which_side_it_is_of(repository: Path) -> None:
    (repository / "fleet" / "fleet.yaml").write_text("apiVersion: fleet/v1\n")
    for given, file in (("fleet", "fleet/fleet.yaml"), ("fleet/fleet.yaml", "fleet/fleet.yaml")):
        with pytest.raises(FilesError) as caught:
            read_side(given, "v1", caller=None)
        assert {problem.source.file for problem in caught.value.problems if problem.source} == {file}
    git(repository, "commit", "-q", "-a", "-m", "broken")
    with pytest.raises(FilesError) as caught:
        read_side("HEAD", "fleet", caller=None)
    assert {problem.source.file for problem in caught.value.problems if problem.source} == {"HEAD:fleet.yaml"}
