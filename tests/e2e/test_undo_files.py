"""What an undo needs of the files, and what it knows without them: they may be as they were before, or have no pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from better_compute.domain.commands import ArchivePool
from fleetctl.apply import attempts
from tests.e2e.homes import Home, entry, fleetctl, phrase, pool_id, unchanged
from tests.e2e.test_laws import ALLOWED
from tests.e2e.test_undo import applied, hand, live, pool, refused, undone

OLD = entry("old", {"acme": 4})
BESIDE = entry("a", {"acme": 8})
NEXT = entry("next", {"acme": 4})
HEIR = {**NEXT, "replaces": "old"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.wish(BESIDE, OLD)
    made.apply()
    return made


def is_kept(home: Home, file: Path, code: int = 0) -> None:
    """The heir stays with its offer, and it is said why."""
    left = {phrase(one): (one["code"], one["why"]) for one in undone(home, file, code=code)["undo"]["left"]}
    heir = ("heir", "it took the place of old, and that one is archived for good")
    assert {name: why for name, why in left.items() if "next" in name} == {
        "create next": heir,
        "offer next to acme": heir,
    }
    assert live(home)[pool_id("next")][1]["acme"] == {"gpu": 4}


# A pool that took the place of another.


@pytest.mark.parametrize("files", [[BESIDE, OLD], [BESIDE], []])
def test_an_heir_stays_also_where_the_files_were_reverted_before(home: Home, files: list[dict[str, object]]) -> None:
    home.wish(entry("a", {"acme": 9}), HEIR)
    file = applied(home)
    home.wish(*files)
    is_kept(home, file)
    assert live(home)[pool_id("a")][1]["acme"] == {"gpu": 8}


def test_also_where_a_later_apply_archived_the_old_pool(home: Home) -> None:
    home.wish(BESIDE, OLD, NEXT)
    file = applied(home)
    home.wish(BESIDE, HEIR)
    applied(home, "later.json")
    home.wish(BESIDE, OLD)
    is_kept(home, file, code=1)


def test_also_where_the_run_that_archived_it_was_killed_and_one_after_it_told_of_both(home: Home) -> None:
    home.wish(entry("a", {"acme": 9}), HEIR)
    plan = home.directory.parent / "plan.json"
    home.plan("--out", plan, *ALLOWED)
    home.apply("--plan", plan, *ALLOWED)
    report = home.directory.parent / "again.json"
    home.apply("--plan", plan, *ALLOWED, "--report", report)
    home.wish(BESIDE, OLD)
    is_kept(home, report)


def test_the_archive_says_who_took_its_place(home: Home) -> None:
    home.wish(BESIDE, HEIR)
    applied(home)
    (event,) = [one for one in home.events() if one.type == "pool.archived"]
    assert (event.via or {})["heir"] == pool_id("next")
    assert f"{pool_id('next')} took its place" in fleetctl("explain", pool_id("old"), "--fleet", home.directory).out


def test_a_pool_that_stood_beside_one_that_somebody_archived_is_taken_back(home: Home) -> None:
    home.wish(BESIDE, OLD, NEXT)
    file = applied(home)
    hand(home, ArchivePool(**pool("old")))
    assert [phrase(one) for one in undone(home, file)["done"]] == ["archive next"]


def test_an_archive_that_does_not_say_it_leaves_tenants_with_neither(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: no call names the heir."""
    monkeypatch.setattr(attempts, "_named", lambda change, operation: {**change, "operation": operation.digest})
    home.wish(BESIDE, HEIR)
    file = applied(home)
    home.wish(BESIDE, OLD)
    with pytest.raises(AssertionError, match=r"'create next': \('heir'"):
        is_kept(home, file)


# Files that say less, or are wrong.


def test_files_without_a_pool_are_enough(home: Home) -> None:
    home.wish(entry("a", {"acme": 9}), OLD, NEXT)
    file = applied(home)
    home.wish()
    with unchanged(home):
        assert home.run("apply", "--yes").code == 1  # a lost file more often than a wish
    assert sorted(phrase(one) for one in undone(home, file)["done"]) == ["archive next", "offer a to acme"]
    assert set(live(home)) == {pool_id("a"), pool_id("old")}


def test_their_guards_hold_all_the_same(home: Home) -> None:
    home.wish(BESIDE, OLD, NEXT)
    file = applied(home)
    home.wish(guards={"protect": ["next"]})
    assert "would take from what is protected: archive next" in refused(home, file, code=3)
    home.wish(guards={"maxArchives": 0})
    with unchanged(home):
        ran = home.run("apply", "--undo", file, "--yes")
    assert (ran.code, "1 archive, and one apply may do 0" in ran.out) == (3, True)


def test_an_emptied_file_may_have_lost_a_guard_and_takes_nothing(home: Home) -> None:
    home.wish(BESIDE, OLD, NEXT)
    file = applied(home)
    home.wish(BESIDE, OLD)
    home.write("more.yaml", "# all that it held is gone\n")
    assert "more.yaml:1:1: nothing is said here" in refused(home, file, code=3)


def test_a_control_plane_that_is_not_there_is_not_made_to_take_something_back(home: Home) -> None:
    file = applied(home)
    home.database.unlink()
    ran = home.run("apply", "--undo", file, "--yes")
    assert (ran.code, home.database.exists()) == (4, False)
    assert "the plan or report is of another control plane" in ran.err


@pytest.mark.parametrize("text", ["", "pools: [\n", json.dumps({"apiVersion": "fleet/v1", "pools": []})])
def test_files_that_do_not_say_who_applies_or_are_broken_are_refused_and_it_is_said_what_they_are_for(
    home: Home, text: str
) -> None:
    home.wish(BESIDE, OLD, NEXT)
    file = applied(home)
    home.write("fleet.yaml", text)
    said = refused(home, file, code=1)
    assert "the files who may, at which control plane, and what is guarded and protected" in said
    assert "They must be valid, and need not have the pools" in said


def test_a_wrong_entry_may_have_lost_its_protection_and_is_refused(home: Home) -> None:
    home.wish(BESIDE, OLD, NEXT)
    file = applied(home)
    home.wish(BESIDE, OLD, {**NEXT, "protcet": True})
    said = refused(home, file, code=1)
    assert "They must be valid" in said
    assert "protect" in said
