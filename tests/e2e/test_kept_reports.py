"""A report of something done is the only record by which it can be taken back: no later run costs it."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fleetctl import results
from tests.e2e.homes import Home, Ran, entry, fleetctl, fleetctl_process, phrase, pool_id, served
from tests.e2e.proxy import Exchange
from tests.e2e.test_laws import ALLOWED
from tests.e2e.test_undo import AFTER, BEFORE, WAY_BACK, applied, changing, live, planned, refusing, undone


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return changing(tmp_path)


@pytest.fixture
def report(home: Home) -> Path:
    return home.directory.parent / "report.json"


def told(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def aside(report: Path, digest: str) -> Path:
    return report.with_name(f"{report.name}.{digest[:12]}")


def kept(report: Path) -> list[str]:
    return sorted(path.name for path in report.parent.iterdir() if path.name.startswith(report.name))


def ended_early(home: Home, report: Path, *flags: str | Path) -> Ran:
    """A run that could make three writes of eight."""
    with served(home) as (_, proxy):
        proxy.reset(refusing(3))
        flags = flags or ("--yes",)
        ran = home.run("apply", *flags, *ALLOWED, "--report", report, "--parallelism", "1")
    home.target, home.environ = (), {}
    assert ran.code == 5, ran.said
    return ran


def test_of_an_apply_that_ended_early_and_the_one_that_went_on_both_reports_are_there(home: Home, report: Path) -> None:
    before = live(home)
    said = ended_early(home, report).err
    assert "It tells of 3 of 8 operations, and that of a run that goes on of the rest" in said
    assert "undo by each of the two, the later one first" in said
    first = told(report)
    ran = home.run("apply", "--yes", *ALLOWED, "--report", report)
    assert ran.code == 0, ran.said
    assert (
        f"The report that was there is kept as {aside(report, first['digest'])}: it tells of 3 operations done"
        in ran.err
    )
    assert told(aside(report, first["digest"])) == first
    assert len(told(report)["done"]) == 5
    for file in (report, aside(report, first["digest"])):
        undone(home, file)
    assert live(home) == {i: terms for i, terms in before.items() if i != pool_id("old")}


@pytest.mark.parametrize("why", ["a guard", "a plan file that is not there", "another tenant", "nothing to do"])
def test_a_run_that_does_nothing_costs_no_report(home: Home, report: Path, why: str) -> None:
    applied(home)
    first = told(report)
    match why:
        case "a guard":
            home.wish(*AFTER[:1], {"idempotencyKey": "new", "archived": True}, guards={"maxArchives": 0})
            ran = home.run("apply", "--yes", "--report", report)
        case "a plan file that is not there":
            ran = home.run("apply", "--plan", report.with_name("none.json"), "--report", report)
        case "another tenant":
            ran = home.run("apply", "--yes", "--report", report, FLEETCTL_TENANT="acme")
        case _:
            ran = home.run("apply", "--yes", "--report", report)
    assert (ran.code == 0) == (why == "nothing to do"), ran.said
    assert told(aside(report, first["digest"])) == first
    lost = home.run("apply", "--yes", *ALLOWED, "--undo", report)
    if ran.code:
        assert f"a later run kept what was there as {aside(report, first['digest'])}" in lost.err
    assert sorted(map(phrase, undone(home, aside(report, first["digest"]))["done"])) == WAY_BACK


def test_the_rest_of_a_plan_file_is_told_with_what_was_done_before_and_needs_one_report(
    home: Home, report: Path
) -> None:
    plan = planned(home)
    ran = ended_early(home, report, "--plan", plan)
    assert "undo by each" not in ran.err
    ran = home.run("apply", "--plan", plan, *ALLOWED, "--report", report)
    assert ran.code == 0, ran.said
    assert f"and tells all that {aside(report, told(plan)['digest'])} did, which is removed" in ran.err
    assert kept(report) == ["report.json"]
    assert sorted(map(phrase, undone(home, report)["done"])) == WAY_BACK


def test_a_run_of_a_plan_file_that_may_not_go_on_keeps_one_too(home: Home, report: Path) -> None:
    plan = planned(home)
    ended_early(home, report, "--plan", plan)
    home.wish(*BEFORE)
    assert home.run("apply", "--plan", plan, *ALLOWED, "--report", report).code == 4
    assert kept(report) == ["report.json"]
    assert len(told(report)["before"]) == 3


def test_where_it_cannot_be_told_what_a_plan_file_did_the_earlier_report_stays(home: Home, report: Path) -> None:
    plan = planned(home)
    ended_early(home, report, "--plan", plan)
    first = told(report)
    plan.write_bytes(plan.read_bytes().replace(b'"acme"', b'"evil"'))
    assert home.run("apply", "--plan", plan, *ALLOWED, "--report", report).code == 4
    assert kept(report) == [aside(report, first["digest"]).name]
    assert told(aside(report, first["digest"])) == first


def test_a_report_that_tells_of_nothing_done_makes_room(home: Home, report: Path) -> None:
    applied(home)
    nothing = report.with_name("nothing.json")
    applied(home, "nothing.json")
    applied(home, "nothing.json")
    assert kept(nothing) == ["nothing.json"]


def test_a_report_of_a_way_back_is_kept_too(home: Home, report: Path) -> None:
    after_all = report.with_name("back.json")
    applied(home)
    undone(home, report, "--report", after_all)
    first = told(after_all)
    undone(home, report, "--report", after_all)
    assert told(aside(after_all, first["digest"])) == first


def test_a_link_leads_to_the_report_and_it_is_kept_beside_that(home: Home, report: Path, tmp_path: Path) -> None:
    applied(home)
    first, link = told(report), tmp_path / "link"
    link.symlink_to(report)
    home.apply("--report", link)
    assert told(aside(report, first["digest"])) == first
    assert link.is_symlink()
    assert told(report)["done"] == []
    report.unlink()
    lost = home.run("apply", "--yes", *ALLOWED, "--undo", link)
    assert f"a later run kept what was there as {aside(report, first['digest'])}" in lost.err


def test_the_same_change_done_twice_has_the_report_of_the_last_one(tmp_path: Path) -> None:
    """What the first run did was taken back, or the second could not have done it."""
    home = Home(tmp_path)
    home.wish(entry_of_a())
    home.apply()
    home.wish(entry_of_a(acme=8))
    file = applied(home)
    undone(home, file)
    ran = home.run("apply", "--yes", "--report", file)
    assert ran.code == 0, ran.said
    assert kept(file) == ["report.json"]
    assert [phrase(one) for one in undone(home, file)["done"]] == ["withdraw a to acme"]


def entry_of_a(**offers: int) -> dict[str, Any]:
    return {
        **BEFORE[1],
        "idempotencyKey": "a",
        "offers": [{"toTenantId": t, "quota": {"gpu": n}} for t, n in offers.items()],
    }


def test_what_was_done_anew_and_not_whole_is_taken_back_by_a_report_of_its_own(tmp_path: Path) -> None:
    """An older report, of the same change before it was taken back, tells more: by that one nothing can be."""
    home, report = Home(tmp_path), tmp_path / "report.json"
    home.wish(entry("a", []), entry("b", []))
    home.apply()
    before = live(home)
    home.wish(entry("a", {"acme": 8}), entry("b", {"acme": 8}))
    applied(home)
    undone(home, report)
    first = told(report)
    with served(home) as (_, proxy):
        running = list[subprocess.Popen[str]]()

        def rule(exchange: Exchange) -> None:
            if exchange.write == 1:
                running[0].send_signal(signal.SIGINT)
            exchange.pass_on()

        proxy.reset(rule)
        running.append(home.start("apply", "--yes", "--report", report, "--parallelism", "1"))
        _, err = running[0].communicate(timeout=60)
    home.target, home.environ = (), {}
    again = told(report)
    assert (running[0].returncode, again["digest"]) == (130, first["digest"]), err
    assert (len(first["done"]), len(again["done"]), len(again["notStarted"])) == (2, 1, 1)
    ran = home.run("apply", "--yes", "--report", report)
    second = aside(report, again["digest"]).with_name(f"{aside(report, again['digest']).name}.2")
    assert f"The report that was there is kept as {second}: it tells of 1 operation done" in ran.err
    assert told(second) == again
    report.rename(tmp_path / "last.json")
    lost = home.run("apply", "--yes", *ALLOWED, "--undo", report)
    assert f"a later run kept what was there as {aside(report, again['digest'])} and {second}" in lost.err
    for file in (tmp_path / "last.json", second):
        undone(home, file)
    assert live(home) == before


def test_of_two_applies_at_once_that_write_one_report_both_are_kept(home: Home, report: Path) -> None:
    """The second one begins, and ends, while the first one makes its calls."""
    before, ended = live(home), list[Ran]()
    home.wish(*AFTER[:1], entry("b", {"acme": 5}), *AFTER[2:])
    with served(home) as (server, proxy):

        def rule(exchange: Exchange) -> None:
            if exchange.write == 1:
                there = ("--server", server.url, "--only", "key=b", "--report", report)
                ended.append(fleetctl_process("apply", home.directory, "--yes", *there, **home.environ))
            exchange.pass_on()

        proxy.reset(rule)
        ran = home.run("apply", "--yes", *ALLOWED, "--except", "key=b", "--report", report, "--parallelism", "1")
    home.target, home.environ = (), {}
    assert [ran.code, *(one.code for one in ended)] == [0, 0], ran.said
    (other,) = set(kept(report)) - {report.name}
    assert f"The report that was there is kept as {report.with_name(other)}: it tells of 1 operation done" in ran.err
    assert [phrase(one) for one in told(report.with_name(other))["done"]] == ["offer b to acme"]
    assert len(told(report)["done"]) == 8
    for name in kept(report):
        undone(home, report.with_name(name))
    assert live(home) == {i: terms for i, terms in before.items() if i != pool_id("old")}


def test_a_report_that_is_lost_is_seen(home: Home, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a report that is there is removed, whatever it tells."""
    monkeypatch.setattr(results, "_record", lambda _: None)
    with pytest.raises(FileNotFoundError):
        test_a_run_that_does_nothing_costs_no_report(home, report, "nothing to do")


# Shown again.


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_report_that_is_shown_says_of_what_it_is_when_it_was_and_what_was_done_before(
    home: Home, report: Path, form: str
) -> None:
    plan = planned(home)
    ended_early(home, report, "--plan", plan)
    home.apply("--plan", plan, *ALLOWED, "--report", report)
    out = fleetctl("show", report, "--format", form, "--verbose").out
    for said in ("Apply of fleet", "sa_fleet", "instance home", "by a plan file", "any", "Done before"):
        assert said in out
    for one in (*told(report)["before"], *told(report)["done"]):
        assert phrase(one).replace("setQuota a", "quota a").replace("a to globex", "a from globex") in out
    back = report.with_name("back.json")
    undone(home, report, "--report", back)
    out = fleetctl("show", back, "--format", form).out
    assert f"of the apply {told(report)['digest'][:12]}" in out


def test_below_its_plan_it_says_that_not_again(home: Home) -> None:
    out = home.run("apply", "--yes", *ALLOWED).out
    assert (out.count("  tenant   root"), out.count("  caller   sa_fleet"), "Apply of fleet" in out) == (1, 1, False)
