"""Whoever plans names the base in the plan file; at apply the guards of the commit before hold all the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import Home, entry, unchanged
from tests.repository import Repository

KEPT = entry("fra1-a", {"acme": 8, "globex": 8})
TAKEN = entry("fra1-a", {"acme": 8})
GUARDS: dict[str, dict[str, Any]] = {
    "counts": {"guards": {"maxWithdrawals": 0}},
    "what is protected": {"guards": {"protect": ["fra1-a"]}},
    "a freeze": {"guards": {"freeze": [{"from": "2000-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z", "reason": "x"}]}},
    "a check": {
        "checks": [
            {
                "name": "two",
                "severity": "deny",
                "each": "operation",
                "message": "x",
                "expr": 'operation.action == "offer"',
            }
        ]
    },
}
SAID = {
    "counts": "guard.withdrawals",
    "what is protected": "guard.protect",
    "a freeze": "guard.freeze",
    "a check": "check.two",
}
Merge = Callable[[Repository], None]


def merge_commit(repository: Repository) -> None:
    repository.git("merge", "-q", "--no-ff", "-m", "x", "pr")


def squash(repository: Repository) -> None:
    repository.git("merge", "-q", "--squash", "pr")
    repository.git("commit", "-q", "-m", "x")


class Change:
    """A fleet that guards an offer, and a branch of two commits: the first loosens, the second takes the offer."""

    def __init__(self, directory: Path, guards: dict[str, Any]) -> None:
        self.home = Home(directory)
        self.plan = directory / "plan.json"
        self.home.wish(KEPT)
        self.home.apply()
        self.home.wish(KEPT, **guards)
        self.repository = Repository(self.home.directory)
        self.repository.commit()
        self.repository.git("checkout", "-q", "-b", "pr")
        self.home.wish(KEPT)
        self.repository.commit()
        self.repository.git("branch", "weak")
        self.home.wish(TAKEN)
        self.repository.commit()

    def planned(self, *flags: str | Path, code: int = 0) -> None:
        self.home.plan(*flags, "--out", self.plan, code=code)

    def merged(self, merge: Merge) -> None:
        self.repository.git("checkout", "-q", "main")
        merge(self.repository)

    def blocked(self, rule: str, *flags: str) -> str:
        with unchanged(self.home):
            ran = self.home.run("apply", "--plan", self.plan, *flags)
        assert (ran.code, rule in ran.out) == (3, True), ran.said
        return ran.err


@pytest.fixture
def change(tmp_path: Path) -> Change:
    return Change(tmp_path, GUARDS["counts"])


@pytest.mark.parametrize(("flags", "merge"), [(("--base", "weak"), merge_commit), ((), merge_commit), ((), squash)])
@pytest.mark.parametrize("guards", GUARDS)
def test_a_plan_on_another_base_or_on_none_is_no_way_around(
    tmp_path: Path, guards: str, flags: tuple[str, ...], merge: Merge
) -> None:
    change = Change(tmp_path, GUARDS[guards])
    change.planned(*flags)
    change.merged(merge)
    before = change.repository.git("rev-parse", "HEAD^")
    said = change.blocked(SAID[guards])
    assert f"Guards of HEAD^ ({before[:7]}" in said


def test_a_directory_as_the_base_is_none_either(change: Change, tmp_path: Path) -> None:
    shutil.copytree(change.home.directory, tmp_path / "weak", ignore=shutil.ignore_patterns(".git"))
    change.planned("--base-dir", tmp_path / "weak")
    change.merged(squash)
    change.blocked("guard.withdrawals")


def test_a_fleet_that_lost_its_last_pool_is_one_in_the_commit_before(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(KEPT, guards={"maxWithdrawals": 9})
    home.apply()
    repository = Repository(home.directory)
    repository.commit()
    repository.git("checkout", "-q", "-b", "pr")
    home.wish(KEPT, guards={"maxWithdrawals": 9}, allowEmpty=True)
    repository.commit()
    repository.git("branch", "weak")
    home.wish(allowEmpty=True)
    repository.commit()
    allowed = ("--allow", "archives=1", "--reason", "x")
    plan = tmp_path / "plan.json"
    home.plan("--base", "weak", "--prune", *allowed, "--out", plan)
    repository.git("checkout", "-q", "main")
    merge_commit(repository)
    with unchanged(home):
        ran = home.run("apply", "--plan", plan, *allowed)
    assert (ran.code, "fleet.empty" in ran.out) == (3, True), ran.said


def test_a_base_that_a_squash_left_out_of_the_history_is_none_any_more(change: Change) -> None:
    change.planned("--base", "weak")
    change.merged(squash)
    with unchanged(change.home):
        ran = change.home.run("apply", "--plan", change.plan)
    assert (ran.code, "files or base are not those that the plan was made from" in ran.err) == (4, True)


def test_files_that_are_not_committed_come_after_head_and_what_was_before_it(change: Change) -> None:
    change.merged(squash)
    (change.home.directory / "more.yaml").write_text('{"pools": []}')
    change.planned()
    change.blocked("guard.withdrawals")
    change.repository.commit()  # now the commit before has no such guard
    change.home.wish(TAKEN, guards={"maxWithdrawals": 0})
    change.repository.commit()
    change.home.wish(TAKEN)
    change.planned()
    assert "Guards of HEAD^" in change.blocked("guard.withdrawals")


def test_a_commit_after_that_leaves_the_guards_lets_it_pass(change: Change) -> None:
    change.merged(squash)
    change.repository.commit(more='{"pools": []}')
    change.planned()
    change.home.apply("--plan", change.plan)
    assert change.home.is_settled()


def test_an_override_lets_pass_what_it_names_and_is_given_at_apply(change: Change) -> None:
    change.planned()
    change.merged(merge_commit)
    change.home.apply("--plan", change.plan, "--allow", "withdrawals=1", "--reason", "x")


def test_who_applies_may_name_the_base_which_is_then_the_plans_or_it_is_refused(change: Change) -> None:
    change.planned("--base", "weak")
    change.repository.git("tag", "applied", "main")
    change.merged(squash)
    with unchanged(change.home):
        ran = change.home.run("apply", "--plan", change.plan, "--base", "applied")
    assert (ran.code, "--base says otherwise than the plan file does" in ran.err) == (64, True)
    change.repository.git("checkout", "-q", "pr")
    change.home.apply("--plan", change.plan, "--base", "weak")


def test_what_takes_nothing_is_applied_after_every_way_to_merge(tmp_path: Path) -> None:
    for number, merge in enumerate((merge_commit, squash)):
        change = Change(tmp_path / str(number), GUARDS["counts"])
        change.home.wish(entry("fra1-a", {"acme": 16, "globex": 8}))
        change.repository.commit()
        change.planned("--base", "main")
        change.merged(merge)
        change.home.apply("--plan", change.plan)
        assert change.home.is_settled()


class TestWhereTheCommitBeforeIsNotKnown:
    def clone(self, change: Change, directory: Path, *how: str) -> Home:
        other = Home(directory)
        shutil.copy(change.home.database, other.database)
        shutil.rmtree(other.directory)
        change.repository.git("clone", "-q", *how, f"file://{change.home.directory}", str(other.directory))
        return other

    def test_a_clone_that_is_cut_off_there_is_an_error(self, change: Change, tmp_path: Path) -> None:
        change.planned()
        change.merged(squash)
        shallow = self.clone(change, tmp_path / "shallow", "--depth", "1")
        with unchanged(shallow):
            ran = shallow.run("apply", "--plan", change.plan)
        assert ran.code == 1, ran.said
        assert "is not here, and its guards are not known" in ran.err
        assert "fetch-depth: 0" in ran.err

    def test_a_clone_that_has_it_is_as_good_as_a_whole_one(self, change: Change, tmp_path: Path) -> None:
        change.planned()
        change.merged(squash)
        shallow = self.clone(change, tmp_path / "shallow", "--depth", "2")
        with unchanged(shallow):
            ran = shallow.run("apply", "--plan", change.plan)
        assert (ran.code, "guard.withdrawals" in ran.out) == (3, True), ran.said

    def test_a_repository_that_cannot_be_read_is_an_error(self, change: Change) -> None:
        change.planned()
        (change.home.directory / ".git" / "HEAD").write_text("x")
        with unchanged(change.home):
            ran = change.home.run("apply", "--plan", change.plan)
        assert (ran.code, "in a git repository that cannot be read" in ran.err) == (1, True)

    def test_a_fleet_that_was_elsewhere_takes_nothing_away(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        home.wish(KEPT)
        home.apply()
        repository = Repository(tmp_path / "fleet" / "..")
        home.write("../old/fleet.yaml", (home.directory / "fleet.yaml").read_text())
        (home.directory / "fleet.yaml").unlink()
        (tmp_path / ".gitignore").write_text("plane.db*\nplan.json\n")
        repository.commit()
        shutil.rmtree(tmp_path / "old")
        home.wish(TAKEN)
        repository.commit()
        home.plan("--out", tmp_path / "plan.json")
        with unchanged(home):
            ran = home.run("apply", "--plan", tmp_path / "plan.json")
        assert (ran.code, "HEAD^ has no fleet at this place" in ran.out) == (3, True), ran.said
        home.wish(entry("fra1-a", {"acme": 16, "globex": 8}))
        home.plan("--out", tmp_path / "plan.json")
        repository.commit()
        home.apply("--plan", tmp_path / "plan.json")


@pytest.mark.parametrize("how", ["no repository", "no commit", "a first commit", "not kept"])
def test_where_there_is_none_before_the_plans_own_base_is_all(tmp_path: Path, how: str) -> None:
    home = Home(tmp_path)
    home.wish(KEPT)
    home.apply()
    home.wish(TAKEN)
    if how != "no repository":
        repository = Repository(home.directory)
        if how == "a first commit":
            repository.commit()
        if how == "not kept":
            (home.directory / ".git" / "info" / "exclude").write_text("*")
            repository.commit()
            repository.commit()
    home.plan("--out", tmp_path / "plan.json")
    home.apply("--plan", tmp_path / "plan.json")
    assert home.is_settled()
