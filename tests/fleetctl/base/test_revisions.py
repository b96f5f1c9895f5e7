"""The fleets of branches, and those that they began with; a revision that cannot be read is never left out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fleetctl.base import bases
from fleetctl.base.revisions import Revision, _Reading, revisions
from fleetctl.desired import Desired
from fleetctl.errors import Stop
from tests.e2e.homes import entry
from tests.repository import Repository

ROOT = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}


def text(*keys: str, **root: Any) -> str:
    return json.dumps({**ROOT, **root, "pools": [entry(key, []) for key in keys]})


def keys(desired: Desired | None) -> set[str | None] | None:
    return None if desired is None else {each.key for each in desired.entries.values()}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A fleet on main, and a branch that is checked out."""
    made = Repository(tmp_path / "repository")
    made.commit(**{"fleet/fleet": text("a")})
    made.git("checkout", "-q", "-b", "own")
    made.commit(**{"fleet/fleet": text("a", "own")})
    return made


def branch(repository: Repository, name: str, *pools: str, start: str = "main", file: str = "fleet/fleet") -> str:
    """A branch of one commit; what was checked out is again after it."""
    repository.git("checkout", "-q", "-b", name, start)
    commit = repository.commit(**{file: text(*pools)})
    repository.git("checkout", "-q", "own")
    return commit


def found(repository: Repository, *refs: str) -> dict[str, Revision]:
    return dict(revisions(repository.path / "fleet", refs, caller=None).found)


def test_a_branch_is_read_with_the_fleet_that_it_began_with(repository: Repository) -> None:
    commit = branch(repository, "other", "a", "b")
    made = revisions(repository.path / "fleet", ["other"], caller=None)
    assert made.asked == {"other": commit}
    (one,) = made.found.values()
    assert (keys(one.desired), [keys(each.desired) for each in one.left]) == ({"a", "b"}, [{"a"}])
    assert one.desired is not None
    assert {each.place.source().file for each in one.desired.entries.values()} == {"other:./fleet.yaml"}


@pytest.mark.parametrize("ref", ["HEAD", "main", "own"])
def test_what_head_contains_is_no_branch(repository: Repository, ref: str) -> None:
    made = revisions(repository.path / "fleet", [ref], caller=None)
    assert (list(made.asked), made.found) == ([ref], {})


def test_what_another_revision_contains_is_no_branch_of_its_own(repository: Repository) -> None:
    branch(repository, "first", "a", "b")
    branch(repository, "second", "a", "b", "c", start="first")
    repository.git("branch", "also", "second")
    assert {ref: keys(each.desired) for ref, each in found(repository, "second", "first", "also").items()} == {
        "also": {"a", "b", "c"}
    }


def test_what_two_branches_share_is_the_change_of_one_of_them(repository: Repository) -> None:
    branch(repository, "shared", "a", "s")
    branch(repository, "x", "a", "s", "x", start="shared")
    branch(repository, "y", "a", "s", "y", start="shared")
    made = [*found(repository, "y", "x").values()]
    assert [[keys(each.desired) for each in one.left] for one in made] == [[{"a"}], [{"a", "s"}]]


def test_a_branch_of_crossed_histories_left_at_several_commits(repository: Repository) -> None:
    branch(repository, "other", "b", file="fleet/more")
    repository.git("checkout", "-q", "other")
    repository.git("merge", "-q", "-m", "x", "main")
    repository.git("checkout", "-q", "-b", "crossed", "other")
    own = repository.git("rev-parse", "own")
    repository.git("checkout", "-q", "own")
    repository.git("merge", "-q", "-m", "x", "other")
    repository.git("checkout", "-q", "crossed")
    repository.git("merge", "-q", "-m", "x", own)
    repository.commit(**{"fleet/last": text("z")})
    repository.git("checkout", "-q", "own")
    (one,) = found(repository, "crossed").values()
    first, second = one.left
    assert {frozenset(keys(each.desired) or ()) for each in one.left} == {frozenset("ab"), frozenset(("a", "own"))}
    assert (first.left, [keys(each.desired) for each in second.left]) == ((), [{"a"}])


def test_the_order_in_which_they_are_asked_for_does_not_matter(repository: Repository) -> None:
    for name in "xyz":
        branch(repository, name, "a", name)
    orders = [[*found(repository, *refs)] for refs in ("xyz", "zyx", "yxz")]
    assert orders[0] == orders[1] == orders[2]


def test_a_fleet_that_is_not_there_is_none(repository: Repository) -> None:
    repository.git("checkout", "-q", "--orphan", "bare")
    repository.git("rm", "-rqf", ".")
    repository.commit(other="x: 1")
    repository.git("checkout", "-q", "-b", "late")
    repository.commit(**{"fleet/fleet": text("late")})
    repository.git("checkout", "-q", "-b", "early", "bare")
    repository.commit(again="x: 2")
    repository.git("checkout", "-q", "late")
    (one,) = found(repository, "early").values()
    assert (one.desired, [each.desired for each in one.left]) == (None, [None])
    with pytest.raises(Stop, match="no commit in common"):
        found(repository, "main")


def test_files_with_faults_are_told_with_the_revision_and_the_line(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "broken", "main")
    commit = repository.commit(**{"fleet/fleet": text("a"), "fleet/more": "apiVersion: fleet/v1\npools: 7\n"})
    repository.git("checkout", "-q", "own")
    with pytest.raises(Stop) as raised:
        _ = found(repository, "broken")["broken"].desired
    assert raised.value.message == f"the fleet at broken ({commit[:12]}) cannot be read"
    assert raised.value.rule == "together.files"
    assert raised.value.details[0].startswith("more.yaml:2:8: ")
    assert raised.value.hint == "repair it there, or leave the revision out"


def test_faults_where_they_went_apart_are_told_with_what_can_be_done_of_them(repository: Repository) -> None:
    repository.git("checkout", "-q", "main")
    commit = repository.commit(**{"fleet/more": "apiVersion: fleet/v1\npools: 7\n"})
    for name in ("x", "y"):
        repository.git("checkout", "-q", "-b", name, "main")
        repository.git("rm", "-q", "fleet/more.yaml")
        repository.commit(**{f"fleet/{name}": "pools: []\n"})
    with pytest.raises(Stop) as raised:
        _ = found(repository, "x")["x"].left[0].desired
    assert raised.value.message == f"the fleet at {commit[:12]}, where x went its own way, cannot be read"
    assert (raised.value.hint or "").startswith("merge what repaired it into both")


def test_one_that_is_not_fetched_is_an_error(repository: Repository) -> None:
    with pytest.raises(Stop, match="there is no commit origin/gone in this repository"):
        found(repository, "main", "origin/gone")


def test_a_shallow_clone_that_lacks_where_they_went_apart_is_an_error(repository: Repository, tmp_path: Path) -> None:
    branch(repository, "other", "a", "b")
    clone = Repository(tmp_path / "clone")
    clone.git("fetch", "-q", "--depth=1", f"file://{repository.path}", "own:own", "other:other")
    clone.git("checkout", "-q", "own")
    with pytest.raises(Stop, match="is not whole here"):
        found(clone, "other")


def test_a_branch_whose_name_is_not_utf_8_is_told_with_escapes(repository: Repository) -> None:
    commit = branch(repository, "other", "a", "b")
    ref = os.fsdecode(b"n\xff")
    repository.git("branch", ref, "other")
    made = revisions(repository.path / "fleet", [ref], caller=None)
    assert made.asked == {"n\\xff": commit}
    assert [*made.found] == ["n\\xff"]
    assert bases.at_ref(repository.path / "fleet", ref, caller=None).ref == "n\\xff"


def test_of_several_commits_with_the_same_files_one_tells_all_and_else_none_is_left_out(repository: Repository) -> None:
    reading = _Reading(repository.path / "fleet", repository.path, None, frozenset())
    first, same, other = (
        branch(repository, name, *pools, file="fleet/more") for name, pools in (("x", "b"), ("y", "b"), ("z", "c"))
    )
    assert [each.commit for each in reading.row("z", [first, same])] == [first]
    assert [each.commit for each in reading.row("z", [first, same, other])] == [first, same, other]
