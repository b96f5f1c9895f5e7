"""`fleetctl test`: plans without a server, judged as `plan` does, and held against what files say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fleetctl.report import schemas
from tests.e2e.homes import Home, Ran, entry, fleetctl, pool_id


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fleet that lowers an offer of what stands in `live.json` and `expected/`."""
    home = Home(tmp_path)
    pools = [entry("fra1-a", {"acme": 32}), entry("fra1-b", []), entry("fra1-c", [])]
    home.wish(*pools)
    home.apply()
    ran = home.run("snapshot", "--out", home.directory / "live.json")
    assert ran.code == 0
    home.write("expected/live.yaml", json.dumps({**home.root, "pools": pools}))
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", []), entry("fra1-c", []))
    return home


def run_on(home: Home, *tests: dict[str, Any], environ: dict[str, str] | None = None) -> tuple[Ran, list[list[str]]]:
    """The run, and what is otherwise than expected in each test."""
    home.write("a.fleet-test.yaml", "\n---\n".join(json.dumps(test) for test in tests))
    ran = fleetctl("test", home.directory, "--format", "json", **(environ or {}))
    report = ran.report
    assert list(Draft202012Validator(schemas.schema("tests.v1")).iter_errors(report)) == []
    found = [[m["message"] for m in test["mismatches"]] for test in report["tests"]]
    assert ran.code == (1 if any(found) else 0)
    assert report["summary"] == {"tests": len(tests), "passed": found.count([]), "failed": len(tests) - found.count([])}
    return ran, found


LOWERED = {"action": "offer", "key": "fra1-a", "toTenantId": "acme", "before": {"quota": {"gpu": 32}}}


@pytest.mark.parametrize("live", ["live.json", "expected/live.yaml", "expected"])
def test_the_live_state_is_a_snapshot_or_files_that_stand_for_it(home: Home, live: str) -> None:
    home.database.unlink()
    wanted = {"operations": [{**LOWERED, "changes": [{"path": "quota.gpu", "before": 32, "after": 8}]}], "findings": []}
    _, found = run_on(home, {"live": live, "expect": wanted})
    assert found == [[]]
    assert not home.database.exists()


def test_the_events_of_a_snapshot_count(home: Home) -> None:
    """They say that another fleet keeps a pool."""
    with home.hand("sa_fleet") as client:
        client.under({"fleet": "ams"}).call("pools/update", {"poolId": pool_id("fra1-b"), "policy": {"n": 1}})
    assert home.run("snapshot", "--out", home.directory / "moved.json").code == 0
    home.wish(entry("fra1-a", {"acme": 32}), {"idempotencyKey": "fra1-b", "archived": True}, entry("fra1-c", []))
    blocked = {"exitCode": 3, "findings": [{"rule": "fleet.other", "severity": "error"}], "others": True}
    _, found = run_on(home, {"live": "moved.json", "expect": blocked}, {"live": "live.json", "expect": {}})
    assert found == [[], []]


def test_without_a_live_state_all_is_made(home: Home) -> None:
    made = [{"action": "create", "key": f"fra1-{key}"} for key in "abc"]
    _, found = run_on(home, {"expect": {"operations": [*made, {"action": "offer"}], "exitCode": 2}})
    assert found == [[]]


def test_guards_are_in_force(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 32}), *({"idempotencyKey": f"fra1-{key}", "archived": True} for key in "bc"))
    blocked = {"exitCode": 3, "findings": [{"rule": "guard.archives", "severity": "error"}], "others": True}
    _, found = run_on(home, {"live": "live.json", "expect": blocked}, {"live": "live.json", "expect": {}})
    assert found[0] == []
    assert found[1][0].startswith("the exit code is 3, and 0 is expected: error guard.archives: 2 archives")


def test_freeze_windows_are_judged_by_the_time_of_the_test(home: Home) -> None:
    window = {"from": "2026-12-20T00:00Z", "to": "2027-01-02T00:00Z", "reason": "holidays"}
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", []), entry("fra1-c", []), guards={"freeze": [window]})
    tests = [
        {"live": live, "now": now, "expect": {"exitCode": code}}
        for live in ("live.json", "expected")
        for now, code in (("2026-12-24T00:00Z", 3), ("2027-01-03T00:00Z", 0))
    ]
    _, found = run_on(home, *tests)
    assert found == [[], [], [], []]


def test_files_that_cannot_be_read_may_be_what_is_expected(home: Home) -> None:
    home.wish(entry("fra1-a", gpumodel="H100"))
    expected = {"exitCode": 1, "findings": [{"rule": "fleet.unknown", "hint": "gpuModel"}], "operations": []}
    _, found = run_on(home, {"expect": expected}, {"expect": {}})
    assert found[0] == []
    assert found[1][0].startswith("the exit code is 1, and 0 is expected: error fleet.unknown")


@pytest.mark.parametrize(
    ("live", "said"),
    [
        ("none.json", "cannot be read"),
        ("cut.json", "is no sound snapshot"),
        ("none/expected", "no fleet document is here"),
        ("bad/expected", "fleet.yaml:3:1: no such field"),
        ("pipe.json", "pipe.json:1:1: a fleet is read from files"),
        ("/dev/zero", "zero:1:1: a fleet is read from files"),
    ],
)
def test_a_live_state_that_is_none_fails_its_test_alone(home: Home, live: str, said: str) -> None:
    home.write("cut.json", (home.directory / "live.json").read_text()[:-20])
    home.write("none/expected/x", "")
    os.mkfifo(home.directory / "pipe.json")
    home.write("bad/expected/fleet.yaml", "apiVersion: fleet/v1\ntenantId: root\npool: []")
    _, found = run_on(home, {"live": live, "expect": {}}, {"live": "live.json", "expect": {}})
    assert found[1] == []
    assert said in found[0][0]


def test_the_live_state_of_another_tenant_fails(home: Home) -> None:
    home.wish(entry("fra1-a", []), tenantId="acme", caller="sa_acme")
    _, found = run_on(home, *({"live": live, "expect": {}} for live in ("live.json", "expected")))
    assert found == [["the live state is of root, and the fleet of acme"]] * 2


def test_a_fleet_without_a_caller_can_be_tested(home: Home) -> None:
    home.write("fleet.yaml", json.dumps({"apiVersion": "fleet/v1", "tenantId": "root", "pools": [entry("k", [])]}))
    _, found = run_on(home, {"expect": {"operations": [{"action": "create"}]}})
    assert found == [[]]
    wanted = {"operations": [{"poolId": pool_id("k", "sa_x")}]}
    _, found = run_on(home, {"expect": wanted}, environ={"FLEETCTL_CALLER": "sa_x"})
    assert found == [[]]


def test_people_see_one_line_a_test_and_all_that_failed(home: Home) -> None:
    run_on(home, {"name": "fine", "expect": {}}, {"name": "bad", "expect": {"operations": []}})
    ran = fleetctl("test", home.directory)
    assert ran.code == 1
    assert "fail      bad" in ran.out
    assert "not expected: create fra1-b" in ran.out
    assert "pass      fine" in ran.out
    assert ran.out.endswith("1 of 2 tests failed.\n")


@pytest.mark.parametrize("form", ["junit", "github", "sarif", "markdown", "html"])
def test_every_format_tells_the_failure(home: Home, form: str) -> None:
    home.write("a.fleet-test.yaml", "{name: bad, expect: {operations: []}}")
    ran = fleetctl("test", home.directory, "--format", form)
    assert ran.code == 1
    assert "create fra1-b" in ran.out
    assert "a.fleet-test.yaml" in ran.out


def test_no_test_is_an_error(home: Home) -> None:
    ran = fleetctl("test", home.directory)
    assert (ran.code, ran.out) == (1, "")
    assert "no fleet test is here" in ran.err
