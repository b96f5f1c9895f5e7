"""The commit that a report names is the one that holds the files, to the byte, or none is named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetctl.base.trees import commit_of
from fleetctl.desired.load import load


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


def of(fleet: Path) -> str | None:
    """The commit of every YAML file there is."""
    files = {str(path.relative_to(fleet)) for path in fleet.rglob("*.y*ml")}
    return commit_of(fleet, files)


def head(fleet: Path) -> str:
    return git(fleet, "rev-parse", "HEAD")


def test_committed_files_are_of_their_commit(repository: Path) -> None:
    assert of(repository) == head(repository)


def test_a_fleet_is_of_its_commit_also_through_a_link_from_outside(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("outside") / "link"
    link.symlink_to(repository)
    assert of(link) == head(repository)


def test_files_that_the_commit_does_not_hold_are_of_none(repository: Path) -> None:
    (repository / "more").mkdir()
    (repository / "more" / "b.yml").write_text("pools: []\n")
    assert of(repository) is None


@pytest.mark.parametrize("rule", ["*.yml", "more/", "*"])
def test_files_that_git_ignores_are_of_no_commit(repository: Path, rule: str) -> None:
    (repository / "more").mkdir()
    (repository / "more" / "b.yml").write_text("pools: []\n")
    (repository / ".gitignore").write_text(f"{rule}\n")
    assert git(repository, "status", "--porcelain", "--", "*.yml") == ""
    assert of(repository) is None


@pytest.mark.parametrize("staged", [True, False])
def test_files_that_differ_from_the_commit_are_of_none(repository: Path, staged: bool) -> None:
    (repository / "fleet.yaml").write_text("apiVersion: fleet/v1\npools: []\n")
    if staged:
        git(repository, "add", ".")
    assert of(repository) is None


def test_files_whose_changes_git_was_told_to_overlook_are_of_none(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "fleet.yaml")
    (repository / "fleet.yaml").write_text("apiVersion: fleet/v1\npools: []\n")
    assert of(repository) is None


def test_files_without_one_that_the_commit_holds_are_of_none(repository: Path) -> None:
    (repository / "more.yaml").write_text("pools: []\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    (repository / "more.yaml").unlink()
    assert of(repository) is None


@pytest.mark.parametrize("how", ["", "x-note: later\n", "link", "pipe"])
def test_files_of_which_one_no_longer_says_what_the_commit_does_are_of_none(repository: Path, how: str) -> None:
    """It is read, and nothing in the fleet stands in it now."""
    more = repository / "more.yaml"
    more.write_text("pools: [{idempotencyKey: a}]\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    assert commit_of(repository, {"fleet.yaml"}) == head(repository)
    if how == "link":
        more.unlink()
        more.symlink_to("fleet.yaml")
    elif how == "pipe":
        more.unlink()
        os.mkfifo(more)
    else:
        more.write_text(how)
    assert commit_of(repository, {"fleet.yaml"}) is None


def test_a_repository_without_a_commit_names_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "fleet.yaml").write_text("")
    assert of(tmp_path) is None


def test_line_ends_do_not_count(repository: Path) -> None:
    (repository / "fleet.yaml").write_bytes(b"apiVersion: fleet/v1\r\n")
    assert of(repository) == head(repository)


def test_a_repository_of_the_other_hash_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "fleet.yaml").write_text("apiVersion: fleet/v1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a fleet")
    assert of(tmp_path) == head(tmp_path)
    assert len(head(tmp_path)) == 64


def test_what_a_link_leads_to_is_of_no_commit(repository: Path) -> None:
    (repository.parent / "other.yaml").write_text("apiVersion: fleet/v1\n")
    (repository / "fleet.yaml").unlink()
    (repository / "fleet.yaml").symlink_to("../other.yaml")
    assert of(repository) is None


@pytest.mark.parametrize("name", ["linked.yaml", "linked"])
def test_where_the_commit_holds_a_link_it_is_not_named(repository: Path, name: str) -> None:
    """What it leads to is none of it; and where it is gone, something of the fleet is."""
    (repository / name).symlink_to("fleet.yaml" if "." in name else "..")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "a link")
    assert commit_of(repository, {"fleet.yaml"}) is None
    (repository / name).unlink()
    assert commit_of(repository, {"fleet.yaml"}) is None


def test_where_the_commit_holds_a_submodule_it_is_not_named(repository: Path) -> None:
    """A checkout may come without what it holds, and then there is an empty folder."""
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{head(repository)},fleet/sub")
    git(repository, "commit", "-qm", "a submodule")
    (repository / "sub").mkdir()
    assert commit_of(repository, {"fleet.yaml"}) is None


def test_a_commit_that_another_takes_the_place_of_is_not_named(repository: Path) -> None:
    first = head(repository)
    (repository / "fleet.yaml").write_text("apiVersion: fleet/v1\npools: []\n")
    git(repository, "commit", "-qam", "more")
    git(repository, "reset", "-q", "--hard", first)
    git(repository, "replace", first, "ORIG_HEAD")
    (repository / "fleet.yaml").write_text("apiVersion: fleet/v1\npools: []\n")
    assert of(repository) is None


def test_a_fleet_that_a_link_leads_to_is_of_its_commit(repository: Path) -> None:
    link = repository.parent / "link"
    link.symlink_to(repository)
    assert commit_of(link, {"fleet.yaml"}) == head(repository)


def test_other_files_do_not_count(repository: Path) -> None:
    (repository / "control-plane.db").write_text("")
    (repository / "unread.yaml").write_text("")
    (repository.parent / "README").write_text("")
    assert commit_of(repository, {"fleet.yaml"}) == head(repository)


@pytest.mark.parametrize("name", ["a.fleet-test.yaml", "expected/plan.yaml", "more/expected/b.yml", ".cache/c.yaml"])
@pytest.mark.parametrize("how", ["altered", "gone", "link"])
def test_nor_do_files_that_no_fleet_reads(repository: Path, name: str, how: str) -> None:
    file = repository / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x: 1\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    file.unlink()
    if how == "altered":
        file.write_text("x: 2\n")
    elif how == "link":
        file.symlink_to(repository / "fleet.yaml")
    assert commit_of(repository, {"fleet.yaml"}) == head(repository)


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path, set()) is None


@pytest.mark.parametrize(
    "setting", ["core.fsmonitor", "filter.f.clean", "filter.f.process", "core.pager", "core.editor", "diff.external"]
)
def test_settings_of_the_repository_start_no_program(repository: Path, setting: str) -> None:
    git(repository, "config", setting, f"touch '{repository.parent / 'ran'}'; false")
    (repository / ".gitattributes").write_text("* filter=f\n")
    os.utime(repository / "fleet.yaml", (0, 0))  # git would look at the content again
    of(repository)
    assert not (repository.parent / "ran").exists()


def test_the_files_of_a_fleet_are_those_that_say_something_of_it(repository: Path) -> None:
    head_of = "apiVersion: fleet/v1\ntenantId: root\ncaller: sa_fleet\n"
    pool = "pools: [{idempotencyKey: a, siteId: s, class: metal-host, gpuModel: H100}]\n"
    offer = "offers: [{pool: a, toTenantId: acme, quota: {gpu: 8}}]\n"
    for name, text in {"fleet": head_of, "a": pool, "b": offer, "empty": "# nothing\n"}.items():
        (repository / f"{name}.yaml").write_text(text)
    assert load(repository).files == {"fleet.yaml", "a.yaml", "b.yaml"}
