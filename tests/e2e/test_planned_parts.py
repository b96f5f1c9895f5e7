"""What a plan file was made with (a base, a part, pruning) is what its apply is made with again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import environment
from tests.e2e.homes import Home, entry, pool_id, unchanged

WHY = ("--allow", "archives=1", "--allow", "withdrawals=5", "--reason", "test")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Three pools that are live, in a repository whose last commit names two of them."""
    home = Home(tmp_path)
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", {"acme": 8}), entry("ams1-c", [], siteId="site_ams1"))
    home.apply()
    git(home, "init", "-q", "-b", "main")
    commit(home, "three pools")
    git(home, "switch", "-q", "-c", "change")
    home.wish(entry("fra1-a", {"acme": 16}), entry("ams1-c", {"globex": 4}, siteId="site_ams1"))
    commit(home, "one goes")
    return home


def git(home: Home, *arguments: str) -> None:
    names = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(("git", *arguments), cwd=home.directory, check=True, env=environment(**names))


def commit(home: Home, message: str) -> None:
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", message)


def live(home: Home) -> set[str]:
    with home.hand() as client:
        states = client.pools.all(owned=True)[0]
    return {state.pool.idempotency_key or "" for state in states if state.pool and not state.pool.archived}


def test_the_base_and_what_it_prunes(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    planned = home.run("plan", "--base", "main", "--prune", "--out", file, *WHY)
    assert planned.code == 0, planned.said
    assert home.run("apply", "--plan", file, *WHY).code == 0
    assert live(home) == {"fra1-a", "ams1-c"}
    assert home.is_settled()


def test_the_part(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert home.run("plan", "--only", "site=site_ams1", "--out", file).code == 0
    assert home.run("apply", "--plan", file).code == 0
    with home.hand() as client:
        assert client.pools.get(pool_id("ams1-c")).terms("globex") is not None
        terms = client.pools.get(pool_id("fra1-a")).terms("acme")
    assert terms is not None
    assert terms.quota == {"gpu": 8}


def test_the_same_flags_may_be_given_again(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    flags = ("--base", "main", "--prune", "--only", "key=fra1-*")
    assert home.run("plan", *flags, "--out", file, *WHY).code == 0
    assert home.run("apply", "--plan", file, *flags, *WHY).code == 0
    assert live(home) == {"fra1-a", "ams1-c"}


@pytest.mark.parametrize(
    "flags",
    [
        ("--prune",),
        ("--only", "key=fra1-b"),
        ("--except", "key=fra1-a"),
        ("--base", "HEAD"),
        ("--base-dir", "elsewhere"),
    ],
)
def test_other_flags_are_refused(home: Home, tmp_path: Path, flags: tuple[str, ...]) -> None:
    file = tmp_path / "plan.json"
    assert home.run("plan", "--base", "main", "--out", file).code == 0
    with unchanged(home):
        ran = home.run("apply", "--plan", file, *flags)
    assert ran.code == 64
    assert f"{flags[0]} says otherwise than the plan file does" in ran.err


def test_after_the_merge_the_base_is_still_the_commit_of_the_plan(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert home.run("plan", "--base", "main", "--prune", "--out", file, *WHY).code == 0
    git(home, "switch", "-q", "main")
    git(home, "merge", "-q", "--squash", "change")
    git(home, "commit", "-q", "-m", "merged")
    assert home.run("apply", "--plan", file, *WHY).code == 0
    assert live(home) == {"fra1-a", "ams1-c"}


def test_a_base_that_is_gone_is_an_error(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert home.run("plan", "--base", "main", "--prune", "--out", file, *WHY).code == 0
    shutil.rmtree(home.directory / ".git")
    with unchanged(home):
        ran = home.run("apply", "--plan", file, *WHY)
    assert ran.code == 1
    assert "no git repository" in ran.err.lower() or "not in a git repository" in ran.err.lower()


@pytest.mark.parametrize("flags", [(), ("--base-dir",)])
def test_a_base_beside_a_link_to_the_fleet_is_found_again(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The system follows the link before it goes up from it."""
    link, before, file = tmp_path / "q" / "link", tmp_path / "q" / "before", tmp_path / "plan.json"
    deep = tmp_path / "q" / "repository"
    deep.mkdir(parents=True)
    home = Home(deep)
    home.wish(entry("fra1-a", {"acme": 8}))
    shutil.copytree(home.directory, before)
    link.symlink_to(home.directory)
    home.directory = link
    assert home.run("plan", "--base-dir", before, "--out", file).code == 0
    given = (before,) if flags else ()
    assert home.run("apply", "--plan", file, *flags, *given).code == 0
    assert live(home) == {"fra1-a"}
