"""Live pools that are nobody's business of this fleet, and look as if they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.homes import Home, entry, fleetctl, pool_id

PREFIX = {"keyPrefix": "fra1-"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fleet of one pool, beside pools that others made: one with this fleet's prefix."""
    made = Home(tmp_path)
    made.wish(entry("fra1-a", {"acme": 8}), **PREFIX)
    made.apply()
    by_hand(made, "fra1-hand")
    by_hand(made, "ams1-hand", "sa_other")
    return made


def by_hand(home: Home, key: str, caller: str = "sa_hand") -> None:
    pool = {"siteId": "site_ams1", "class": "metal-host", "gpuModel": "L40S"}
    with home.hand(caller) as client:
        client.call("pools/create", {**pool, "idempotencyKey": key})


def test_a_pool_of_this_fleets_prefix_that_somebody_else_made_is_one_warning(home: Home) -> None:
    report = home.plan().report
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"], finding["path"]) == ("fleet.foreign", "warning", "keyPrefix")
    assert finding["message"].startswith("fra1-hand by sa_hand begins with this fleet's keyPrefix, fra1-")
    assert pool_id("fra1-hand", "sa_hand") in finding["hint"]
    assert (report["operations"], report["summary"]["foreign"], finding["source"]["file"]) == ([], 2, "fleet.yaml")


def test_of_many_three_are_named(home: Home) -> None:
    for number in range(4):
        by_hand(home, f"fra1-x{number}", "sa_other")
    [finding] = home.plan().report["findings"]
    assert "and 3 more pools begin with this fleet's keyPrefix" in finding["message"]


def test_without_a_prefix_nothing_looks_like_this_fleets(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}))
    assert home.plan().report["findings"] == []


def test_an_adopted_one_is_this_fleets(home: Home) -> None:
    adopted = {**entry("fra1-hand", []), "siteId": "site_ams1", "gpuModel": "L40S"}
    home.wish(entry("fra1-a", {"acme": 8}), {**adopted, "id": pool_id("fra1-hand", "sa_hand")}, **PREFIX)
    assert home.plan().report["findings"] == []


def test_where_the_caller_is_another_that_alone_is_told(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}), caller="sa_other", **PREFIX)
    assert [f["rule"] for f in home.plan().report["findings"]] == ["fleet.caller"]


def test_drift_remarks_it_and_does_not_count_it(home: Home) -> None:
    ran = home.run("drift")
    assert ran.code == 0
    assert "fleet.yaml:" in ran.err
    assert "fra1-hand by sa_hand begins with this fleet's keyPrefix" in ran.err


def test_a_verbose_plan_lists_all_of_them(home: Home) -> None:
    said = home.run("plan", "--verbose").out
    section = said[said.index("Foreign pools") :]
    assert "fra1-hand" in section
    assert "L40S at site_ams1  made by sa_hand" in section
    assert "ams1-hand" in section
    assert "Foreign pools" not in home.run("plan").out


@pytest.mark.parametrize("key", ["fra1-hand", "ams1-hand"])
def test_a_pool_is_explained_by_its_key_whoever_made_it(home: Home, key: str) -> None:
    ran = fleetctl("explain", key, "--fleet", home.directory, "--format", "json")
    assert ran.code == 0, ran.said
    pool = ran.report["pool"]
    assert (pool["key"], pool["entry"], pool["live"]["key"]) == (key, None, key)
    assert pool["events"][0]["type"] == "pool.created"


# Two pools of one entry.


def test_the_new_pool_of_a_renamed_entry_is_removed_where_both_are_live(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", {"acme": 8}), **PREFIX)
    home.apply()
    home.wish(entry("fra1-b", {"acme": 8}, previously="fra1-a"), **PREFIX)
    report = home.plan().report
    assert report["summary"]["removed"] == ["fra1-b"]
    assert "fleet.previously" in [f["rule"] for f in report["findings"]]
    ran = home.run("drift")
    assert ran.code == 2
    assert "both fra1-a and fra1-b are live" in ran.err
    found = home.run("drift", "--format", "json").report["drift"]
    assert [(one["kind"], one["key"]) for one in found] == [("removed", "fra1-b")]
    home.wish(entry("fra1-b", {"acme": 8}, previously="fra1-a"))
    ran = home.run("drift")
    assert (ran.code, "both fra1-a and fra1-b are live" in ran.err) == (0, True)


# What a plan's exit code says of removed pools.


def test_a_removed_pool_is_no_change_of_a_plan_wherever_it_stands(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", {"acme": 8}, gpuModel="H200"), **PREFIX)
    home.apply()
    home.wish(entry("fra1-a", {"acme": 8}), **PREFIX)
    assert home.run("plan", "--detailed-exitcode").code == 0
    ran = home.run("plan", "--detailed-exitcode", "--only", "key=fra1-a")
    assert ran.code == 0
    assert "1 outside differs" in ran.out
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-c", {"acme": 8}, gpuModel="B200"), **PREFIX)
    assert home.run("plan", "--detailed-exitcode", "--only", "key=fra1-a").code == 2
