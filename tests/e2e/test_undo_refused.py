"""A run of a plan file that may not go on where an earlier one ended: what that one did is told, and taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from better_compute.domain.commands import OfferPool
from fleetctl.flow import running
from tests.e2e.homes import Home, fleetctl, phrase, pool_id, served, unchanged
from tests.e2e.test_laws import ALLOWED
from tests.e2e.test_undo import BEFORE, WAY_BACK, changing, hand, live, planned, pool, refused, refusing, undone


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return changing(tmp_path)


def ended_early(home: Home, plan: Path, report: Path) -> list[dict[str, Any]]:
    """What the report of a run tells that could make three writes."""
    with served(home) as (_, proxy):
        proxy.reset(refusing(3))
        home.apply("--plan", plan, *ALLOWED, "--report", report, "--parallelism", "1", code=5)
    home.target, home.environ = (), {}
    done: list[dict[str, Any]] = json.loads(report.read_text())["done"]
    return done


def told(home: Home, plan: Path, report: Path, code: int) -> dict[str, Any]:
    """The report of a run that may not go on."""
    with unchanged(home):
        ran = home.run("apply", "--plan", plan, *ALLOWED, "--report", report)
    assert (ran.code, f"The report is in {report}" in ran.err) == (code, True), ran.said
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.fixture
def plan(home: Home) -> Path:
    return planned(home)


@pytest.fixture
def report(home: Home) -> Path:
    return home.directory.parent / "report.json"


def test_where_somebody_moved_what_is_left_the_report_tells_what_was_done(home: Home, plan: Path, report: Path) -> None:
    before = live(home)
    done = ended_early(home, plan, report)
    open_ = {"a": "acme", "new": "globex"}
    moved = next(
        key for key, to in open_.items() if (pool_id(key), to) not in {(o["poolId"], o["toTenantId"]) for o in done}
    )
    hand(home, OfferPool(**pool(moved), to_tenant_id=open_[moved], quota={"gpu": 3}))
    found = told(home, plan, report, 4)
    assert found["before"] == [{**one, "attempts": 0} for one in done]
    assert (found["refused"]["rule"], found["done"], found["failed"]) == ("plan.stale", [], [])
    assert len(found["notStarted"]) == found["summary"]["operations"] == 5
    back = undone(home, report, "--except", f"key={moved}")
    assert {phrase(one) for one in back["done"]} <= {*WAY_BACK}
    kept = {pool_id(moved), pool_id("old")}
    assert {i: it for i, it in live(home).items() if i not in kept} == {
        i: it for i, it in before.items() if i not in kept
    }


def test_where_a_guard_blocks_what_is_left_too(home: Home, plan: Path, report: Path) -> None:
    done = ended_early(home, plan, report)
    with unchanged(home):
        ran = home.run("apply", "--plan", plan, "--report", report, "--allow", "archives=0", "--reason", "not now")
    assert ran.code == 3, ran.said
    found = json.loads(report.read_text())
    assert (found["refused"]["rule"], len(found["before"])) == ("plan.blocked", len(done))


def test_where_the_files_are_others_by_then(home: Home, plan: Path, report: Path) -> None:
    before = live(home)
    ended_early(home, plan, report)
    home.wish(*BEFORE)
    assert told(home, plan, report, 4)["refused"]["rule"] == "plan.inputs"
    undone(home, report)
    assert {i: it for i, it in live(home).items() if i != pool_id("old")} == {
        i: it for i, it in before.items() if i != pool_id("old")
    }


def test_what_somebody_moved_of_it_is_told_and_keeps_it_from_being_taken_back(
    home: Home, plan: Path, report: Path
) -> None:
    home.apply("--plan", plan, *ALLOWED)
    hand(home, OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9}))
    found = told(home, plan, report, 4)
    assert (len(found["before"]), found["summary"]["operations"]) == (8, 0)
    assert "a for acme: pool.offered by sa_hand" in refused(home, report)
    shown = fleetctl("show", report).out
    assert "Nothing was written by this run" in shown
    assert "8 operations of this plan were done before." in shown
    assert "No changes" not in shown
    assert "plan.stale" in fleetctl("show", report, "--format", "junit").out


def test_a_plan_that_did_nothing_has_no_report(home: Home, plan: Path, report: Path) -> None:
    hand(home, OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9}))
    report.write_text('{"formatVersion": 1, "kind": "apply"}')
    assert home.run("apply", "--plan", plan, *ALLOWED, "--report", report).code == 4
    assert not report.exists()


def test_an_altered_plan_file_tells_nothing(home: Home, plan: Path, report: Path) -> None:
    ended_early(home, plan, report)
    plan.write_bytes(plan.read_bytes().replace(b'"acme"', b'"evil"'))
    assert home.run("apply", "--plan", plan, *ALLOWED, "--report", report).code == 4
    assert not report.exists()


def test_what_somebody_else_says_to_have_done_by_it_is_not_told(home: Home, plan: Path, report: Path) -> None:
    saved = json.loads(plan.read_text())
    one = next(o for o in saved["operations"] if (o["key"], o["toTenantId"]) == ("a", "acme"))
    with home.hand() as client:
        client.under({"digest": saved["digest"], "operation": one["digest"]}).pools.offer(
            OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9})
        )
    assert home.run("apply", "--plan", plan, *ALLOWED, "--report", report).code == 4
    assert not report.exists()


def test_a_report_that_is_lost_is_seen(home: Home, plan: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a run that may not go on keeps nothing."""
    monkeypatch.setattr(running, "_kept_earlier", lambda *_: ())
    with pytest.raises(AssertionError, match=r"\(4, False\) == \(4, True\)"):
        test_what_somebody_moved_of_it_is_told_and_keeps_it_from_being_taken_back(home, plan, report)
