"""What of a plan is not of its change: live state that moved behind the files' back, or a base that nobody applied."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fleetctl.words import time
from tests.e2e.homes import Home, Ran, entry, pool_id, unchanged
from tests.e2e.test_laws import ALLOWED

WAS = [entry("fra1-a", {"acme": 8}), entry("fra1-b", {"globex": 8})]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fleet that is applied, and its files as a base."""
    made = Home(tmp_path, fleet="platform", keyPrefix="fra1-")
    made.wish(*WAS)
    made.apply()
    as_base(made)
    return made


def as_base(home: Home) -> None:
    was = home.directory.parent / "was"
    was.mkdir(exist_ok=True)
    (was / "fleet.yaml").write_bytes((home.directory / "fleet.yaml").read_bytes())


def plan(home: Home, *arguments: str | Path, form: str = "json") -> Ran:
    with unchanged(home):
        return home.run("plan", "--base-dir", home.directory.parent / "was", "--format", form, *arguments)


def by_hand(home: Home, key: str, tenant_id: str, gpus: int) -> None:
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id(key), "toTenantId": tenant_id, "quota": {"gpu": gpus}})


def test_what_somebody_changed_names_him_and_when(home: Home) -> None:
    by_hand(home, "fra1-a", "acme", 12)
    report = plan(home).report
    [one], last = report["drift"], home.events()[-1]
    assert one == {
        "n": 1,
        "kind": "changed",
        "since": last.time,
        "actorId": "sa_hand",
        "eventType": "pool.offered",
        "viaFleet": None,
        "undoes": None,
    }
    assert report["summary"]["drift"] == {"changed": 1, "pending": 0}


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_loser_and_operation_say_whose_change_it_was(home: Home, form: str) -> None:
    by_hand(home, "fra1-a", "acme", 12)
    said = plan(home, form=form).out
    assert said.count("drift: by sa_hand since 20") == 1
    assert said.count("undoes what sa_hand changed since 20") == 1
    assert "1 operation undoes what moved behind the files" in said
    assert "not applied yet" not in said


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_what_the_base_asks_for_and_nobody_applied_accuses_nobody(home: Home, form: str) -> None:
    home.wish(entry("fra1-a", {"acme": 4}), WAS[1], entry("fra1-c", {"acme": 1}))
    as_base(home)
    report = plan(home).report
    assert [(one["kind"], one["actorId"], one["viaFleet"]) for one in report["drift"]] == [
        ("pending", None, None),
        ("pending", None, None),
        ("pending", "sa_fleet", "platform"),
    ]
    said = plan(home, form=form).out
    assert "behind the files" not in said
    assert "drift" not in said.replace("drift.json", "")
    assert "3 operations do what the base asks for too, and nobody applied yet." in said
    assert "loses 4 H100 GPUs in fra1-a" in said
    assert said.count("not applied yet") == 4  # three operations, one loser


def test_a_loser_by_both_is_marked_in_part(home: Home) -> None:
    by_hand(home, "fra1-b", "acme", 3)
    home.wish(entry("fra1-a", {"acme": 4}), WAS[1])
    [line] = [line for line in plan(home, form="text").out.split("\n") if "loses 7 H100 GPUs and 1 offer in" in line]
    assert ", in part undoes what sa_hand changed since 20" in line


def test_a_raise_in_the_files_does_not_hide_whose_raise_it_overwrites(home: Home) -> None:
    by_hand(home, "fra1-a", "acme", 64)
    home.wish(entry("fra1-a", {"acme": 32}), WAS[1])
    report = plan(home).report
    assert (report["operations"][0]["causes"], report["drift"][0]["actorId"]) == (["intent", "drift"], "sa_hand")
    assert report["operations"][0]["changes"][0]["cause"] == "both"
    assert report["summary"]["drift"] == {"changed": 1, "pending": 0}
    said = plan(home, form="text").out
    assert "loses 32 H100 GPUs in fra1-a, overwrites what sa_hand changed since 20" in said
    assert said.count("(this change and drift: by sa_hand since 20") == said.count("this change and drift") == 1
    assert "1 operation overwrites what moved behind the files' back." in said
    assert "undo" not in said


def test_a_raise_on_top_of_a_raise_undoes_nothing(home: Home) -> None:
    by_hand(home, "fra1-a", "acme", 10)
    home.wish(entry("fra1-a", {"acme": 12}), WAS[1])
    said = plan(home, form="text").out
    assert "quota.gpu 10 -> 12  (this change and drift: by sa_hand since 20" in said
    assert said.count("this change and drift") == 1
    assert "1 operation overwrites what moved behind the files' back." in said
    assert "undo" not in said
    told = plan(home, form="junit").out
    assert "quota.gpu 10 -&gt; 12; this change and drift: by sa_hand since 20" in told


def test_what_undoes_and_what_overwrites_are_counted_apart(home: Home) -> None:
    by_hand(home, "fra1-a", "acme", 10)
    by_hand(home, "fra1-b", "globex", 10)
    home.wish(entry("fra1-a", {"acme": 12}), entry("fra1-b", {"globex": 8}))
    said = plan(home, form="text").out
    assert "1 operation undoes what moved behind the files' back." in said
    assert "1 operation overwrites what moved behind the files' back." in said
    assert "loses 2 H100 GPUs in fra1-b, undoes what sa_hand changed since 20" in said


def test_a_field_that_is_brought_back_is_undone_also_beside_one_that_is_not(home: Home) -> None:
    with home.hand() as client:
        body = {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": 10}, "priority": 5}
        client.call("pools/offer", body)
    home.wish(entry("fra1-a", {"acme": 12}), WAS[1])
    said = plan(home, form="text").out
    assert "quota.gpu 10 -> 12 (this change and drift)" in said
    assert "priority 5 -> 0 (drift)" in said
    assert "1 operation undoes what moved behind the files' back." in said
    assert "overwrite" not in said


def test_what_the_base_asks_for_in_vain_is_replaced(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 4}), WAS[1])
    as_base(home)
    home.wish(entry("fra1-a", {"acme": 2}), WAS[1])
    said = plan(home, form="text").out
    assert "loses 6 H100 GPUs in fra1-a, in place of what is not applied yet" in said
    assert "1 operation replaces what the base asks for, and nobody applied yet." in said
    assert "asks for too" not in said


def test_a_plan_from_a_snapshot_says_the_same(home: Home) -> None:
    by_hand(home, "fra1-a", "acme", 12)
    kept = home.directory.parent / "live.json"
    assert home.run("snapshot", "--out", kept).code == 0
    assert plan(home, "--snapshot", kept).report["drift"] == plan(home).report["drift"] != []


def test_without_drift_or_without_a_base_no_event_is_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("events were read")

    monkeypatch.setattr("fleetctl.history.read", refuse)
    home.wish(entry("fra1-a", {"acme": 9}), WAS[1])
    report = plan(home).report
    assert (report["drift"], report["summary"]["drift"]) == ([], {"changed": 0, "pending": 0})
    by_hand(home, "fra1-b", "globex", 9)
    report = home.plan().report
    assert (report["drift"], report["summary"]["drift"]) == (None, None)


# What was applied, and taken back.


def taken_back(home: Home, *pools: Any, name: str = "report.json") -> str:
    """The digest of an apply of these pools that was taken back, though the base has them by now."""
    home.wish(*pools)
    as_base(home)
    file = home.directory.parent / name
    home.apply("--report", file, *ALLOWED)
    home.apply("--undo", file, *ALLOWED)
    return str(json.loads(file.read_text())["digest"])


def undone(home: Home, digest: str, *, since: int = -1) -> str:
    return f"taken back by apply --undo of {digest[:12]} by sa_fleet since {time(home.events()[since].time)}"


def test_the_report_says_which_apply_was_taken_back_by_whom_and_when(home: Home) -> None:
    digest = taken_back(home, entry("fra1-a", {"acme": 4}), WAS[1])
    report = plan(home).report
    [one], last = report["drift"], home.events()[-1]
    assert one == {
        "n": 1,
        "kind": "pending",
        "since": last.time,
        "actorId": "sa_fleet",
        "eventType": "pool.offered",
        "viaFleet": "platform",
        "undoes": digest,
    }
    assert report["summary"]["drift"] == {"changed": 0, "pending": 1}


@pytest.mark.parametrize("form", ["text", "markdown", "html", "junit"])
def test_what_was_taken_back_is_not_said_to_be_applied_never(home: Home, form: str) -> None:
    said = undone(home, taken_back(home, entry("fra1-a", {"acme": 4}), WAS[1]))
    out = plan(home, form=form).out
    assert "not applied yet" not in out
    assert "nobody applied" not in out
    assert out.count(said) == (1 if form == "junit" else 2), "an operation, and the loser where losers are told"
    assert "1 operation does what the base asks for too, where an undo took an apply back." in out
    assert said.partition(" by sa_fleet")[0] in home.run("drift").out, "as drift says it"


def test_an_offer_that_was_withdrawn_again_was_taken_back_too(home: Home) -> None:
    said = undone(home, taken_back(home, entry("fra1-a", {"acme": 8, "initech": 2}), WAS[1]))
    assert f"({said}, " in plan(home, form="text").out


def test_what_was_taken_back_is_told_apart_from_what_was_never_applied(home: Home) -> None:
    digest = taken_back(home, entry("fra1-a", {"acme": 4}), WAS[1])
    home.wish(entry("fra1-a", {"acme": 4}), entry("fra1-b", {"globex": 4}))
    as_base(home)
    out = plan(home, form="text").out
    assert out.count(undone(home, digest)) == out.count("(not applied yet, ") + 1 == 2
    assert "1 operation does what the base asks for too, and nobody applied yet." in out
    assert "1 operation does what the base asks for too, where an undo took an apply back." in out


def test_a_loser_by_two_applies_that_were_taken_back_is_told_of_both(home: Home) -> None:
    a, b = ((entry(f"fra1-{name}", {"acme": 8}), entry(f"fra1-{name}", {"acme": 4})) for name in "ab")
    home.wish(a[0], b[0])
    home.apply(*ALLOWED)
    first = taken_back(home, a[1], b[0], name="first.json")
    then = undone(home, first).rpartition(" by ")[2]
    second = taken_back(home, a[0], b[1], name="second.json")
    home.wish(a[1], b[1])
    as_base(home)
    out = plan(home, form="text").out
    assert f"taken back by apply --undo of {first[:12]} and {second[:12]} by {then}" in out
    assert "2 operations do what the base asks for too, where an undo took an apply back." in out


def test_what_the_files_ask_for_instead_of_what_was_taken_back_replaces_it(home: Home) -> None:
    digest = taken_back(home, entry("fra1-a", {"acme": 4}), WAS[1])
    home.wish(entry("fra1-a", {"acme": 2}), WAS[1])
    out = plan(home, form="text").out
    assert f"loses 6 H100 GPUs in fra1-a, in place of what was {undone(home, digest)}" in out
    assert f"(this change and {undone(home, digest)}, " in out
    assert "1 operation replaces what the base asks for, where an undo took an apply back." in out


def test_what_the_base_asks_for_since_an_undo_is_not_said_to_be_taken_back(home: Home) -> None:
    """4 was applied and taken back; 6 nobody ever applied."""
    said = undone(home, taken_back(home, entry("fra1-a", {"acme": 4}), WAS[1]))
    home.wish(entry("fra1-a", {"acme": 6}), WAS[1])
    as_base(home)
    out = plan(home, form="text").out
    assert f"quota.gpu 8 -> 6  ({said}, " in out
    assert "1 operation does what the base asks for too, where an undo took an apply back." in out


def test_a_single_field_that_was_taken_back_is_marked_so(home: Home) -> None:
    terms = {"toTenantId": "acme", "quota": {"gpu": 4}}
    taken_back(home, entry("fra1-a", [terms]), WAS[1])
    home.wish(entry("fra1-a", [{**terms, "priority": 3}]), WAS[1])
    out = plan(home, form="text").out
    assert "quota.gpu 8 -> 4 (taken back)" in out
    assert "priority 0 -> 3 (this change)" in out


def test_who_changes_it_after_the_undo_is_told_instead(home: Home) -> None:
    taken_back(home, entry("fra1-a", {"acme": 4}), WAS[1])
    by_hand(home, "fra1-a", "acme", 12)
    out = plan(home, form="text").out
    assert "drift: by sa_hand since 20" in out
    assert "took back" not in out
    assert "taken back" not in out


def test_whoever_only_says_so_takes_nothing_back(home: Home) -> None:
    with home.hand() as client:
        body = {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": 12}}
        client.under({"fleet": "platform", "undoes": "d" * 64}).call("pools/offer", body)
    out = plan(home, form="text").out
    assert "drift: by sa_hand since 20" in out
    assert "taken back" not in out


@pytest.mark.parametrize(("undoes", "told"), [(["x"], False), ("", False), (7, False), ("\u202e`x`", True)])
def test_what_names_no_apply_is_none_and_what_a_caller_sent_is_escaped(home: Home, undoes: Any, told: bool) -> None:
    with home.hand("sa_fleet") as client:
        body = {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": 12}}
        client.under({"fleet": "platform", "undoes": undoes}).call("pools/offer", body)
    [one], out = plan(home).report["drift"], plan(home, form="text").out
    assert one["undoes"] == (undoes if told else None)
    assert ("taken back by apply --undo of " in out, "not applied yet" in out) == (told, not told)
    assert "\u202e" not in out


@pytest.mark.parametrize("form", ["text", "markdown", "html", "junit"])
def test_what_a_caller_sent_is_no_markup(home: Home, form: str) -> None:
    with home.hand("sa_fleet") as client:
        body = {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": 12}}
        via = {"fleet": "platform", "undoes": "```<b>@team</b> **x** [a](http://e.example)" + "y" * 200}
        client.under(via).call("pools/offer", body)
    out = plan(home, form=form).out
    assert "taken back by apply --undo of" in out
    assert "y" * 100 not in out
    outside_of_code = re.sub(r"^(```+)\w*\n.*?^\1\n", "", out, flags=re.DOTALL | re.MULTILINE)
    assert form == "text" or "<b>@team" not in outside_of_code
    assert form != "markdown" or "](http" not in outside_of_code


# Pools that are pruned.


def test_a_pruned_pool_is_not_left_as_it_is(home: Home) -> None:
    home.wish(WAS[0])
    assert "1 pool of this fleet" in plan(home, form="text").out
    ran = plan(home, "--prune", form="text")
    assert "of this fleet" not in ran.out
    assert plan(home, "--prune").report["summary"]["removed"] == []


@pytest.mark.parametrize("form", ["github", "sarif", "junit"])
def test_no_tool_puts_a_line_of_the_base_into_a_file_of_today(home: Home, form: str) -> None:
    home.wish(WAS[0], guards={"maxArchives": 0})
    report = plan(home, "--prune").report
    [operation], blocking = report["operations"], [f for f in report["findings"] if f["severity"] == "error"]
    assert operation["source"]["file"] == "base:fleet.yaml"
    assert [f["source"]["file"] for f in blocking] == ["base:fleet.yaml"]
    said = plan(home, "--prune", form=form).out
    assert "archive fra1-b" in said
    assert "file=" not in said
    assert "physicalLocation" not in said
    assert "base:fleet.yaml:" in plan(home, "--prune", form="text").out
