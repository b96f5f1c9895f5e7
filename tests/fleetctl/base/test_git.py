"""Files are read as a commit has them, with nothing checked out, fetched or run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fleetctl.base import git
from fleetctl.errors import Stop
from tests.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


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


@pytest.mark.parametrize("ref", ["nowhere", "-n", "--all", "", "main:a.yaml", "a..b", "main\n", "^main", "\x00"])
def test_a_revision_that_is_none_is_refused_with_advice(repository: Repository, ref: str) -> None:
    repository.commit(a="1")
    with pytest.raises(Stop) as stopped:
        git.merge_base(repository.path, ref)
    assert (stopped.value.rule, stopped.value.exit_code) == ("git.revision", 1)
    near = 'did you mean "main"?' if ref in ("main\n", "^main") else ""
    assert stopped.value.hint == (near or "name a branch, a tag or a commit")
    repository.git("remote", "add", "upstream", "https://example.com/x.git")
    with pytest.raises(Stop) as stopped:
        git.merge_base(repository.path, ref)
    fetch = ref in ("nowhere", "a..b")
    assert stopped.value.hint.startswith(f"`git fetch upstream {ref}` first" if fetch else near or "name a branch")


def test_a_slip_in_a_revision_is_met_with_the_nearest_one_before_a_fetch(repository: Repository) -> None:
    commit = repository.commit(a="1")
    repository.git("tag", "v1.2")

    def hint(ref: str) -> str:
        with pytest.raises(Stop) as stopped:
            git.merge_base(repository.path, ref)
        return stopped.value.hint

    assert hint("mian") == 'did you mean "main"?'
    assert hint("v1.3") == 'did you mean "v1.2"?'
    repository.git("tag", "content", "main:a.yaml")
    assert hint("content") == "name a branch, a tag or a commit"
    repository.git("remote", "add", "origin", "https://example.com/x.git")
    repository.git("update-ref", "refs/remotes/origin/release", commit)
    assert hint("mian").startswith('did you mean "main"?; else `git fetch origin mian` first')
    assert hint("relaese").startswith('did you mean "origin/release"?; else `git fetch')
    assert hint("origin/relaese").startswith('did you mean "origin/release"?; else `git fetch origin relaese` first')


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


def cloned(repository: Repository, clone: Path, depth: int) -> Path:
    flags = (f"--depth={depth}", "--no-single-branch", "-b", "change", "-q")
    subprocess.run(("git", "clone", *flags, f"file://{repository.path}", str(clone)), check=True, capture_output=True)
    return clone


def test_several_commits_at_which_histories_went_apart_are_no_base(repository: Repository) -> None:
    """The first that git names may be the one without a guard that another has."""
    repository.commit(a="a")
    repository.git("checkout", "-q", "-b", "change")
    repository.commit(b="b")
    repository.git("checkout", "-q", "main")
    repository.commit(guard="g")
    repository.git("merge", "-q", "-m", "x", "change")
    repository.git("checkout", "-q", "change")
    repository.git("merge", "-q", "-m", "x", "main^")
    with pytest.raises(Stop, match="went apart at 2 commits") as stopped:
        git.merge_base(repository.path, "main")
    assert (stopped.value.rule, "merge main into" in stopped.value.hint) == ("git.mergeBase", True)
    repository.git("merge", "-q", "-m", "x", "main")
    assert git.merge_base(repository.path, "main") == git.commit_at(repository.path, "main")


@pytest.mark.parametrize("depth", range(1, 9))
def test_no_depth_of_a_clone_makes_an_older_commit_the_base(repository: Repository, tmp_path: Path, depth: int) -> None:
    """An old commit is near on both sides, by branches that were merged late; the base is far on one."""
    old = repository.commit(a="a")
    for name in ("s", "t"):
        repository.git("checkout", "-q", "-b", name, old)
        repository.commit(**{name: name})
    repository.git("checkout", "-q", "main")
    for name in "bcd":
        base = repository.commit(**{name: name})
    repository.git("checkout", "-q", "-b", "change")
    for name in "efg":
        repository.commit(**{name: name})
    repository.git("merge", "-q", "-m", "x", "s")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "-m", "x", "t")
    repository.git("checkout", "-q", "change")
    repository.git("branch", "-q", "-D", "s", "t")
    assert git.merge_base(repository.path, "main") == base
    clone = cloned(repository, tmp_path / "clone", depth)
    if depth < 5:
        with pytest.raises(Stop) as stopped:
            git.merge_base(clone, "origin/main")
        assert "fetch-depth: 0" in stopped.value.hint
    else:
        assert git.merge_base(clone, "origin/main") == base


def test_a_clone_that_holds_all_since_the_base_is_whole_enough(repository: Repository, tmp_path: Path) -> None:
    for name in "abcde":
        repository.commit(**{name: name})
    repository.git("checkout", "-q", "-b", "change")
    fork = repository.git("rev-parse", "HEAD")
    repository.commit(f="f")
    clone = cloned(repository, tmp_path / "clone", 3)
    assert git.run(clone, "rev-parse", "--is-shallow-repository").stdout == b"true\n"
    assert git.merge_base(clone, "origin/main") == git.merge_base(clone, "HEAD^") == fork


def test_lines_that_two_sides_changed_are_merged_and_those_of_both_conflict() -> None:
    was = b"a\nb\nc\nd\ne\n"
    ours, theirs = was.replace(b"a", b"A"), was.replace(b"e", b"E")
    assert git.merged(ours, was, theirs) == git.merged(theirs, was, ours) == (b"A\nb\nc\nd\nE\n", True)
    marked, is_clear = git.merged(ours, was, was.replace(b"a", b"x"))
    assert (is_clear, marked.count(b"\nA\n"), marked.count(b"\nx\n"), marked.count(b"\nb\n")) == (False, 1, 1, 1)
    assert git.merged(b"\0a", b"\0b", b"\0c") == (b"", False)
