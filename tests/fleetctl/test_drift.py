"""Drift: what differs, since when, by whom, and whether the files or the live side moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import H100, Home, entry, pool_id, unchanged

POOLS = [entry("fra1-a", {"acme": 8}, policy={"maxPending": "6h"}), entry("fra1-b", {"globex": 8})]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, fleet="platform", keyPrefix="fra1-")
    home.wish(*POOLS)
    home.apply()
    return home


def drifted(home: Home) -> list[dict[str, Any]]:
    """What drift reports; the exit code is 2 when there is something, and nothing is ever written."""
    with unchanged(home):
        ran = home.run("drift", "--format", "json")
    found: list[dict[str, Any]] = ran.report["drift"]
    assert ran.code == (2 if any(each["expected"] is None for each in found) else 0), ran.said
    counts = {kind: ran.report["summary"][kind] for kind in ("changed", "pending", "removed", "expected")}
    assert sum(counts.values()) == len(found)
    return found


def told(home: Home) -> set[tuple[str, str, str | None, str | None]]:
    """Kind, key, tenant and author of each."""
    return {(d["kind"], d["key"], d["toTenantId"], d["actorId"]) for d in drifted(home)}


def hand(
    home: Home, operation: str, key: str, identity: str = "sa_hand", via: dict[str, Any] | None = None, **body: Any
) -> None:
    with home.hand(identity) as client:
        client = client.under(via) if via is not None else client
        client.call(operation, {"poolId": pool_id(key), **body})


def test_nothing_drifted(home: Home) -> None:
    assert drifted(home) == []


# The live side moved.


def test_an_offer_that_somebody_changed(home: Home) -> None:
    hand(home, "pools/offer", "fra1-a", toTenantId="acme", quota={"gpu": 9}, priority=3)
    [found] = drifted(home)
    assert (found["kind"], found["key"], found["toTenantId"]) == ("changed", "fra1-a", "acme")
    assert (found["actorId"], found["eventType"]) == ("sa_hand", "pool.offered")
    assert found["since"] == home.events()[-1].time
    assert [c["path"] for c in found["changes"]] == ["quota.gpu", "priority"]
    assert [(c["before"], c["after"]) for c in found["changes"]] == [(9, 8), (3, 0)]
    assert found["source"]["file"] == "fleet.yaml"


@pytest.mark.parametrize(
    ("operation", "key", "body", "what"),
    [
        ("pools/update", "fra1-a", {"policy": {}}, ("fra1-a", None)),
        ("pools/update", "fra1-a", {"gpuModel": "H200"}, ("fra1-a", None)),
        ("pools/unoffer", "fra1-a", {"toTenantId": "acme"}, ("fra1-a", "acme")),
        ("pools/offer", "fra1-a", {"toTenantId": "initech", "quota": {}}, ("fra1-a", "initech")),
        ("quotas/set", "fra1-b", {"toTenantId": "globex", "quota": {"gpu": 1}}, ("fra1-b", "globex")),
        ("pools/archive", "fra1-b", {}, ("fra1-b", None)),
    ],
)
def test_whatever_somebody_changed_names_him(
    home: Home, operation: str, key: str, body: dict[str, Any], what: tuple[str, str | None]
) -> None:
    hand(home, operation, key, **body)
    assert told(home) == {("changed", *what, "sa_hand")}


def test_each_object_has_its_own_author(home: Home) -> None:
    hand(home, "pools/update", "fra1-a", "sa_other", policy={})
    hand(home, "pools/offer", "fra1-a", toTenantId="acme", quota={"gpu": 9})
    home.wish(POOLS[0], entry("fra1-b", {"globex": 16}))
    assert told(home) == {
        ("changed", "fra1-a", "acme", "sa_hand"),
        ("changed", "fra1-a", None, "sa_other"),
        ("pending", "fra1-b", "globex", "sa_fleet"),
    }


def test_the_owners_rows_are_an_object_of_their_own(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}, policy={"maxPending": "6h"}, ownerQuota={"gpu": 64}), POOLS[1])
    home.apply()
    hand(home, "quotas/set", "fra1-a", toTenantId="root", quota={"gpu": 1})
    [found] = drifted(home)
    assert (found["kind"], found["toTenantId"], found["actorId"]) == ("changed", "root", "sa_hand")
    assert found["changes"] == [{"path": "ownerQuota.gpu", "before": 1, "after": 64}]


@pytest.mark.parametrize("base", [(), ("--base-dir", "was")])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(("maker", "kind"), [("sa_fleet", "pending"), ("sa_hand", "changed")])
def test_owners_rows_that_nobody_set_are_as_the_pools_maker_made_them(
    home: Home, monkeypatch: pytest.MonkeyPatch, maker: str, kind: str, again: bool, base: tuple[str, ...]
) -> None:
    with home.hand(maker) as client:
        made = client.call(
            "pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "ownerQuota": {"gpu": 9}}
        )
        if again:  # the pool's own last event is another one then
            client.call("pools/update", {"poolId": made["id"], "gpuModel": "H200"})
    model = "H200" if again else "H100"
    adopted = entry("", [], id=made["id"], gpuModel=model, ownerQuota={"gpu": 5})
    del adopted["idempotencyKey"]
    home.wish(*POOLS, adopted)
    (home.directory.parent / "was").mkdir()
    (home.directory.parent / "was" / "fleet.yaml").write_bytes((home.directory / "fleet.yaml").read_bytes())
    monkeypatch.chdir(home.directory.parent)
    [found] = home.run("drift", "--format", "json", *base).report["drift"]
    assert (found["kind"], found["toTenantId"], found["actorId"]) == (kind, "root", maker)
    assert (found["eventType"], found["via"]) == ("pool.created", None)
    assert "via" not in home.run("drift", *base).out
    report = home.run("plan", "--format", "json", *base).report
    assert [(one["kind"], one["actorId"]) for one in report["drift"] or ()] == ([(kind, maker)] if base else [])


@pytest.mark.parametrize(
    ("via", "kind"),
    [
        (None, "changed"),
        ({}, "changed"),
        ({"fleet": "another"}, "changed"),
        ({"fleet": "platform"}, "pending"),
    ],
)
def test_the_same_identity_without_a_change_of_this_fleet_is_somebody_else(
    home: Home, via: dict[str, Any] | None, kind: str
) -> None:
    hand(home, "pools/offer", "fra1-a", "sa_fleet", via, toTenantId="acme", quota={"gpu": 9})
    [found] = drifted(home)
    assert (found["kind"], found["actorId"], found["via"]) == (kind, "sa_fleet", via or None)


# The files moved.


def test_files_that_are_ahead_are_pending(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 9}), entry("fra1-b", []), entry("fra1-c", {"acme": 1}))
    found = {(d["key"], d["toTenantId"]): (d["kind"], d["what"]) for d in drifted(home)}
    assert found == {
        ("fra1-a", None): ("pending", "the pool differs"),
        ("fra1-a", "acme"): ("pending", "the offer differs"),
        ("fra1-b", "globex"): ("pending", "the offer stands in no file"),
        ("fra1-c", None): ("pending", "the pool is not there"),
    }


def test_a_pool_that_is_not_there_has_no_event(home: Home) -> None:
    home.wish(*POOLS, entry("fra1-c", []))
    [found] = drifted(home)
    assert (found["since"], found["actorId"], found["eventType"], found["via"]) == (None, None, None, None)


def test_a_tombstone_of_a_live_pool_is_pending(home: Home) -> None:
    home.wish(POOLS[0], {"idempotencyKey": "fra1-b", "archived": True})
    assert [(d["kind"], d["what"]) for d in drifted(home)] == [("pending", "the pool is not archived yet")]


def test_a_pool_whose_files_and_live_side_both_moved_is_changed(home: Home) -> None:
    hand(home, "pools/offer", "fra1-a", toTenantId="acme", quota={"gpu": 9})
    home.wish(entry("fra1-a", {"acme": 10}, policy={"maxPending": "6h"}), POOLS[1])
    assert told(home) == {("changed", "fra1-a", "acme", "sa_hand")}


# How much is under code.


def test_coverage_is_of_all_that_is_live_and_never_of_a_part(home: Home) -> None:
    with home.hand() as client:
        client.call("pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"})
    home.wish(POOLS[0])
    for part in ((), ("--only", "key=fra1-a")):
        ran = home.run("drift", "--format", "json", *part)
        counts = {"livePools": 3, "namedPools": 1, "percent": 33.3, "liveAtoms": 0, "namedAtoms": 0}
        assert counts.items() <= ran.report["coverage"].items()
    assert "  coverage 1 of 3 live pools under code (33.3 %), in the whole fleet" in home.run("drift", *part).out
    metrics = home.run("drift", "--format", "prometheus", *part).out
    assert 'fleetctl_drift_named_pools{fleet="platform",tenant="root",instance_id="home"} 1\n' in metrics


def test_where_no_pool_is_live_there_is_no_share(tmp_path: Path) -> None:
    empty = Home(tmp_path / "empty")
    empty.wish(*POOLS)
    assert "  coverage no live pools\n" in empty.run("drift").out
    assert empty.run("drift", "--format", "json").report["coverage"]["percent"] is None
    assert 'instance_id="home"} NaN\n' in empty.run("drift", "--format", "prometheus").out


# Pools that left the files, and pools of others.


def test_a_pool_that_left_the_files_is_removed(home: Home) -> None:
    home.wish(POOLS[0])
    [found] = drifted(home)
    assert (found["kind"], found["key"], found["source"]) == ("removed", "fra1-b", None)
    assert (found["actorId"], found["eventType"]) == ("sa_fleet", "pool.created")


def test_pools_of_others_are_no_drift(home: Home) -> None:
    with home.hand() as client:
        client.call("pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"})
    assert drifted(home) == []


def test_without_a_prefix_no_pool_counts_as_removed(home: Home) -> None:
    del home.more["keyPrefix"]
    home.wish(POOLS[0])
    assert drifted(home) == []


def test_a_pool_that_is_let_go_is_no_drift(home: Home) -> None:
    home.wish(POOLS[0], {"idempotencyKey": "fra1-b", "released": True})
    assert drifted(home) == []


# Callers that were.


def test_what_a_previous_caller_did_for_this_fleet_is_this_fleets(home: Home) -> None:
    rotated: dict[str, Any] = {"caller": "sa_other", "previousCallers": ["sa_fleet"]}
    home.wish(*POOLS, **rotated)
    assert drifted(home) == []
    home.wish(entry("fra1-a", {"acme": 9}, policy={"maxPending": "6h"}), POOLS[1], **rotated)
    assert told(home) == {("pending", "fra1-a", "acme", "sa_fleet")}
    hand(home, "pools/offer", "fra1-a", "sa_fleet", None, toTenantId="acme", quota={"gpu": 7})
    assert told(home) == {("changed", "fra1-a", "acme", "sa_fleet")}


# What is not under code.


def made_by_hand(home: Home, number: int) -> None:
    with home.hand() as client:
        for n in range(number):
            client.call("pools/create", {**H100, "idempotencyKey": f"by-hand-{n:02}"})


def test_the_pools_that_are_not_under_code_are_named_with_their_maker(home: Home) -> None:
    made_by_hand(home, 1)
    ran = home.run("drift", "--format", "json")
    [found] = ran.report["coverage"]["unnamed"]
    hand_made = {"poolId": pool_id("by-hand-00", "sa_hand"), "key": "by-hand-00", "createdBy": "sa_hand"}
    assert found == {**hand_made, "siteId": "site_fra1", "gpuModel": "H100"}
    assert "2 of 3 live pools under code (66.6 %); not by-hand-00" in home.run("drift").out
    assert "Live, and not under code" in home.run("drift", "--format", "html").out
    for form in (("--verbose",), ("--format", "markdown")):
        said = home.run("drift", *form).out
        assert "Live, and not under code" in said
        assert f"by-hand-00  H100 at site_fra1, {found['poolId']}  made by sa_hand" in said


def test_of_many_that_are_not_under_code_some_are_named(home: Home) -> None:
    made_by_hand(home, 23)
    coverage = home.run("drift", "--format", "json").report["coverage"]
    assert (coverage["livePools"] - coverage["namedPools"], len(coverage["unnamed"])) == (23, 20)
    said = home.run("drift", "--verbose").out
    assert "; not by-hand-00, by-hand-01 and 21 more pools\n" in said
    assert "by-hand-19" in said
    assert "and 3 more\n" in said


# Differences that are expected.


def expecting(home: Home, **fields: Any) -> None:
    home.wish(*POOLS, expected=[{"key": "fra1-a", "reason": "trial", **fields}])


OFFER: dict[str, Any] = {"toTenantId": "acme", "quota": {"gpu": 9}, "priority": 3}


@pytest.mark.parametrize("path", [None, "offers", "offers[acme]"])
def test_a_difference_that_is_expected_is_told_and_does_not_count(home: Home, path: str | None) -> None:
    hand(home, "pools/offer", "fra1-a", **OFFER)
    expecting(home, **({"path": path} if path else {}))
    [found] = drifted(home)
    assert (found["expected"], found["kind"]) == ("trial", "changed")


@pytest.mark.parametrize("path", ["policy", "offers[acme].quota", "offers[acm]", "offers[acme].quota.gp"])
def test_what_goes_beyond_the_expected_counts_whole(home: Home, path: str) -> None:
    hand(home, "pools/offer", "fra1-a", **OFFER)
    expecting(home, path=path)
    assert [found["expected"] for found in drifted(home)] == [None]


def test_each_path_of_a_difference_may_be_expected_for_itself(home: Home) -> None:
    hand(home, "pools/offer", "fra1-a", **OFFER)
    paths = {"offers[acme].quota.gpu": "trial", "offers[acme].priority": "urgent"}
    expected = [{"key": "fra1-a", "path": path, "reason": reason} for path, reason in paths.items()]
    home.wish(*POOLS, expected=expected)
    assert [found["expected"] for found in drifted(home)] == ["trial; urgent"]


@pytest.mark.parametrize("path", ["quota", "quota.gpu", "priority"])
@pytest.mark.parametrize("quota", [{"gpu": 4}, {"gpu": 0}])
def test_who_expects_a_row_does_not_expect_an_offer_to_come_or_go(home: Home, path: str, quota: dict[str, int]) -> None:
    path = f"offers[initech].{path}"
    hand(home, "pools/offer", "fra1-a", toTenantId="initech", quota=quota)
    expecting(home, path=path)
    assert [(found["what"], found["expected"]) for found in drifted(home)] == [("the offer stands in no file", None)]
    hand(home, "pools/unoffer", "fra1-a", toTenantId="initech")
    offer = {"toTenantId": "initech", "quota": quota}
    home.wish(
        entry("fra1-a", [{"toTenantId": "acme", "quota": {"gpu": 8}}, offer], policy={"maxPending": "6h"}),
        POOLS[1],
        expected=[{"key": "fra1-a", "path": path, "reason": "trial"}],
    )
    assert [(found["what"], found["expected"]) for found in drifted(home)] == [("the offer is not there", None)]


@pytest.mark.parametrize("path", [{}, {"path": "offers"}])
def test_what_keeps_a_pool_from_being_as_wished_is_never_expected(home: Home, path: dict[str, str]) -> None:
    hand(home, "pools/archive", "fra1-a")
    expecting(home, **path)
    [found] = drifted(home)
    assert ("is not revived" in found["what"], found["expected"]) == (True, None)


def test_an_expectation_of_another_entry_or_one_that_is_over_does_not_count(home: Home) -> None:
    hand(home, "pools/offer", "fra1-a", **OFFER)
    home.wish(*POOLS, expected=[{"key": "fra1-b", "reason": "trial"}])
    assert [found["expected"] for found in drifted(home)] == [None]
    expecting(home, until="2020-01-01T00:00Z")
    ran = home.run("drift")
    assert ran.code == 2
    assert "fra1-a was expected to differ until 2020-01-01 00:00:00 UTC, and counts again" in ran.said
    assert "fleet.yaml:" in ran.said
    expecting(home, until="2999-01-01T00:00Z")
    assert home.run("drift").code == 0


def test_a_pool_that_left_the_files_may_be_expected(home: Home) -> None:
    home.wish(POOLS[0], expected=[{"key": "fra1-b", "reason": "moves next week"}])
    assert [(found["kind"], found["expected"]) for found in drifted(home)] == [("removed", "moves next week")]


def test_text_names_who_and_when(home: Home) -> None:
    hand(home, "pools/offer", "fra1-a", toTenantId="acme", quota={"gpu": 9})
    text = home.run("drift").out
    for word in ("fra1-a", "acme", "sa_hand", "pool.offered", "9", "8", "fleet.yaml:", "20"):
        assert word in text


def test_a_pool_that_somebody_made_with_the_fleets_caller_is_not_said_to_be_made_by_the_fleet(home: Home) -> None:
    with home.hand("sa_fleet") as client:
        hardware = {"class": "metal-host", "gpuModel": "H100", "sharing": "exclusive", "agent": "bcd"}
        client.call("pools/create", {"idempotencyKey": "fra1-hand", "siteId": "site_fra1", **hardware})
    [found] = drifted(home)
    assert (found["kind"], found["actorId"], found["via"]) == ("removed", "sa_fleet", None)
    known = "sa_fleet made it, its key begins with this fleet's keyPrefix, fra1-"
    assert found["what"] == f"{known}, and no entry of platform names it"


def test_a_difference_stands_where_a_plan_has_it(home: Home) -> None:
    owner = {"ownerQuota": {"gpu": 4}}
    pools = [
        entry("fra1-a", {"acme": 8, "initech": 1}, policyRef="long", **owner),
        entry("fra1-b", []),
        entry("fra1-c", []),
    ]
    tomb = {"idempotencyKey": "fra1-c", "archived": True}
    home.wish(POOLS[0], POOLS[1], pools[2])
    home.apply()
    home.wish(*pools[:2], tomb, policies={"long": {"maxPending": "9h"}})
    plan = home.run("plan", "--format", "json").report["operations"]
    placed = {(one["poolId"], one["toTenantId"]): one["source"] for one in plan}
    found = {(one["poolId"], one["toTenantId"]): one["source"] for one in drifted(home)}
    assert len(placed) == 5
    assert found == placed


MIG = {"gpu": {"mig": {"devices": {"1g.10gb": 7}}}}


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("offers[acme].quota.gpu", False),
        ("offers[acme].quota.gpu.mig", True),
        ("offers[acme].quota", True),
        ("offers", True),
    ],
)
def test_what_is_expected_of_a_resource_is_not_said_of_one_whose_name_begins_alike(
    tmp_path: Path, path: str, hidden: bool
) -> None:
    home = Home(
        tmp_path, fleet="platform", keyPrefix="fra1-", expected=[{"key": "fra1-m", "path": path, "reason": "x"}]
    )
    pool = entry("fra1-m", sharing="mig", policy=MIG, ownerQuota={"gpu.mig": 7})
    home.wish({**pool, "offers": [{"toTenantId": "acme", "quota": {"gpu.mig": 4}}]})
    home.apply()
    hand(home, "pools/offer", "fra1-m", toTenantId="acme", quota={"gpu.mig": 6})
    assert [(one["changes"][0]["path"], one["expected"]) for one in drifted(home)] == [
        ("quota.gpu.mig", "x" if hidden else None)
    ]
