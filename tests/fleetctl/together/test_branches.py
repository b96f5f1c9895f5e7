"""Where branches left each other, also of histories that crossed: what both have in common is what git would merge them
on, and git itself says what their files become."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fleetctl.base.bases import at_ref
from fleetctl.base.revisions import revisions
from fleetctl.together.branch import Branch
from fleetctl.together.branches import _Origins, branches
from fleetctl.together.lines import Merged, merge
from fleetctl.together.merging import Merging, merged
from tests.fleetctl.together.sides import offered
from tests.fleetctl.together.test_merging import clashes
from tests.repository import Repository

ROOT = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "allowEmpty": True}


def text(*entries: dict[str, Any]) -> str:
    """A document of one line for each entry: any two that are added at one place conflict."""
    pools = ",\n".join(json.dumps(each) for each in entries)
    return f'{json.dumps(ROOT)[:-1]},\n"pools": [\n{pools}\n]}}\n'


class Crossed(Repository):
    """`main` and `other` started at one fleet, and each has merged what the other had."""

    def __init__(self, path: Path, start: str) -> None:
        super().__init__(path)
        self.commit(fleet=start)
        self.git("branch", "other")

    def on(self, branch: str, fleet: str) -> str:
        self.git("checkout", "-q", branch)
        return self.commit(fleet=fleet)

    def cross(self, fleet: str, clear: str = "", **files: str) -> None:
        """Both merge the other as it is, and write this fleet for it, and more files; `clear` is taken away."""
        tips = {name: self.git("rev-parse", name) for name in ("main", "other")}
        for name, other in (("main", "other"), ("other", "main")):
            self.git("checkout", "-q", name)
            self.git("merge", "-q", "-s", "ours", "--no-commit", tips[other])
            if clear:
                self.git("rm", "-rqf", clear)
            self.commit(fleet=fleet, **files)

    def found(self) -> Branch:
        self.git("checkout", "-q", "main")
        (one,) = branches(self.path, ["other"], caller=None).found
        return one

    def merging(self) -> Merging:
        one = self.found()
        ours = at_ref(self.path, "main", caller=None)
        assert ours.desired is not None
        return merged(ours.desired, [one])


A, NEW, OWN = offered("a", acme=1), offered("new", acme=1), offered("own", acme=1)


@pytest.fixture
def crossed(tmp_path: Path) -> Crossed:
    """`main` added `new`, and `other` added `own` in the same line; each has both by now."""
    made = Crossed(tmp_path / "repository", text(A))
    made.on("main", text(A, NEW))
    made.on("other", text(A, OWN))
    made.cross(text(A, NEW, OWN))
    return made


@pytest.mark.parametrize("remover", ["main", "other"])
def test_a_pool_that_one_took_from_another_and_removes_while_that_one_changes_it_clashes(
    crossed: Crossed, remover: str
) -> None:
    changer = "other" if remover == "main" else "main"
    for pool in ("new", "own"):
        crossed.on(remover, text(*(each for each in (A, NEW, OWN) if each["idempotencyKey"] != pool)))
        crossed.on(changer, text(*({**each, "protect": each["idempotencyKey"] == pool} for each in (A, NEW, OWN))))
        becomes = {remover: "removed", changer: "changed"}
        assert clashes(crossed.merging()) == {pool: [(None, becomes["main"]), ("other", becomes["other"])]}


def test_what_one_took_from_another_and_removes_goes_where_nobody_changes_it(crossed: Crossed) -> None:
    crossed.on("other", text(A, OWN))
    made = crossed.merging()
    assert not made.clashes
    assert {entry.key for entry in made.desired.entries.values()} == {"a", "own"}


def test_a_side_that_kept_what_one_of_them_had_contradicts_one_that_kept_the_others(tmp_path: Path) -> None:
    made = Crossed(tmp_path / "repository", text(offered("a", acme=1)))
    made.on("main", text(offered("a", acme=2)))
    made.on("other", text(offered("a", acme=3)))
    made.cross(text(offered("a", acme=2)))
    assert not made.merging().clashes
    made.on("other", text(offered("a", acme=3)))
    assert clashes(made.merging()) == {"a offers[acme].quota.gpu": [(None, 2), ("other", 3)]}


def limited(oversell: int, *entries: dict[str, Any]) -> str:
    return text(*entries).replace('"pools"', f'"guards": {{"maxOversell": {oversell}}}, "pools"')


@pytest.mark.parametrize("bases", [(3, 2), (2, 3), (5, 2)])
@pytest.mark.parametrize("tips", [(3, 2), (2, 3), (4, 2), (3, 1)])
def test_a_guard_that_was_changed_on_both_sides_of_a_cross_is_one_of_each_side_that_has_it(
    tmp_path: Path, bases: tuple[int, int], tips: tuple[int, int]
) -> None:
    made = Crossed(tmp_path / "repository", limited(1, A))
    made.on("main", limited(bases[0], A))
    made.on("other", limited(bases[1], A))
    made.cross(limited(tips[0], A))
    made.on("other", limited(tips[1], A))
    assert made.merging().desired.guards.max_oversell == min(tips)


def test_a_file_in_the_place_of_a_folder_where_histories_went_apart_is_no_fault(tmp_path: Path) -> None:
    made = Crossed(tmp_path / "repository", text(A))
    pools = {each["idempotencyKey"]: json.dumps({"pools": [each]}) for each in (NEW, OWN)}
    made.git("checkout", "-q", "main")
    made.commit(n=pools["new"])
    made.git("checkout", "-q", "other")
    made.commit(**{"n.yaml/m": pools["own"]})
    made.cross(text(A), clear="n.yaml", **pools)
    made.on("other", text({**A, "protect": True}))
    assert made.found().left is not None
    assert not made.merging().clashes


def test_what_one_took_back_is_not_taken_for_what_others_made_of_it_where_the_base_is_put_together(
    crossed: Crossed,
) -> None:
    """The base has both changes of `a`, so that one that has either of them says what a file said before it."""
    raised, kept = {**A, "protect": True}, {**A, "policy": {"singleTenant": True}}
    crossed.on("main", text(raised, NEW))
    crossed.on("other", text(kept, OWN))
    crossed.cross(text({**raised, **kept}, NEW, OWN))
    crossed.on("main", text({**raised, "policy": {"singleTenant": False}}, NEW, OWN))
    crossed.on("other", text(raised, NEW, OWN))
    assert list(clashes(crossed.merging())) == ["a policy.singleTenant"]


def test_histories_that_cross_again_and_again_are_followed_to_where_they_began(
    crossed: Crossed, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = [A, NEW, OWN]
    for n in range(6):
        crossed.on("main", text(*pools, offered(f"m{n}", acme=1)))
        crossed.on("other", text(*pools, offered(f"o{n}", acme=1)))
        pools += [offered(f"m{n}", acme=1), offered(f"o{n}", acme=1)]
        crossed.cross(text(*pools))
    crossed.on("other", text(*pools[:-2]))
    made = crossed.merging()
    assert not made.clashes
    assert {entry.key for entry in made.desired.entries.values()} == {each["idempotencyKey"] for each in pools[:-2]}
    monkeypatch.setattr("fleetctl.base.revisions._DEEP", 3)
    with pytest.raises(Exception, match="crossed more than 3 times"):
        crossed.found()


def test_a_base_that_is_the_first_of_several_commits_is_noticed(
    crossed: Crossed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: without a merge of them one of the two removals is taken for what was there before."""
    monkeypatch.setattr(_Origins, "desired", lambda _self, row: row[0].desired if row else None)
    with pytest.raises(AssertionError, match="'removed'"):
        test_a_pool_that_one_took_from_another_and_removes_while_that_one_changes_it_clashes(crossed, "main")


class History(Repository):
    """Two branches that edit, add, move and remove files, and merge what the other had a while ago."""

    def __init__(self, path: Path, seed: int) -> None:
        super().__init__(path)
        self._random = Random(seed)
        self.git("config", "merge.directoryRenames", "false")
        self.commit(**{f"f{n}": "".join(f"f{n} {line} of the start\n" for line in range(12)) for n in range(4)})
        self.git("branch", "other")
        self.tips = {"main": [self.git("rev-parse", "main")], "other": [self.git("rev-parse", "main")]}

    def write(self, steps: int) -> None:
        for step in range(steps):
            name = self._random.choice(("main", "other"))
            self.git("checkout", "-q", name)
            acts = self._edit, self._add, self._move, self._remove, self._take, self._cross
            self._random.choices(acts, (8, 1, 2, 1, 3, 3))[0](name, step)
            self.tips[name].append(self.commit())

    def _files(self) -> list[Path]:
        return sorted(self.path.glob("*.yaml"))

    def _edit(self, _name: str, step: int) -> None:
        if files := self._files():
            file = self._random.choice(files)
            lines = file.read_text().splitlines()
            lines[self._random.randrange(len(lines))] = f"{file.name} edited in {step}"
            file.write_text("\n".join(lines) + "\n")

    def _add(self, name: str, step: int) -> None:
        (self.path / f"{name}{step}.yaml").write_text("".join(f"{name} {step} {line}\n" for line in range(12)))

    def _move(self, name: str, step: int) -> None:
        if files := self._files():
            self._random.choice(files).rename(self.path / f"moved-{name}{step}.yaml")

    def _remove(self, _name: str, _step: int) -> None:
        if len(files := self._files()) > 1:
            self._random.choice(files).unlink()

    def _take(self, name: str, _step: int) -> None:
        self._merge(self._random.choice(self.tips["other" if name == "main" else "main"][-3:]))

    def _cross(self, name: str, _step: int) -> None:
        tip, other = self.git("rev-parse", "HEAD"), "other" if name == "main" else "main"
        self._merge(other)
        self.git("checkout", "-q", other)
        self._merge(tip)
        self.tips[other].append(self.git("rev-parse", "HEAD"))
        self.git("checkout", "-q", name)

    def _merge(self, other: str) -> None:
        if self.merges(other) is None:
            self.git("merge", "-q", "-s", "ours", "-m", "x", other)

    def merges(self, other: str) -> dict[str, bytes] | None:
        """What the files become, as git merges; None where it says that they conflict."""
        command = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com", "merge", "-q", "-m", "x", other)
        if subprocess.run(command, cwd=self.path, capture_output=True, check=False).returncode:
            self.git("merge", "--abort")
            return None
        return {file.name: file.read_bytes() for file in self._files()}


def ours(path: Path) -> Merged:
    read = revisions(path, ["other"], caller=None)
    if not read.found:
        return Merged(read.files, {})
    (revision,) = read.found.values()
    was, _ = _Origins(path, None).files(revision.left)
    return merge(read.files, was, revision.files)


def check_as_git(path: Path, seed: int, *, may_doubt: bool = False) -> tuple[bool, bool]:
    """Returns whether there was more than one commit at which they left each other, and whether files are said to
    conflict that git merges, which only crossed histories may make `may_doubt` of."""
    history = History(path, seed)
    history.write(Random(seed).randrange(4, 18))
    history.git("checkout", "-q", "main")
    found = ours(history.path)
    is_crossed = len(history.git("merge-base", "--all", "main", "other").split()) > 1
    by_git = history.merges("other")
    if by_git is None:
        assert found.clash, "git says that they conflict"
    elif not (found.clash and is_crossed and may_doubt):
        assert (dict(found.files), dict(found.clash)) == (by_git, {})
    return is_crossed, by_git is not None and bool(found.clash)


@pytest.mark.parametrize("seed", range(20))
def test_files_become_what_git_makes_of_them(tmp_path: Path, seed: int) -> None:
    check_as_git(tmp_path / "repository", seed)


@pytest.mark.long
def test_files_of_many_histories_become_what_git_makes_of_them(tmp_path: Path) -> None:
    """Where each of two moved a file elsewhere, both merged that, and each kept its own place, git takes the one that
    is merged in: two wishes all the same."""
    found = [check_as_git(tmp_path / f"{seed}", seed, may_doubt=True) for seed in range(20, 520)]
    assert sum(is_crossed for is_crossed, _ in found) > 100
    assert sum(in_doubt for _, in_doubt in found) <= 5
