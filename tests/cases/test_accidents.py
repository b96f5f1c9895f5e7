"""Kind e: what takes away more than anybody meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleetctl.report.of_others import READS, WRITES
from tests.e2e.homes import Home, Ran, entry, fleetctl, pool_id, unchanged


def tombstone(key: str) -> dict[str, Any]:
    return {"idempotencyKey": key, "archived": True}


def live(home: Home, count: int, **root: Any) -> list[dict[str, Any]]:
    """So many pools, each offered to one tenant."""
    pools = [entry(f"fra1-{n:02}", {"acme": 8}) for n in range(count)]
    home.wish(*pools, **root)
    home.apply()
    return pools


def assert_invalid(ran: Ran) -> str:
    """What `validate` found is its result."""
    assert (ran.code, ran.err) == (1, ""), ran.said
    assert ran.out.endswith("Not valid: 1 error.\n")
    return ran.out


# K045: a source that is not there.


@pytest.mark.parametrize("text", ["", "# moved elsewhere\n# pools: []\n", "---\n", "---\n...\n---\n"])
def test_k045_a_file_of_comments_is_no_wish(home: Home, text: str) -> None:
    live(home, 1)
    home.write("fleet.yaml", text)
    for command in ("plan", "drift"):
        ran = home.run(command)
        assert (ran.code, ran.out) == (1, ""), ran.said
    assert_invalid(home.run("validate"))
    with unchanged(home):
        assert home.run("apply", "--yes").code == 1


def test_k045_a_root_without_pools_is_no_wish(home: Home) -> None:
    home.files(fra1="# pools: []\n")
    ran = home.run("plan")
    assert ran.code == 1
    assert "the fleet has no pool" in ran.err


def test_k045_an_empty_list_is_a_wish_only_when_it_says_so(home: Home) -> None:
    live(home, 2, keyPrefix="fra1-")
    home.wish(keyPrefix="fra1-")
    assert home.run("plan").code == 1
    home.wish(keyPrefix="fra1-", allowEmpty=True)
    report = home.plan().report
    assert (report["operations"], sorted(report["summary"]["removed"])) == ([], ["fra1-00", "fra1-01"])
    drift = home.run("drift", "--format", "json")
    assert (drift.code, [d["kind"] for d in drift.report["drift"]]) == (2, ["removed"] * 2)


@pytest.mark.parametrize("name", ["nowhere", "nowhere/fleet.yaml"])
def test_k045_a_path_that_is_not_there_is_an_error(home: Home, name: str) -> None:
    for command in ("plan", "drift"):
        ran = fleetctl(command, home.directory / name)
        assert (ran.code, ran.out) == (1, ""), ran.said
        assert Path(name).name in ran.err
    assert Path(name).name in assert_invalid(fleetctl("validate", home.directory / name))


def test_k045_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    ran = fleetctl("drift", tmp_path)
    assert (ran.code, ran.out) == (1, "")


# K047: limits that hold at every size.


def test_k047_seven_of_eight_pools_are_not_archived_by_an_edit(home: Home) -> None:
    pools = live(home, 8)
    home.wish(pools[0], *(tombstone(f"fra1-{n:02}") for n in range(1, 8)))
    with unchanged(home):
        blocked = home.apply(code=3)
    [finding] = [f for f in blocked.report["findings"] if f["severity"] == "error"]
    assert finding["rule"] == "guard.archives"
    assert "7 archives, and one apply may do 1" in finding["message"]
    assert "--allow archives=7" in finding["hint"]
    assert len(blocked.report["operations"]) == 7, "the plan is shown whole"


def test_k047_seven_of_eight_pools_that_leave_the_files_are_left_alone(home: Home) -> None:
    pools = live(home, 8, keyPrefix="fra1-")
    home.wish(pools[0], keyPrefix="fra1-")
    report = home.plan().report
    assert (report["operations"], len(report["summary"]["removed"])) == ([], 7)
    with unchanged(home):
        home.apply()


def test_k047_an_override_names_the_number_that_may_pass(home: Home) -> None:
    live(home, 4)
    home.wish(*(tombstone(f"fra1-{n:02}") for n in range(3)), entry("fra1-03", {"acme": 8}))
    with unchanged(home):
        home.apply("--allow", "archives=2", "--reason", "site closes", code=3)
    home.apply("--allow", "archives=3", "--reason", "site closes")
    assert home.is_settled()
    allowed = [event.via for event in home.events() if event.type == "pool.archived"]
    assert [(via["allow"], via["reason"]) for via in allowed if via] == [({"archives": 3}, "site closes")] * 3


def test_k047_an_override_is_named_at_plan_and_again_at_apply(home: Home, tmp_path: Path) -> None:
    live(home, 2)
    home.wish(tombstone("fra1-00"), tombstone("fra1-01"))
    allowed = ("--allow", "archives=2", "--reason", "site closes")
    home.plan("--out", tmp_path / "plan.json", *allowed)
    with unchanged(home):
        home.apply("--plan", tmp_path / "plan.json", code=3)
    home.apply("--plan", tmp_path / "plan.json", *allowed)
    assert home.is_settled()


def test_k047_one_archive_of_one_pool_passes(home: Home) -> None:
    live(home, 1)
    home.wish(tombstone("fra1-00"))
    assert home.apply().report["summary"]["done"] == 1
    assert home.is_settled()


@pytest.mark.parametrize(("count", "code"), [(10, 0), (11, 3)])
def test_k047_ten_withdrawals_pass_and_eleven_do_not(home: Home, count: int, code: int) -> None:
    live(home, count)
    home.wish(*(entry(f"fra1-{n:02}", []) for n in range(count)))
    planned = home.plan(code=code)
    assert len(planned.operations) == count
    assert ("guard.withdrawals" in planned.out) == (code == 3)


def test_k047_an_offer_of_nothing_counts_as_a_withdrawal(home: Home) -> None:
    live(home, 11)
    home.wish(*(entry(f"fra1-{n:02}", {"acme": 0}) for n in range(11)))
    assert "11 withdrawals, and one apply may do 10" in home.plan(code=3).out


# K048: what is somebody else's.


def test_k048_pools_of_others_are_counted_and_never_touched(home: Home) -> None:
    pools = live(home, 3, keyPrefix="fra1-")
    with home.hand() as client:
        client.call("pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"})
    with home.hand("sa_other") as client:
        body = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "idempotencyKey": "fra1-99"}
        client.call("pools/create", body)
    report = home.plan().report
    assert (report["operations"], report["summary"]["foreign"], report["summary"]["removed"]) == ([], 2, [])
    assert home.is_settled()
    home.wish(*map(tombstone, (p["idempotencyKey"] for p in pools)), keyPrefix="fra1-")
    home.apply("--allow", "archives=3", "--reason", "the fleet goes")
    with home.hand() as client:
        states, _ = client.pools.all(owned=True)
    assert sum(state.pool is not None and not state.pool.archived for state in states) == 2


def test_k048_a_pool_is_adopted_by_its_id_alone(home: Home) -> None:
    with home.hand() as client:
        body = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "policy": {"byHand": 1}}
        made = client.call("pools/create", body)["id"]
    home.wish(entry("fra1-00", [], id=made, policy={"byHand": 1}))
    assert home.is_settled()
    home.wish(entry("fra1-00", {"acme": 8}, id=made))
    assert home.plan().operations == ["update fra1-00", "offer fra1-00 to acme"]
    home.apply()
    assert home.is_settled()
    home.wish(entry("fra1-00", [], id="pool_of-nobody"))
    [finding] = home.plan(code=3).report["findings"]
    assert (finding["rule"], finding["code"]) == ("fleet.adopt", "NOT_FOUND")


# K050: a key that is written anew.


def test_k050_a_renamed_key_archives_nothing_and_is_reported(home: Home) -> None:
    home.wish(entry("fra1-h100", {"acme": 32}), keyPrefix="fra1-")
    home.apply()
    home.sql("UPDATE pool_quotas SET used = 20 WHERE tenant_id = 'acme'")
    home.wish(entry("fra1-h100-sxm", {"acme": 32}), keyPrefix="fra1-")
    planned = home.plan()
    assert planned.operations == ["create fra1-h100-sxm", "offer fra1-h100-sxm to acme"]
    assert planned.report["summary"]["removed"] == ["fra1-h100"]
    [finding] = planned.report["findings"]
    assert (finding["rule"], finding["severity"]) == ("fleet.removed", "warning")
    assert "archived: true" in finding["hint"]


# K051: another target than the files name.


def test_k051_files_and_environment_name_one_server(home: Home) -> None:
    home.wish(entry("fra1-00", []), server="https://staging.example.com")
    for command in ("plan", "drift", "whoami", "apply"):
        flags = ("--yes",) if command == "apply" else ()
        ran = home.run(command, *flags, FLEETCTL_SERVER="https://production.example.com")
        assert (ran.code, ran.out) == (4, ""), ran.said
        assert "https://staging.example.com" in ran.err
        assert "https://production.example.com" in ran.err


def test_k051_a_plan_always_says_where_and_as_whom(home: Home) -> None:
    home.wish(entry("fra1-00", []))
    head = home.run("plan").out.partition("Operations")[0]
    for word in ("tenant   root", "caller   sa_fleet", "plane.db (instance home)"):
        assert word in head


def test_k051_whoami_has_no_rights_to_plan_for_a_tenant_that_is_not_there(home: Home) -> None:
    for tenant_id, plan, apply in (("root", [], []), ("rot", [*READS], [*READS, *WRITES])):
        home.wish(entry("fra1-00", []), tenantId=tenant_id)
        report = home.run("whoami", "--format", "json").report
        assert (report["pins"]["tenantId"], report["missing"]) == (tenant_id, {"plan": plan, "apply": apply})


# K053: parts of a fleet. Neither selection nor prune is built, so no run can take a part for the whole.


@pytest.mark.parametrize("flag", ["--only", "--except", "--prune", "--base"])
@pytest.mark.parametrize("command", ["plan", "apply", "drift"])
def test_k053_a_flag_that_is_not_built_is_refused(home: Home, command: str, flag: str) -> None:
    live(home, 1)
    with unchanged(home):
        ran = home.run(command, flag, "fra1-*")
    assert (ran.code, ran.out) == (64, ""), ran.said


def test_k053_a_part_of_the_files_removes_nothing_of_the_rest(home: Home) -> None:
    live(home, 3, keyPrefix="fra1-")
    part = home.write("part.yaml", json.dumps({**home.root, "keyPrefix": "fra1-", "pools": [entry("fra1-00", [])]}))
    ran = fleetctl("plan", part, "--format", "json")
    assert ran.operations == ["withdraw fra1-00 to acme"]


# K054: a key that is spent.


def test_k054_the_key_of_an_archived_pool_is_told_before_anything_is_written(home: Home) -> None:
    home.wish(entry("fra1-00", []), entry("fra1-01", []))
    home.apply()
    home.wish(tombstone("fra1-00"), entry("fra1-01", []))
    home.apply()
    assert home.is_settled()
    home.wish(entry("fra1-00", {"acme": 32, "globex": 16}), entry("fra1-01", {"acme": 1}))
    with unchanged(home):
        blocked = home.apply(code=3)
    [finding] = blocked.report["findings"]
    assert (finding["rule"], finding["code"], finding["source"]["line"]) == ("pool.key", "INVALID_STATE", 10)
    assert "this key belongs to a pool that was archived on 20" in finding["message"]
    assert finding["hint"] == "use a new key, or write archived: true if it is to stay so"
    assert home.run("drift").code == 2


def test_a_field_that_is_for_life_cannot_be_planned_away(home: Home) -> None:
    home.wish(entry("fra1-00", []))
    home.apply()
    home.wish(entry("fra1-00", [], siteId="site_ams1", sharing="mig"))
    with unchanged(home):
        blocked = home.apply(code=3)
    assert {f["path"] for f in blocked.report["findings"] if f["severity"] == "error"} == {
        "pools[fra1-00].siteId",
        "pools[fra1-00].sharing",
    }


def test_a_tombstone_of_a_pool_that_never_was_is_a_note(home: Home) -> None:
    home.wish(entry("fra1-00", []), tombstone("fra1-01"))
    report = home.plan().report
    assert [(f["rule"], f["severity"]) for f in report["findings"]] == [("fleet.tombstone", "warning")]
    home.apply()
    assert home.is_settled()
    assert len(home.events()) == 1
    assert pool_id("fra1-01") not in str(home.dump())
