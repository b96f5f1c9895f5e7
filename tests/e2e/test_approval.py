"""What was approved is what runs: digests, plan files and stale plans through the real command."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetctl.plan import Operation
from fleetctl.plan.digest import content
from tests.e2e.homes import Home, Ran, entry, pool_id, unchanged
from tests.fleets import Fleet, fleets, write

POOLS = [entry("fra1-a", {"acme": 32}, policy={"maxPending": "6h"}), entry("fra1-b", {"acme": 8, "globex": 8})]

MAKE = import_module("fleetctl.plan.make")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Two pools with offers are wished, and none is there."""
    home = Home(tmp_path)
    home.wish(*POOLS)
    return home


def saved(home: Home, *arguments: str) -> Path:
    """A plan file, made now."""
    file = home.directory.parent / "plan.json"
    home.plan("--out", file, *arguments)
    return file


def refused(home: Home, *arguments: str | Path, **environ: str) -> str:
    """What an apply says that ends with exit 4 and has written nothing."""
    with unchanged(home):
        ran = home.run("apply", *arguments, **environ)
        assert ran.code == 4, f"it ends with {ran.code}: {ran.said}"
    return ran.err


# One digest however the files are written.


def check_same_digest(home: Home, fleet: Fleet, random: Random) -> None:
    """Two spellings of one fleet are one change, and a plan of the first runs from the second."""
    fleet.root["server"] = {"embedded": str(home.database)}
    reports = []
    for number in range(2):
        home.directory = home.directory.parent / f"spelling-{number}"
        home.directory.mkdir()
        write(fleet, home.directory, random)
        reports.append(home.run("plan", "--format", "json", "--out", home.directory.parent / f"{number}.json"))
    one, other = reports
    assert one.code == other.code
    assert one.report["digest"] == other.report["digest"], "another digest"
    assert one.report["inputs"] == other.report["inputs"]
    assert [o["digest"] for o in one.report["operations"]] == [o["digest"] for o in other.report["operations"]]
    if one.code == 0:
        home.apply("--plan", home.directory.parent / "0.json")
        assert home.is_settled()


def law_of_digests(fleet: Fleet, random: Random) -> None:
    # An adopted pool would have to be there; here it is made under its key.
    pools = [{name: value for name, value in pool.items() if name != "id"} for pool in fleet.pools]
    with TemporaryDirectory() as name:
        check_same_digest(Home(Path(name)), replace(fleet, pools=pools), random)


@settings(max_examples=8, deadline=None)
@given(fleets(), st.randoms(use_true_random=True))
def test_split_reordered_and_reformatted_files_give_the_same_digest(fleet: Fleet, random: Random) -> None:
    law_of_digests(fleet, random)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(fleets(), st.randoms(use_true_random=True))
def test_hundreds_of_fleets_give_the_same_digest_in_any_spelling(fleet: Fleet, random: Random) -> None:
    law_of_digests(fleet, random)


def test_a_digest_over_places_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: where something is written becomes part of what is approved."""

    def placed(operation: Operation, key: bytes) -> dict[str, Any]:
        return {**content(operation, key), "source": str(operation.source)}

    monkeypatch.setattr(MAKE, "content", placed)
    with pytest.raises(AssertionError, match=r"^another digest"):
        law_of_digests(Fleet({"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}, POOLS), Random(1))


def test_the_digest_is_the_same_at_another_time_and_for_another_reader(home: Home) -> None:
    one = home.plan().report
    with home.hand("sa_acme", "acme") as client:
        client.pools.all()
    other = home.plan().report
    assert one["createdAt"] < other["createdAt"]
    assert one["digest"] == other["digest"]


# Another target; `tests/cases` has that of a plan.


@pytest.mark.parametrize(
    ("name", "value"),
    [("SERVER", "https://other.example.com"), ("TENANT", "acme"), ("CALLER", "sa_other")],
)
def test_k051_an_environment_that_disagrees_ends_the_run_before_anything_is_read(
    home: Home, name: str, value: str
) -> None:
    file = saved(home)
    said = refused(home, "--plan", file, **{f"FLEETCTL_{name}": value})
    assert f"FLEETCTL_{name} is {value}, and the files say" in said


# A file that is no plan.


def test_a_report_is_no_plan_file(home: Home, tmp_path: Path) -> None:
    home.apply("--report", tmp_path / "report.json")
    with unchanged(home):
        ran = home.run("apply", "--plan", tmp_path / "report.json")
    assert (ran.code, "is the report of an apply, and a plan file is meant" in ran.err) == (1, True)


def test_a_journal_is_no_plan_file(home: Home, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    home.apply("--journal", journal)
    with unchanged(home):
        ran = home.run("apply", "--plan", journal)
    assert (ran.code, "is the journal of an apply, and a plan file is meant" in ran.err) == (1, True)


def test_a_plan_file_that_is_not_there_is_an_error(home: Home, tmp_path: Path) -> None:
    with unchanged(home):
        assert home.run("apply", "--plan", tmp_path / "none.json").code == 1


# A live state, or files, that moved.


def check_stale(home: Home, file: Path) -> Ran:
    """An offer that somebody changed since the plan: refused, and told who changed what."""
    with unchanged(home):
        ran = home.run("apply", "--plan", file)
        assert ran.code == 4, f"it ends with {ran.code}: {ran.said}"
    assert "the plan is stale" in ran.err
    return ran


def moved(home: Home, to: int = 16) -> Path:
    """A plan that raises an offer to 48, which by then somebody changed."""
    home.apply()
    home.wish(entry("fra1-a", {"acme": 48}, policy={"maxPending": "6h"}), POOLS[1])
    file = saved(home)
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": to}})
    return file


def test_a_stale_plan_is_refused_with_every_difference(home: Home) -> None:
    said = check_stale(home, moved(home)).err
    assert said.count("planned from another state: offer fra1-a for acme") == 1
    assert "fra1-a for acme: pool.offered by sa_hand at 20" in said
    assert "fra1-b" not in said


def check_not_expected(home: Home, file: Path) -> None:
    """The plan of the file is none that would be made now: its digest approves nothing."""
    digest = json.loads(file.read_text())["digest"]
    assert f"{digest} was expected" in refused(home, "--expect", digest)


def test_an_expected_digest_is_of_one_live_state(home: Home) -> None:
    check_not_expected(home, moved(home))


def test_a_digest_without_preconditions_breaks_the_law(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what must still hold is no part of what is approved."""

    def loose(operation: Operation, key: bytes) -> dict[str, Any]:
        return {**content(operation, key), "precondition": {}}

    monkeypatch.setattr(MAKE, "content", loose)
    file = moved(home)
    with pytest.raises(AssertionError, match=r"^it ends with 0: "):
        check_not_expected(home, file)


def test_what_somebody_else_did_alike_is_not_this_plans_doing(home: Home) -> None:
    file = moved(home, to=48)
    assert home.is_settled()
    said = check_stale(home, file).err
    assert "planned, and not to be done now: offer fra1-a for acme" in said
    assert "fra1-a for acme: pool.offered by sa_hand" in said


def test_a_resume_that_asks_no_history_breaks_the_law(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what is as wished counts as done, whoever did it."""
    monkeypatch.setattr("fleetctl.apply.staleness._is_done", lambda *_: True)
    file = moved(home, to=48)
    with pytest.raises(AssertionError, match=r"^it ends with 0: "):
        check_stale(home, file)


def test_somebody_elses_pools_and_offers_make_no_plan_stale(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 32}), entry("fra1-b", "unmanaged"))
    home.apply()
    home.wish(entry("fra1-a", {"acme": 48}), entry("fra1-b", "unmanaged", policy={"maxPending": "7d"}))
    file = saved(home)
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id("fra1-b"), "toTenantId": "globex", "quota": {"gpu": 16}})
        client.call("pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "A100"})
    assert home.apply("--plan", file).report["summary"]["done"] == 2


def test_files_that_changed_since_need_a_new_plan(home: Home) -> None:
    file = saved(home)
    home.wish(*POOLS, entry("fra1-c", []))
    assert "files or base are not those that the plan was made from" in refused(home, "--plan", file)


def test_a_merge_that_plans_the_same_needs_a_new_plan_too(home: Home) -> None:
    """Another merge may have taken back what the plan does not show."""
    home.apply()
    home.wish(*POOLS, entry("fra1-c", []))
    file = saved(home)
    with home.hand("sa_other") as client:
        client.call(
            "pools/offer", {"poolId": pool_id("fra1-b"), "toTenantId": "acme", "quota": {"gpu": 9}, "priority": 0}
        )
    home.wish(POOLS[0], entry("fra1-b", {"acme": 9, "globex": 8}), entry("fra1-c", []))
    assert home.plan().report["digest"] == json.loads(file.read_text())["digest"]
    assert "files or base are not those" in refused(home, "--plan", file)


# Replay.


def test_a_plan_that_is_done_is_done(home: Home) -> None:
    file = saved(home)
    home.apply("--plan", file)
    with unchanged(home):
        assert home.apply("--plan", file).report["summary"]["operations"] == 0


def test_what_a_later_run_of_the_same_fleet_did_is_not_this_plans_doing(home: Home) -> None:
    file = saved(home)
    home.apply("--plan", file)
    home.wish(entry("fra1-a", {"acme": 31}, policy={"maxPending": "6h"}), POOLS[1])
    home.apply()
    home.wish(*POOLS)
    assert "fra1-a for acme: pool.offered by sa_fleet" in refused(home, "--plan", file)


def test_an_expected_digest_holds_whenever_its_live_state_returns(home: Home) -> None:
    digest = home.plan().report["digest"]
    assert "was expected" in refused(home, "--expect", "0" * 64)
    home.apply("--expect", digest)
    assert home.is_settled()
    assert digest in refused(home, "--expect", digest)


def test_an_expected_digest_and_a_plan_file_hold_together(home: Home) -> None:
    file = saved(home)
    refused(home, "--plan", file, "--expect", "0" * 64)
    home.apply("--plan", file, "--expect", json.loads(file.read_text())["digest"])


# Expiry.


def test_a_plan_expires_by_the_servers_clock(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(home, "--expires", "1h")
    expires_at = json.loads(file.read_text())["expiresAt"]
    assert expires_at == json.loads(file.read_text())["createdAt"] + 3_600_000
    with monkeypatch.context() as later:
        later.setattr("fleetctl.machine.clock.now", lambda: expires_at + 1_000_000)
        home.plan()
    home.apply("--plan", file)
    later_file = home.directory.parent / "later.json"
    home.wish(*POOLS, entry("fra1-c", []))
    home.plan("--out", later_file, "--expires", "1s")
    made = json.loads(later_file.read_text())["expiresAt"]
    while home.plan().report["createdAt"] <= made:
        pass
    assert "the plan expired at" in refused(home, "--plan", later_file)


@pytest.mark.parametrize("text", ["", "24", "0s", "-1h", "1y", "91d", "1h30m", "x" * 1000])
def test_a_lifetime_that_is_none_is_refused_before_anything_is_read(home: Home, text: str) -> None:
    with unchanged(home):
        assert home.run("plan", "--expires", text).code == 64


# An override is given twice.


@pytest.mark.parametrize(
    ("given", "told"), [((), True), (("--allow", "withdrawals=1", "--reason", "again"), True), (("yes",), False)]
)
def test_an_override_that_is_not_given_again_is_named(home: Home, given: tuple[str, ...], told: bool) -> None:
    home.apply()
    tombs = [{"idempotencyKey": each["idempotencyKey"], "archived": True} for each in POOLS]
    home.wish(*tombs, allowEmpty=True)
    override = ("--allow", "archives=2", "--reason", "the site's closed")
    file = saved(home, *override)
    with unchanged(home) if told else nullcontext():
        ran = home.run("apply", "--plan", file, *(given if told else override))
    assert ran.code == (3 if told else 0), ran.said
    said = "The plan was made with --allow archives=2 --reason 'the site'\"'\"'s closed': give them again"
    assert (said in ran.err) == told


def test_a_guard_that_no_override_of_the_plan_lifts_is_not_put_down_to_it(home: Home) -> None:
    home.apply()
    home.wish(*({"idempotencyKey": each["idempotencyKey"], "archived": True} for each in POOLS), allowEmpty=True)
    file = home.directory.parent / "plan.json"
    home.plan("--out", file, "--allow", "freeze=9", "--reason", "x", code=3)
    ran = home.run("apply", "--plan", file)
    assert ran.code == 3
    assert "give them again" not in ran.said
