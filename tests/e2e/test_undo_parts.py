"""What an undo says that it did, of a part never all, and what is to be done to the files, only where that is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from better_compute.domain.commands import OfferPool
from fleetctl.undo import finding
from tests.e2e.homes import Home, phrase, unchanged
from tests.e2e.test_laws import ALLOWED
from tests.e2e.test_undo import AFTER, BEFORE, applied, changing, hand, pool, undone

REVERT = "Revert the files too"
AGAIN = "If the files were reverted, bring the change back into them"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return changing(tmp_path)


def said(home: Home, file: Path, *flags: str, code: int = 0) -> str:
    """What an undo says, for people."""
    ran = home.run("apply", "--undo", file, "--yes", *ALLOWED, *flags)
    assert ran.code == code, ran.said
    return ran.out


# A part of the apply.


def test_what_is_outside_of_the_part_and_still_in_place_is_told_by_name(home: Home) -> None:
    file = applied(home)
    out = said(home, file, "--except", "key=new")
    assert "a part of the apply; 2 of its operations outside are still in place" in out
    assert "Applied: 5 operations done (a part of the apply: 2 of its operations outside are still in place)." in out
    assert "a part of the fleet" not in out
    section = out.partition("Outside the part, and still in place\n")[2].partition("\n\n")[0]
    assert [line.split("  ")[1] for line in section.splitlines()] == ["create new", "offer new to globex"]
    with unchanged(home):
        out = said(home, file, "--except", "key=new")
    assert "Nothing of the part is there to be taken back of the apply" in out
    assert "2 of its operations outside are still in place." in out
    out = said(home, file, "--only", "key=new", "--format", "text")
    assert "(a part of the apply: 1 of its operations outside is still in place)" in out, "the archive, for good"


def test_what_somebody_moved_outside_of_the_part_still_stands(home: Home) -> None:
    file = applied(home)
    hand(home, OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9}))
    report = undone(home, file, "--except", "tenant=acme")
    assert [phrase(one) for one in report["undo"]["outside"]] == ["offer a to acme"]


def test_what_was_taken_back_outside_of_the_part_stands_no_more(home: Home) -> None:
    file = applied(home)
    undone(home, file)
    report = undone(home, file, "--only", "key=a")
    assert [phrase(one) for one in report["undo"]["outside"]] == ["archive old"]
    assert "nothing of it outside is still in place" in said(home, file, "--except", "key=b")


@pytest.mark.parametrize("form", ["markdown", "html", "json", "github", "junit", "sarif"])
def test_it_is_told_in_every_format(home: Home, form: str) -> None:
    out = said(home, applied(home), "--except", "key=new", "--format", form)
    assert "offer new to globex" in out or ('"outside"' in out and '"globex"' in out)


def test_what_stands_and_nobody_tells_is_seen(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody looks outside of the part."""
    monkeypatch.setattr(finding._Found, "stands", False)
    with pytest.raises(AssertionError, match="2 of its operations outside are still in place"):
        test_what_is_outside_of_the_part_and_still_in_place_is_told_by_name(home)


# What is to be done to the files.


def test_where_nothing_is_taken_back_nobody_is_sent_to_the_files(home: Home) -> None:
    file = applied(home, "archive.json", "--only", "key=old")
    out = said(home, file, code=1)
    assert REVERT not in out
    assert "The key of old is spent: no pool can have it again, so keep what the files say of it." in out
    nothing = applied(home, "nothing.json", "--only", "key=old")
    out = said(home, nothing)
    assert (REVERT in out, "spent" in out) == (False, False)


def test_where_something_is_taken_back_now_or_before_they_are_to_be_reverted_but_for_an_archive(home: Home) -> None:
    file = applied(home)
    for end in (", and is blocked by what is archived now.", "."):
        out = said(home, file)
        assert f"{REVERT}: else the next plan brings the change back{end}" in out
        assert "The key of old is spent" in out


def test_after_an_undo_of_an_undo_the_change_is_to_be_there_and_after_one_of_that_not(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(BEFORE[1])
    home.apply()
    home.wish({**BEFORE[1], "offers": []})
    files = [applied(home, "0.json")]
    for number, (expected, other) in enumerate([(REVERT, AGAIN), (AGAIN, REVERT), (REVERT, AGAIN)], 1):
        files.append(tmp_path / f"{number}.json")
        out = said(home, files[-2], "--report", str(files[-1]))
        assert (expected in out, other in out) == (True, False), out


# What drift says until they are reverted.


def test_drift_says_that_it_was_taken_back_and_not_that_it_was_never_applied(home: Home) -> None:
    home.wish({**BEFORE[0], "offers": [{"toTenantId": "acme", "quota": {"gpu": 16}}]}, *BEFORE[1:])
    file = applied(home)
    undone(home, file)
    home.wish({**BEFORE[0], "offers": [{"toTenantId": "acme", "quota": {"gpu": 16}}]}, *BEFORE[1:], AFTER[2])
    out = home.run("drift").out
    taken, _, ahead = out.partition("Taken back by an undo, and still in the files\n")[2].partition("Not applied yet\n")
    digest = json.loads(file.read_text())["digest"]
    assert "a for acme  the offer differs" in taken
    assert f"taken back by apply --undo of {digest[:12]}\n" in taken
    assert "taken back" not in ahead
    assert "new  the pool is not there" in ahead
