"""An apply: what every call says of the change that it belongs to, and what is shown where nothing is to be done."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from better_compute.domain.commands import SetQuota
from fleetctl.report import schemas
from tests.e2e.homes import Home, entry, pool_id


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fleet of one pool with an offer, and a control plane with tenants and sites."""
    made = Home(tmp_path)
    made.wish(entry("fra1-a", {"acme": 8}))
    return made


def test_a_reason_is_kept_in_every_event_also_where_no_guard_is_lifted(home: Home) -> None:
    home.apply("--reason", "acme moves in")
    assert [(event.via or {}).get("reason") for event in home.events()] == ["acme moves in"] * 2
    assert all("allow" not in (event.via or {}) for event in home.events())


def test_the_longest_reason_fits_whatever_its_letters(home: Home) -> None:
    reason = "\U0001f600" * 100
    home.apply("--allow", "archives=2147483647", "--allow", "withdrawals=2147483647", "--reason", reason)
    assert {(event.via or {}).get("reason") for event in home.events()} == {reason}


def test_a_reason_takes_no_password_into_the_events(home: Home) -> None:
    home.apply("--reason", "as https://ci:hunter2@host/7 says")
    assert {(event.via or {}).get("reason") for event in home.events()} == {"as https://(sensitive)@host/7 says"}


def test_what_no_reason_is_given_for_names_none(home: Home) -> None:
    home.apply()
    assert home.events()
    assert all("reason" not in (event.via or {}) for event in home.events())


def test_what_was_found_is_shown_also_where_nothing_is_to_be_done(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", []), keyPrefix="fra1-")
    home.apply()
    home.wish(entry("fra1-a", {"acme": 8}), keyPrefix="fra1-")
    ran = home.run("apply", "--yes")
    assert ran.code == 0
    said = "fra1-b is live, sa_fleet made it, its key begins with this fleet's keyPrefix, fra1-, and no entry names it"
    assert said in ran.out


ALL = "everything is as the files say"


@pytest.fixture
def differing(home: Home) -> Home:
    """A fleet that was applied, and one of whose two pools somebody changed since."""
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", {"globex": 8}))
    home.apply()
    with home.hand() as client:
        client.quotas.set(SetQuota(tenant_id="root", pool_id=pool_id("fra1-a"), to_tenant_id="acme", quota={"gpu": 1}))
    return home


def said(home: Home, *flags: str | Path) -> list[str]:
    """What the report of an apply that has nothing to do says, in each format; they are in one mind of it."""
    found = []
    for form in ("text", "markdown", "html", "github", "junit"):
        ran = home.run("apply", *flags, "--format", form)
        assert ran.code == 0
        found.append(html.unescape(ran.out).replace("\\", ""))
    return found


def nothing_to_do(home: Home, *flags: str | Path) -> dict[str, Any]:
    """The summary of such a report, with how many differ outside of its part."""
    report = home.apply(*flags).report
    assert list(Draft202012Validator(schemas.schema("report.v1")).iter_errors(report)) == []
    assert report["summary"]["operations"] == 0
    return {**report["summary"], "outside": report["selection"] and report["selection"]["outside"]}


@pytest.mark.parametrize("flag", ["--only", "--except", "--plan"])
def test_of_a_part_nobody_says_that_all_is_as_wished(differing: Home, flag: str, tmp_path: Path) -> None:
    part = ("--except", "key=fra1-a") if flag == "--except" else ("--only", "key=fra1-b")
    if flag == "--plan":
        differing.plan(*part, "--out", tmp_path / "plan.json")
    given = ("--plan", tmp_path / "plan.json") if flag == "--plan" else (*part, "--yes")
    sentence = "No changes in the selection. 1 pool, 1 offer as wished; 1 outside differs."
    assert sentence in differing.run("plan", *part).out
    for shown in said(differing, *given):
        assert (sentence in shown, ALL in shown) == (True, False)
    summary = nothing_to_do(differing, *given)
    assert (summary["outside"], summary["entries"], summary["unchanged"], summary["offers"]) == (1, 1, 1, 1)


def test_what_is_done_of_a_part_is_said_to_be_that(differing: Home) -> None:
    differing.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", {"globex": 4}))
    ran = differing.run("apply", "--yes", "--only", "key=fra1-b")
    assert "\nApplied: 1 operation done (a part of the fleet: 1 outside differs).\n" in ran.out


def test_where_a_pool_of_the_fleet_is_in_no_file_not_all_is_as_they_say(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", []), keyPrefix="fra1-")
    home.apply()
    home.wish(entry("fra1-a", {"acme": 8}), keyPrefix="fra1-")
    sentences = "No changes. 1 pool, 1 offer as wished.", "1 pool of this fleet is in no file, and is left as it is."
    planned = home.run("plan").out
    for shown in (planned, *said(home, "--yes")):
        assert ([each in shown for each in sentences], ALL in shown) == ([True, True], False)
    assert nothing_to_do(home, "--yes")["removed"] == ["fra1-b"]


def test_where_a_replaced_pool_waits_not_all_is_as_they_say(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("racked", {"acme": 8}))
    home.apply()
    with home.hand("sa_hand", "acme") as client:
        assert client.reservations.create(pool_id("racked"), {"gpu": 4}).state == "placed"
    home.wish(entry("fra1-new", {"acme": 8}, replaces="racked"))
    home.apply()
    sentence = "1 pool is replaced, and is kept while it is in use."
    planned, drift = home.run("plan").out, home.run("drift")
    assert (drift.code, "No drift. 1 pool, 1 offer as the files say." in drift.out) == (0, True)
    for shown in (planned, drift.out, *said(home, "--yes")):
        assert (sentence in shown, ALL in shown) == (True, False)
    assert nothing_to_do(home, "--yes")["waiting"] == ["racked"]


def test_where_all_is_as_the_files_say_an_apply_says_so(home: Home) -> None:
    home.apply()
    for shown in said(home, "--yes"):
        assert f"No changes: {ALL}." in shown
    summary = nothing_to_do(home, "--yes")
    assert (summary["outside"], summary["removed"], summary["waiting"]) == (None, [], [])
