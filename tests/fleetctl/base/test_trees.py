"""The files of a fleet are those that a commit has, with nothing checked out, fetched or run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetctl.base import git, trees
from fleetctl.errors import Stop
from tests.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def written(path: Path, commit: str, into: Path) -> dict[str, str]:
    """The files of the fleet at `path` as the commit has them."""
    into.mkdir()
    trees.write_fleet(path, commit, into)
    return {str(found.relative_to(into)): found.read_text() for found in sorted(into.rglob("*")) if found.is_file()}


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
        trees.write_fleet(repository.path, commit, tmp_path / "into")
    assert not (tmp_path / "b.yaml").exists()


def test_a_content_that_was_not_cloned_is_an_error(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit(a="1\n")
    blob = repository.git("rev-parse", "HEAD:a.yaml")
    (repository.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Stop) as stopped:
        trees.write_fleet(repository.path, commit, tmp_path / "into")
    assert stopped.value.rule == "git.objects"


def test_a_fleet_that_a_link_leads_to_is_refused(repository: Repository, tmp_path: Path) -> None:
    """What stood in its place before would not be found, and its guards with it."""
    commit = repository.commit(**{"fleet/a": "1"})
    repository.git("mv", "fleet", "moved")
    (repository.path / "fleet").symlink_to("moved")
    with pytest.raises(Stop, match="is a symbolic link") as stopped:
        trees.check_straight(repository.path / "fleet")
    assert stopped.value.rule == "git.link"
    (tmp_path / "elsewhere").symlink_to(repository.path)
    trees.check_straight(tmp_path / "elsewhere" / "moved")  # a link to the repository is none in it
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
            trees.write_fleet(repository.path / place, commit, tmp_path / "into")


def test_a_submodule_in_the_fleet_is_refused(repository: Repository, tmp_path: Path) -> None:
    """Its files are in another repository: guards that stand there would be left out."""
    repository.commit(**{"fleet/a": "1"})
    head = git.commit_at(repository.path, "HEAD")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},fleet/guards")
    repository.git("commit", "-q", "-m", "submodule")
    with pytest.raises(Stop, match="guards is a submodule"):
        trees.write_fleet(repository.path / "fleet", git.commit_at(repository.path, "HEAD"), tmp_path / "into")


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


def test_a_link_in_the_middle_of_the_way_is_a_link(repository: Repository, tmp_path: Path) -> None:
    """One from elsewhere leads to one in the repository, which a change may turn to another fleet."""
    repository.commit(**{"fleets/fra/fleet": "1", "fleets/ams/fleet": "2"})
    (repository.path / "cur").symlink_to("fleets/../fleets/fra")
    (repository.path / "fleets" / "last").symlink_to("../cur")
    for n, target in enumerate([repository.path / "cur", Path("repository/cur"), repository.path / "fleets" / "last"]):
        link = tmp_path / f"x{n}"
        link.symlink_to(target)
        with pytest.raises(Stop, match=r"(cur|last) is a symbolic link") as stopped:
            trees.check_straight(link)
        assert stopped.value.rule == "git.link"
        (tmp_path / f"y{n}").symlink_to(f"x{n}")
        with pytest.raises(Stop, match="is a symbolic link"):
            trees.check_straight(tmp_path / f"y{n}")
    (tmp_path / "straight").symlink_to(repository.path / "fleets" / "fra")
    trees.check_straight(tmp_path / "straight")
    trees.check_straight(tmp_path / "straight" / ".." / "ams")


MODULES = {
    "tools": "tools is a submodule",
    "deep/tools": "deep/tools is a submodule",
    "conf -> .ci": ".ci/tools is a submodule",
    "conf -> .ci/tools/deep": ".ci/tools is a submodule",
    "excluded in part": "tools is a submodule",
    ".ci/tools": None,
    "deep/.ci/tools": None,
    "expected/tools": None,
    "excluded": None,
    ".conf -> .ci": None,
}


@pytest.mark.parametrize(("place", "refused"), MODULES.items())
def test_a_submodule_is_refused_where_the_fleet_reads_its_files(
    repository: Repository, tmp_path: Path, place: str, refused: str | None
) -> None:
    exclude = {"excluded": "exclude: [tools]\n", "excluded in part": "exclude: [tools/*.yaml]\n"}.get(place, "")
    head = repository.commit(fleet=f"apiVersion: fleet/v1\n{exclude}")
    link, _, target = place.partition(" -> ")
    if target:
        (repository.path / link).symlink_to(target)
    repository.git("add", "-A")
    folder = ".ci/tools" if target else "tools" if exclude else place
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},{folder}")
    repository.git("commit", "-q", "-m", "submodule")
    commit = git.commit_at(repository.path, "HEAD")
    if refused is None:
        assert written(repository.path, commit, tmp_path / "into") == {"fleet.yaml": f"apiVersion: fleet/v1\n{exclude}"}
    else:
        with pytest.raises(Stop, match=refused):
            written(repository.path, commit, tmp_path / "into")
