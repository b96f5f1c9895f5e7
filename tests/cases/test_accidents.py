"""Kind e: what takes away more than anybody meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleetctl.report.of_whoami import READS, WRITES
from tests.e2e.homes import Home, Ran, entry, fleetctl, pool_id, unchanged
from tests.repository import Repository


def tombstone(key: str) -> dict[str, Any]:
    return {"idempotencyKey": key, "archived": True}


def live(home: Home, count: int, **root: Any) -> list[dict[str, Any]]:
    """So many pools, each offered to one tenant."""
    pools = [entry(f"fra1-{n:02}", {"acme": 8}) for n in range(count)]
    home.wish(*pools, **root)
    home.apply()
    return pools


def committed(home: Home) -> Repository:
    """The fleet's directory becomes a repository, with its files as they are now."""
    repository = Repository(home.directory)
    repository.commit()
    return repository


def approved(command: str) -> tuple[str, ...]:
    """What an apply needs where nobody can be asked."""
    return ("--yes",) if command == "apply" else ()


PREFIX: Any = {"keyPrefix": "fra1-"}
PRUNE = ("--base", "HEAD", "--prune")


def assert_invalid(ran: Ran) -> str:
    """What `validate` found is its result."""
    assert (ran.code, ran.err) == (1, ""), ran.said
    assert ran.out.splitlines()[-1].startswith("Not valid: 1 error.")
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


def test_k045_an_empty_list_prunes_only_what_a_base_allows_to_go(home: Home) -> None:
    pools = live(home, 2)
    committed(home)
    home.wish(allowEmpty=True)
    with unchanged(home):
        blocked = home.apply(*PRUNE, "--allow", "archives=2", "--reason", "the fleet goes", code=3)
    assert [f["rule"] for f in blocked.report["findings"] if f["severity"] == "error"] == ["fleet.empty"]
    assert home.run("plan", "--prune").code == 64
    home.wish(*pools, allowEmpty=True)
    committed(home)
    home.wish(allowEmpty=True)
    with unchanged(home):
        assert "guard.archives" in home.apply(*PRUNE, code=3).out
    home.apply(*PRUNE, "--allow", "archives=2", "--reason", "the fleet goes")
    assert home.is_settled()


def test_k045_a_base_whose_files_are_not_there_is_an_error(home: Home) -> None:
    live(home, 1)
    for flags in (("--base", "HEAD"), ("--base-dir", home.directory / "nowhere")):
        for command in ("plan", "drift", "apply"):
            with unchanged(home):
                ran = home.run(command, *flags, *approved(command))
            assert (ran.code, ran.out) == (1, ""), ran.said
    committed(home).git("remote", "add", "origin", "elsewhere")
    ran = home.run("plan", "--base", "release")
    assert (ran.code, "git fetch origin release" in ran.err) == (1, True)


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


@pytest.mark.parametrize("code", [0, 3])
def test_k047_seven_of_eight_pools_are_not_pruned_by_an_edit(home: Home, code: int) -> None:
    pools = live(home, 8, **PREFIX)
    committed(home)
    home.wish(pools[0], **PREFIX)
    allowed = ("--allow", "archives=7", "--reason", "site closes") if code == 0 else ()
    planned = home.plan(*PRUNE, *allowed, code=code)
    assert sorted(planned.operations) == [f"archive fra1-{n:02}" for n in range(1, 8)]
    if code:
        with unchanged(home):
            home.apply(*PRUNE, code=3)
    else:
        home.apply(*PRUNE, *allowed)
        assert home.is_settled()


@pytest.mark.parametrize(("archived", "code"), [(3, 0), (4, 3)])
def test_k047_the_percentage_holds_at_its_border(home: Home, archived: int, code: int) -> None:
    live(home, 10)
    guards = {"maxArchives": 100, "maxArchivePercent": 30}
    gone = [tombstone(f"fra1-{n:02}") for n in range(archived)]
    home.wish(*gone, *(entry(f"fra1-{n:02}", {"acme": 8}) for n in range(archived, 10)), guards=guards)
    assert len(home.plan(code=code).operations) == archived


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


def test_k048_prune_leaves_what_no_base_of_this_fleet_named(home: Home) -> None:
    pools = live(home, 2, **PREFIX)
    committed(home)
    with home.hand("sa_fleet") as client:  # another fleet of the same caller, whose keys begin alike
        body = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "idempotencyKey": "fra1-99"}
        client.call("pools/create", body)
    home.wish(pools[0], **PREFIX)
    planned = home.plan(*PRUNE)
    assert planned.operations == ["archive fra1-01"]
    assert planned.report["summary"]["removed"] == ["fra1-99"]
    home.apply(*PRUNE)
    assert home.plan(*PRUNE).operations == []


def test_k048_a_pool_that_is_let_go_is_touched_no_more(home: Home) -> None:
    pools = live(home, 2, **PREFIX)
    committed(home)
    home.wish(pools[0], {"idempotencyKey": "fra1-01", "released": True}, **PREFIX)
    report = home.plan(*PRUNE).report
    assert (report["operations"], report["summary"]["removed"], report["summary"]["foreign"]) == ([], [], 0)
    assert home.is_settled()


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


def renamed(home: Home, **fields: Any) -> None:
    """A pool with 20 of 32 GPUs in use, and then its entry under another key."""
    home.wish(entry("fra1-h100", {"acme": 32}), **PREFIX)
    home.apply()
    committed(home)
    home.sql("UPDATE pool_quotas SET used = 20 WHERE tenant_id = 'acme'")
    home.wish(entry("fra1-h100-sxm", {"acme": 32}, **fields), **PREFIX)


@pytest.mark.parametrize("flags", [(), ("--base", "HEAD"), PRUNE])
def test_k050_a_renamed_key_is_refused_and_pointed_to_previously(home: Home, flags: tuple[str, ...]) -> None:
    renamed(home)
    with unchanged(home):
        blocked = home.apply(*flags, code=3)
    [finding] = [f for f in blocked.report["findings"] if f["rule"] == "fleet.rename"]
    assert (finding["severity"], finding["source"]["file"]) == ("error", "fleet.yaml")
    assert "same shape, new key: fra1-h100 is live" in finding["message"]
    assert "`previously: fra1-h100`" in finding["hint"]
    assert ("archive fra1-h100" in blocked.operations) == ("--prune" in flags)


def test_a_base_that_is_the_files_own_commit_is_told(home: Home) -> None:
    """After a merge the branch itself holds the change: what stood before guards nothing."""
    home.wish(entry("fra1-h100", {"acme": 32}))
    repository = committed(home)
    [finding] = home.plan("--base", "main").report["findings"]
    assert (finding["rule"], finding["severity"]) == ("base.own", "warning")
    home.wish(entry("fra1-h100", {"acme": 16}))
    assert home.plan("--base", "main").report["findings"] == []  # not committed: the base is from before
    repository.commit()
    assert home.plan("--base", "HEAD^").report["findings"] == []


def test_another_callers_fleet_is_no_base(home: Home) -> None:
    """Neither fleet has a name: what the base has is another's, and nothing of it is archived."""
    home.wish(entry("ams1-a", {"acme": 8}), keyPrefix="ams1-")
    home.apply()
    was = home.directory / ".ams"
    was.mkdir()
    (was / "fleet.yaml").write_bytes((home.directory / "fleet.yaml").read_bytes())
    for root in ({}, {"caller": "sa_other"}):
        home.wish(entry("fra1-a", {"acme": 8}, gpuModel="H200"), keyPrefix="fra1-", **root)
        with unchanged(home):
            ran = home.plan("--base-dir", was, "--prune", code=3)
        assert "archive ams1-a" in ran.operations
        assert [found["rule"] for found in ran.report["findings"] if found["severity"] == "error"] == ["base.fleet"]


def test_k050_a_rename_that_says_so_touches_nothing(home: Home) -> None:
    renamed(home, previously="fra1-h100")
    report = home.plan(*PRUNE).report
    assert (report["operations"], report["summary"]["removed"]) == ([], [])
    assert [note["sentence"] for note in report["notes"]] == ["fra1-h100-sxm is the pool that was made as fra1-h100"]
    assert home.is_settled()
    home.wish(entry("fra1-h100-sxm", {"acme": 24}, previously="fra1-h100"), **PREFIX)
    home.apply()
    assert home.is_settled()
    assert [event.pool_id for event in home.events()] == [pool_id("fra1-h100")] * 3


def test_k050_a_pool_that_is_really_new_passes_by_its_number(home: Home) -> None:
    renamed(home)
    home.apply("--allow", "rename=1", "--reason", "a second row of racks")
    assert {event.pool_id for event in home.events()} == {pool_id("fra1-h100"), pool_id("fra1-h100-sxm")}


def test_k050_what_takes_the_place_of_a_pool_in_use_waits_for_it(home: Home) -> None:
    renamed(home, replaces="fra1-h100", sharing="mig", policy={"gpu": {"mig": {"strategy": "mixed"}}})
    home.wish(entry("fra1-h100-b", {"acme": 32}, replaces="fra1-h100"), **PREFIX)
    home.apply()
    assert home.is_settled(), "until nothing is in use there is nothing to do"
    home.sql("UPDATE pool_quotas SET used = 0 WHERE tenant_id = 'acme'")
    assert home.plan().operations == ["archive fra1-h100"]
    home.apply()
    assert home.is_settled()


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


def test_k051_another_caller_than_the_pools_have_is_asked_about(home: Home) -> None:
    pools = live(home, 3)
    home.wish(*pools, caller="sa_other")
    report = home.plan().report
    assert len(report["operations"]) == 6, "a second fleet, whole"
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("fleet.caller", "warning")
    assert "3 pools of the same sites and models, made by sa_fleet (3): is the caller another?" in finding["message"]
    home.wish(*pools, caller="sa_other", previousCallers=["sa_fleet"])
    assert home.is_settled()
    home.wish(entry("fra1-00", {"acme": 9}), *pools[1:], caller="sa_other", previousCallers=["sa_fleet"])
    home.apply()
    assert home.is_settled()
    assert len({event.pool_id for event in home.events()}) == 3


# K053: parts of a fleet.


def forty(home: Home) -> Repository:
    """40 pools at two sites in two files, of which 35 then leave the files."""
    pools = [entry(f"fra1-{n:02}", {"acme": 8}, siteId=("site_fra1", "site_ams1")[n % 2]) for n in range(40)]
    for name, part in (("eu", pools[:5]), ("us", pools[5:])):
        home.write(f"{name}/pools.yaml", json.dumps({"pools": part}))
    home.write("fleet.yaml", json.dumps({**home.root, **PREFIX}))
    home.apply()
    made = committed(home)
    home.write("us/pools.yaml", "pools: []\n")
    return made


ALL = ("--allow", "archives=40", "--allow", "withdrawals=40", "--allow", "gpusWithdrawn=320", "--reason", "us closes")


@pytest.mark.parametrize(
    ("selector", "archives"),
    [
        ("file=eu/*", 0),
        ("file=us/*", 35),
        ("key=fra1-0?", 5),
        ("site=site_fra1", 17),
        ("tenant=acme", 0),
        ("model=H100", 35),
        ("site=site_fra1,key=fra1-1?", 5),
    ],
)
def test_k053_a_part_removes_only_what_is_itself_selected(home: Home, selector: str, archives: int) -> None:
    forty(home)
    report = home.plan(*PRUNE, "--only", selector, *ALL).report
    assert [o["action"] for o in report["operations"]] == ["archive"] * archives
    assert report["summary"]["removed"] == []
    assert report["selection"] == {"only": [selector], "exclude": [], "outside": 35 - archives}


def test_k053_what_is_left_out_is_left_alone(home: Home) -> None:
    forty(home)
    home.write("eu/pools.yaml", json.dumps({"pools": [entry(f"fra1-{n:02}", []) for n in (0, 2, 4)]}))
    with unchanged(home):
        home.apply("--only", "key=fra1-39")
    left = ("--except", "file=us/*", "--except", "key=fra1-0[13]")
    assert len(home.plan(*PRUNE, *left).operations) == 3
    home.apply(*PRUNE, *left)
    with home.hand() as client:
        states, _ = client.pools.all(owned=True)
    assert sum(state.pool is not None and not state.pool.archived for state in states) == 40


def test_k053_a_part_is_never_said_to_be_in_sync(home: Home) -> None:
    forty(home)
    ran = home.run("plan", "--only", "key=fra1-00", "--detailed-exitcode")
    assert (ran.code, "35 outside differ" in ran.out) == (0, True)  # removed pools are no change of a plan
    assert home.run("plan", "--only", "key=fra1-00", "--detailed-exitcode", *PRUNE).code == 2
    ran = home.run("drift", "--only", "key=fra1-00", "--format", "json")
    assert (ran.code, ran.report["drift"], ran.report["selection"]["outside"]) == (2, [], 35)
    assert "in sync" not in home.run("drift", "--only", "key=fra1-00").out


@pytest.mark.parametrize("command", ["plan", "apply", "drift"])
@pytest.mark.parametrize(("flag", "selector"), [("--only", "key=fra2-*"), ("--except", "site=site_fra2")])
def test_k053_a_selector_that_selects_nothing_is_an_error(home: Home, command: str, flag: str, selector: str) -> None:
    live(home, 1)
    with unchanged(home):
        ran = home.run(command, flag, selector, *approved(command))
    assert (ran.code, ran.out) == (1, ""), ran.said
    assert f"{flag} {selector} selects nothing" in ran.err


@pytest.mark.parametrize("command", ["plan", "apply", "drift"])
def test_k053_what_is_no_selector_is_a_usage_error(home: Home, command: str) -> None:
    live(home, 1)
    ran = home.run(command, "--only", "fra1-*", *approved(command))
    assert (ran.code, ran.out) == (64, ""), ran.said
    assert "key=fra1-*" in ran.err


def test_k053_prune_without_a_base_shows_what_to_write(home: Home) -> None:
    pools = live(home, 2, **PREFIX)
    home.wish(pools[0], **PREFIX)
    for command in ("plan", "apply"):
        with unchanged(home):
            ran = home.run(command, "--prune", *approved(command))
        assert (ran.code, ran.out) == (64, ""), ran.said
        assert "- {idempotencyKey: fra1-01, archived: true}" in ran.err


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


def test_k054_a_rename_that_is_taken_back_after_the_old_pool_went(home: Home) -> None:
    home.wish(entry("fra1-00", {"acme": 32}))
    home.apply()
    home.wish(entry("fra1-01", {"acme": 32}, replaces="fra1-00"))
    home.apply()
    assert home.is_settled()
    home.wish(entry("fra1-00", {"acme": 32}, previously="fra1-01"))
    assert home.is_settled(), "the pool that is there is meant, whatever its entry is called"
    home.wish(entry("fra1-00", {"acme": 32}), tombstone("fra1-01"))
    with unchanged(home):
        blocked = home.apply(code=3)
    assert [f["rule"] for f in blocked.report["findings"] if f["severity"] == "error"] == ["pool.key"]


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
