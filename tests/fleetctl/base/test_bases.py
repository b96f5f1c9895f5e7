"""The files of a fleet as they were: out of git's objects, or another directory; never left out in silence."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fleetctl.base import bases
from fleetctl.errors import Stop
from tests.e2e.homes import entry
from tests.repository import Repository

ROOT = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}


def text(*keys: str, **root: Any) -> str:
    return json.dumps({**ROOT, **root, "pools": [entry(key, []) for key in keys]})


def keys(found: bases.Base) -> set[str | None]:
    assert found.desired is not None
    return {each.key for each in found.desired.entries.values()}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A fleet of two files in a folder of its own, and a change on a branch, beside a further commit on main."""
    made = Repository(tmp_path / "repository")
    made.commit(**{"fleets/fleet": text("a"), "fleets/sites/fra1": '{"pools": []}'})
    made.git("checkout", "-q", "-b", "change")
    made.commit(**{"fleets/fleet": text("a", "b")})
    made.git("checkout", "-q", "main")
    made.commit(**{"fleets/fleet": text("a", "later")})
    made.git("checkout", "-q", "change")
    return made


def test_the_base_is_the_fleet_where_the_branches_went_apart(repository: Repository) -> None:
    found = bases.at_ref(repository.path / "fleets", "main", caller=None)
    assert (found.ref, found.commit) == ("main", repository.git("merge-base", "main", "HEAD"))
    assert keys(found) == {"a"}
    assert found.desired is not None
    assert [each.place.source().file for each in found.desired.entries.values()] == ["base:fleet.yaml"]
    assert keys(bases.at_ref(repository.path / "fleets" / "fleet.yaml", "main", caller=None)) == {"a"}


@pytest.mark.parametrize(("ref", "own"), [("HEAD", True), ("change", True), ("main", False), ("HEAD^", False)])
def test_a_base_knows_when_it_is_the_commit_of_the_files(repository: Repository, ref: str, own: bool) -> None:
    head = repository.git("rev-parse", "HEAD")
    found = bases.at_ref(repository.path / "fleets", ref, caller=None, files_are_of=head)
    assert found.is_own is own
    assert not bases.at_ref(repository.path / "fleets", ref, caller=None).is_own  # they are changed, and not committed


@pytest.mark.parametrize(("was", "own"), [("fleet", True), ("link", True), ("fleet/../fleet", True), ("copy", False)])
def test_a_directory_knows_when_it_is_that_of_the_files(tmp_path: Path, was: str, own: bool) -> None:
    for name in ("fleet", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fleet.yaml").write_text(text("a"))
    (tmp_path / "link").symlink_to("fleet")
    assert bases.at_dir(tmp_path / was, was, caller=None, files=tmp_path / "fleet").is_own is own


def test_a_plan_that_is_run_later_has_the_base_that_it_was_made_with(repository: Repository) -> None:
    was = bases.at_ref(repository.path / "fleets", "main", caller=None)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "-X", "ours", "-m", "x", "change")
    assert keys(bases.at_ref(repository.path / "fleets", "main", caller=None)) == {"a", "later"}
    assert was.commit is not None
    assert keys(bases.at_ref(repository.path / "fleets", was.commit, caller=None)) == {"a"}


def test_what_is_not_committed_is_none_of_it(repository: Repository) -> None:
    (repository.path / "fleets" / "fleet.yaml").write_text(text("z"))
    assert keys(bases.at_ref(repository.path / "fleets", "HEAD", caller=None)) == {"a", "b"}


def test_the_fleet_is_found_from_wherever_the_command_runs(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.path / "fleets" / "sites")
    assert keys(bases.at_ref(Path(".."), "main", caller=None)) == {"a"}


def test_a_fleet_that_was_not_there_is_a_base_without_one(repository: Repository) -> None:
    (repository.path / "new").mkdir()
    (repository.path / "new" / "fleet.yaml").write_text(text("n"))
    found = bases.at_ref(repository.path / "new", "main", caller=None)
    assert (found.desired, found.commit) == (None, repository.git("merge-base", "main", "HEAD"))
    found = bases.at_ref(repository.path / "new" / "fleet.yaml", "main", caller=None)
    assert found.desired is None


@pytest.mark.parametrize("was", ["{", "", "pools: [{idempotencyKey: a, sharng: mig}]"])
def test_files_that_cannot_be_read_are_an_error_and_no_empty_base(tmp_path: Path, was: str) -> None:
    made = Repository(tmp_path / "repository")
    made.commit(fleet=was)
    made.commit(fleet=text("a"))
    with pytest.raises(Stop) as stopped:
        bases.at_ref(made.path, "HEAD^", caller=None)
    assert (stopped.value.rule, stopped.value.exit_code) == ("base.files", 1)
    told, *_ = stopped.value.details
    assert told.startswith("fleet.yaml:1" if was else "HEAD^ (")


def test_a_revision_that_is_not_there_is_an_error(repository: Repository) -> None:
    with pytest.raises(Stop, match="no commit release"):
        bases.at_ref(repository.path / "fleets", "release", caller=None)


def test_a_caller_stands_in_where_the_base_named_none(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repository")
    root = {name: value for name, value in ROOT.items() if name != "caller"}
    made.commit(fleet=json.dumps({**root, "pools": [entry("a", [])]}))
    found = bases.at_ref(made.path, "HEAD", caller="sa_fleet")
    assert found.desired is not None
    assert found.desired.caller == "sa_fleet"


def test_another_directory_may_be_the_base(tmp_path: Path) -> None:
    (tmp_path / "was").mkdir()
    (tmp_path / "was" / "fleet.yaml").write_text(text("a"))
    found = bases.at_dir(tmp_path / "was", "was", caller=None, files=tmp_path)
    assert (found.ref, found.commit, keys(found)) == ("was", None, {"a"})
    with pytest.raises(Stop):
        bases.at_dir(tmp_path / "nowhere", "nowhere", caller=None, files=tmp_path)


def told(path: Path, ref: str | None = None) -> list[str]:
    """What is said of a base that cannot be read: of a revision, or of a directory or a file."""
    at_dir = partial(bases.at_dir, path, str(path), files=Path("nowhere"))
    read = partial(bases.at_ref, path, ref) if ref else at_dir
    with pytest.raises(Stop) as stopped:
        read(caller=None)
    return list(stopped.value.details)


def test_what_is_wrong_at_a_base_is_told_where_people_know_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Repository(tmp_path / "repository")
    made.commit(fleet=text("a"), **{"sites/odd": "nope: 1", "base:odd": "nope: 1"})
    (tmp_path / "empty").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert told(Path("../nonexist"))[0].startswith("../nonexist:1:1: cannot be read: no such file")
    assert told(Path("../empty"))[0].startswith("../empty:1:1: no fleet document")
    assert told(Path("../repository/sites/odd.yaml"))[0].startswith("../repository/sites/odd.yaml:1:1: ")
    wrong = {line.partition(" ")[0] for line in told(Path("../repository"))}
    assert (
        wrong
        == {line.partition(" ")[0] for line in told(made.path, "HEAD")}
        == {"base:odd.yaml:1:1:", "sites/odd.yaml:1:1:"}
    )
    assert told(made.path / "sites" / "odd.yaml", "HEAD")[0].startswith("odd.yaml:1:1: ")
    made.commit(fleet="", **{"sites/odd": "", "base:odd": ""})
    commit = made.git("rev-parse", "--short=12", "HEAD")
    assert told(made.path, "HEAD")[0].startswith(f"HEAD ({commit}):1:1: no fleet document")


def test_a_link_that_leads_out_of_the_fleet_is_refused_at_the_base_too(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(text("x"))
    made = Repository(tmp_path / "repository")
    (made.path / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    made.commit(fleet=text("a"))
    with pytest.raises(Stop) as stopped:
        bases.at_ref(made.path, "HEAD", caller=None)
    assert "link leads" in " ".join(stopped.value.details)


def test_a_single_file_may_be_a_link_beside_what_it_leads_to(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repository")
    (made.path / "link.yaml").symlink_to("real.yaml")
    made.commit(real=text("a"))
    assert keys(bases.at_ref(made.path / "link.yaml", "HEAD", caller=None)) == {"a"}


def test_a_directory_whose_name_is_not_utf_8_is_told_with_escapes_and_found_by_these(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"was\xff")
    path.mkdir()
    (path / "fleet.yaml").write_text(text("a"))
    for given in (path, tmp_path / "was\\xff"):
        found = bases.at_dir(given, path.name, caller=None, files=tmp_path)
        assert (found.ref, keys(found)) == ("was\\xff", {"a"})
    (path / "fleet.yaml").write_text("pools: [{")
    with pytest.raises(Stop) as stopped:
        bases.at_dir(path, path.name, caller=None, files=tmp_path)
    assert "was\\xff, cannot be read" in stopped.value.message
