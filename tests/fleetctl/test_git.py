"""Files are read as a commit has them, with nothing checked out, fetched or run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetctl import git
from fleetctl.errors import Stop
from tests.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def written(path: Path, commit: str, into: Path) -> dict[str, str]:
    """The files of the fleet at `path` as the commit has them."""
    into.mkdir()
    git.write_fleet(path, commit, into)
    return {str(found.relative_to(into)): found.read_text() for found in sorted(into.rglob("*")) if found.is_file()}


def test_the_base_is_where_two_histories_went_apart(repository: Repository) -> None:
    fork = repository.commit(a="1")
    repository.git("checkout", "-q", "-b", "change")
    repository.commit(a="2")
    repository.git("checkout", "-q", "main")
    repository.commit(b="3")
    repository.git("checkout", "-q", "change")
    assert git.merge_base(repository.path, "main") == fork
    assert git.merge_base(repository.path, "HEAD^") == fork
    assert git.commit_at(repository.path, "main") != fork


@pytest.mark.parametrize("ref", ["nowhere", "-n", "--all", "", "main:a.yaml", "a..b", "main\n", "\x00"])
def test_a_revision_that_is_none_is_refused_with_advice(repository: Repository, ref: str) -> None:
    repository.commit(a="1")
    with pytest.raises(Stop) as stopped:
        git.merge_base(repository.path, ref)
    assert (stopped.value.rule, stopped.value.exit_code) == ("git.revision", 1)
    assert stopped.value.hint.startswith("`git fetch origin " if ref in ("nowhere", "a..b") else "name a branch")


def test_a_branch_that_is_known_at_the_origin_alone_is_named(repository: Repository) -> None:
    commit = repository.commit(a="1")
    repository.git("checkout", "-q", "--detach")
    repository.git("update-ref", "refs/remotes/origin/main", commit)
    repository.git("branch", "-q", "-D", "main")
    with pytest.raises(Stop) as stopped:
        git.merge_base(repository.path, "main")
    assert stopped.value.hint == 'did you mean "origin/main"?'


def test_histories_without_a_common_commit_have_no_base(repository: Repository) -> None:
    repository.commit(a="1")
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit(a="2")
    with pytest.raises(Stop, match="no commit in common") as stopped:
        git.merge_base(repository.path, "main")
    assert "same history" in stopped.value.hint


def test_a_clone_that_is_cut_off_before_the_base_says_how_to_have_more(repository: Repository, tmp_path: Path) -> None:
    repository.commit(a="1")
    repository.git("checkout", "-q", "-b", "change")
    repository.commit(a="2")
    repository.git("checkout", "-q", "main")
    repository.commit(b="3")
    clone = tmp_path / "clone"
    flags = ("--depth=1", "--no-single-branch", "-b", "change", "-q")
    subprocess.run(("git", "clone", *flags, f"file://{repository.path}", str(clone)), check=True, capture_output=True)
    with pytest.raises(Stop) as stopped:
        git.merge_base(clone, "origin/main")
    assert "fetch-depth: 0" in stopped.value.hint


def test_outside_of_a_repository_there_is_no_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "a").mkdir()
    with pytest.raises(Stop) as stopped:
        git.merge_base(tmp_path / "a", "main")
    assert stopped.value.rule == "git.repository"


def test_without_git_a_base_is_refused_and_not_left_out(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Stop, match="git cannot be asked"):
        git.merge_base(repository.path, "main")


def test_the_files_of_a_commit_are_written_whatever_the_work_tree_has(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit(**{"fleets/fleet": "old: 1\n", "fleets/sites/fra1": "a: 1\n", "elsewhere": "b: 1\n"})
    (repository.path / "fleets" / "fleet.yaml").write_text("new: 1\n")
    (repository.path / "fleets" / "sites" / "fra1.yaml").unlink()
    found = written(repository.path / "fleets", commit, tmp_path / "into")
    assert found == {"fleet.yaml": "old: 1\n", "sites/fra1.yaml": "a: 1\n"}
    (repository.path / "fleets" / "new").mkdir()
    assert written(repository.path / "fleets" / "new", commit, tmp_path / "none") == {}
    assert written(repository.path / "elsewhere.yaml", commit, tmp_path / "one") == {"elsewhere.yaml": "b: 1\n"}


def test_filters_hooks_and_helpers_of_the_repository_do_not_run(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit(a="1\n")
    bad = f"touch {tmp_path / 'ran'}; cat"
    for name in ("filter.x.smudge", "filter.x.clean", "core.fsmonitor", "diff.x.textconv", "core.sshCommand"):
        repository.git("config", name, bad)
    (repository.path / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    assert git.merge_base(repository.path, "HEAD") == commit
    assert written(repository.path, commit, tmp_path / "into") == {"a.yaml": "1\n"}
    assert not (tmp_path / "ran").exists()


def test_a_link_stays_a_link_and_what_it_leads_to_comes_along(repository: Repository, tmp_path: Path) -> None:
    for name, target in {"in.yaml": "texts/one.txt", "out.yaml": "../../outside.yaml", "all": "texts"}.items():
        (repository.path / name).symlink_to(target)
    (repository.path / "texts").mkdir()
    (repository.path / "texts" / "one.txt").write_text("c: 1\n")
    commit = repository.commit(a="1\n")
    into = tmp_path / "deep" / "into"
    into.parent.mkdir()
    found = written(repository.path, commit, into)
    assert found["in.yaml"] == "c: 1\n"
    assert "out.yaml" not in found
    assert os.readlink(into / "out.yaml") == "../../outside.yaml"


def test_a_tree_that_names_a_place_outside_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.commit(a="1\n")
    blob = repository.git("rev-parse", "HEAD:a.yaml")
    inner = bytes.fromhex(blob)
    tree = b"100644 b.yaml\0" + inner
    made = subprocess.run(
        ("git", "hash-object", "--literally", "-t", "tree", "-w", "--stdin"),
        cwd=repository.path, input=tree, capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    outer = b"40000 ..\0" + bytes.fromhex(made)
    made = subprocess.run(
        ("git", "hash-object", "--literally", "-t", "tree", "-w", "--stdin"),
        cwd=repository.path, input=outer, capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    commit = repository.git("commit-tree", made, "-m", "x")
    (tmp_path / "into").mkdir()
    with pytest.raises(Stop):
        git.write_fleet(repository.path, commit, tmp_path / "into")
    assert not (tmp_path / "b.yaml").exists()


def test_a_content_that_was_not_cloned_is_an_error(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit(a="1\n")
    blob = repository.git("rev-parse", "HEAD:a.yaml")
    (repository.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Stop) as stopped:
        git.write_fleet(repository.path, commit, tmp_path / "into")
    assert stopped.value.rule == "git.objects"


def test_a_fleet_that_a_link_leads_to_is_refused(repository: Repository, tmp_path: Path) -> None:
    """What stood in its place before would not be found, and its guards with it."""
    commit = repository.commit(**{"fleet/a": "1"})
    repository.git("mv", "fleet", "moved")
    (repository.path / "fleet").symlink_to("moved")
    with pytest.raises(Stop, match="is a symbolic link") as stopped:
        git.check_straight(repository.path / "fleet")
    assert stopped.value.rule == "git.link"
    (tmp_path / "elsewhere").symlink_to(repository.path)
    git.check_straight(tmp_path / "elsewhere" / "moved")  # a link to the repository is none in it
    (repository.path / "fleet").unlink()
    (repository.path / "fleet").mkdir()
    assert written(repository.path / "fleet", commit, tmp_path / "into") == {"a.yaml": "1"}


def test_a_commit_with_a_link_in_the_fleets_place_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.commit(**{"moved/a": "1"})
    (repository.path / "fleet").symlink_to("moved")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "link")
    commit = git.commit_at(repository.path, "HEAD")
    (repository.path / "fleet").unlink()
    (repository.path / "fleet" / "deep").mkdir(parents=True)
    for place in ("fleet", "fleet/deep"):
        with pytest.raises(Stop, match="fleet is no directory at"):
            git.write_fleet(repository.path / place, commit, tmp_path / "into")


def test_a_submodule_in_the_fleet_is_refused(repository: Repository, tmp_path: Path) -> None:
    """Its files are in another repository: guards that stand there would be left out."""
    repository.commit(**{"fleet/a": "1"})
    head = git.commit_at(repository.path, "HEAD")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},fleet/guards")
    repository.git("commit", "-q", "-m", "submodule")
    with pytest.raises(Stop, match="guards is a submodule"):
        git.write_fleet(repository.path / "fleet", git.commit_at(repository.path, "HEAD"), tmp_path / "into")


def test_the_environment_names_no_other_repository(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit(a="1")
    other = Repository(tmp_path / "other")
    other.commit(b="2")
    for name, value in {"GIT_DIR": ".git", "GIT_WORK_TREE": ".", "GIT_INDEX_FILE": "x"}.items():
        monkeypatch.setenv(name, str(other.path / value))
    assert git.commit_at(repository.path, "HEAD") == commit
    assert written(repository.path, commit, tmp_path / "into") == {"a.yaml": "1"}
