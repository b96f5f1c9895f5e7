"""Preflight: operations judged one after the other on a model of the live state, and by the server where it must."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from better_compute.domain.problems import Problem
from fleetctl import preflight
from fleetctl.desired.load import load
from fleetctl.live import read
from fleetctl.plan import make
from tests.e2e.edge import Asked, apply_over, edged, planned, straight
from tests.e2e.homes import Home, entry
from tests.e2e.partly import do
from tests.model import ControlPlane, desired, fleet
from tests.model import entry as wished

MADE = "a world file may bring it in, or `better-compute tenants create --id {}` makes it"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def check(home: Home) -> tuple[list[Problem], Counter[str]]:
    """The problems of the home's plan, and which calls it took to find them."""
    asked: Counter[str] = Counter()

    def bend(request: Asked) -> httpx.Response:
        asked[request.operation] += 1
        return request.forward()

    with edged(home, bend) as client:
        live = read(client, "", "root")
        plan = make(load(home.directory), live)
        asked.clear()
        return preflight.problems(plan, live, client), asked


def told(problems: list[Problem]) -> list[tuple[str, str, str]]:
    return [(p.severity, p.rule, p.path) for p in problems]


def test_a_plan_that_the_rules_allow_has_no_problem(home: Home) -> None:
    home.wish(entry("a", {"acme": 8, "globex": 8}, policy={"singleTenant": False}))
    assert check(home)[0] == []


def test_the_server_is_asked_once_and_only_for_what_is_not_known_here(home: Home) -> None:
    home.wish(entry("a", []), entry("b", {"acme": 8}))
    problems, asked = check(home)
    assert (problems, asked) == ([], {"preflight/check": 1})
    home.apply()
    home.wish(entry("a", [], policy={"maxPending": "6h"}), entry("b", []))
    problems, asked = check(home)
    assert (problems, asked) == ([], {})


@pytest.mark.parametrize(
    ("pool", "rule", "code", "path"),
    [
        (entry("a", {"nobody": 8}), "offer.tenant", "NOT_FOUND", "pools[a].offers[nobody].toTenantId"),
        (entry("a", [], siteId="site_acme"), "pool.site", "NOT_FOUND", "pools[a].siteId"),
        (
            entry("a", [], **{"class": "provider"}, agent="none", providerAccountId="pa_nobody"),
            "pool.provider",
            "NOT_FOUND",
            "pools[a].providerAccountId",
        ),
        (entry("a", [], policy={"joinAttestors": ["tpm"]}), "policy.joinAttestors", "INVALID_INPUT", "pools[a].policy"),
    ],
)
def test_what_the_server_alone_knows_is_found_before_anything_is_written(
    home: Home, pool: dict[str, Any], rule: str, code: str, path: str
) -> None:
    home.wish(pool)
    errors = [p for p in check(home)[0] if p.severity == "error"]
    assert [(p.rule, p.code) for p in errors] == [(rule, code)]
    assert errors[0].path.startswith(path)
    assert errors[0].source is not None
    assert errors[0].source.line > 8


@pytest.mark.parametrize(
    ("policy", "path", "hint"),
    [
        ({"hostReserve": {"vcpu": 192}}, "policy.hostReserve.vcpu", "use 191"),
        ({"hugepages": {"1Gi": 2049}}, "policy.hugepages.1Gi", "use 2048"),
        ({"cpu": {"isolated": "4-192"}}, "policy.cpu.isolated", "use 4-191"),
    ],
)
def test_what_a_policy_takes_of_every_host_is_judged_by_the_server_that_knows_them(
    home: Home, policy: dict[str, Any], path: str, hint: str
) -> None:
    home.wish(entry("racked", []))
    home.apply()
    home.wish(entry("racked", [], policy=policy))
    (problem,), asked = check(home)
    assert (problem.severity, problem.path, problem.hint) == ("error", f"pools[racked].{path}", hint)
    assert problem.source is not None
    assert asked == {"preflight/check": 1}
    home.wish(entry("racked", [], policy={"hostReserve": {"vcpu": 191, "memoryGiB": 16}}))
    assert check(home)[0] == []


def test_hosts_are_asked_about_only_where_there_are_some_and_the_policy_takes_of_them(home: Home) -> None:
    home.wish(entry("racked", []), entry("bare", []))
    home.apply()
    home.wish(entry("racked", [], policy={"maxPending": "6h"}), entry("bare", [], policy={"hostReserve": {"vcpu": 4}}))
    assert check(home) == ([], {})


def test_without_a_server_what_hosts_leave_is_one_open_question_of_the_pool(home: Home) -> None:
    home.wish(entry("racked", []))
    home.apply()
    home.wish(
        entry("racked", [], policy={"hostReserve": {"vcpu": 4}, "hugepages": {"1Gi": 4}, "cpu": {"reserved": "0-3"}})
    )
    with home.hand("sa_fleet") as client:
        live = read(client, "", "root")
    found = preflight.problems(make(load(home.directory), live), live, None)
    assert told(found)[1:] == [("unchecked", "policy.hostReserve.vcpu", "pools[racked].policy.hostReserve.vcpu")]


def test_an_older_kubernetes_than_the_nodes_have_is_a_warning_of_the_plan(home: Home) -> None:
    home.wish(entry("a", [], policy={"kubernetes": {"version": "v1.31.2"}}))
    home.apply()
    home.wish(entry("a", [], policy={"kubernetes": {"version": "v1.30.9"}}))
    (finding,) = home.plan().report["findings"]
    assert (finding["severity"], finding["hint"]) == ("warning", "use v1.31.2, or a later one")
    assert finding["path"] == "pools[a].policy.kubernetes.version"


@pytest.mark.parametrize(
    ("pool", "near", "asked"),
    [
        (entry("a", [], siteId="site_fr1"), "site_fra1", {"preflight/check": 1}),
        (entry("a", {"acmee": 8}), "acme", {"preflight/check": 1, "tenants/list": 1}),
        (entry("a", {"acmee": 8, "globx": 8, "gacme": 1}), "globex", {"preflight/check": 1, "tenants/list": 1}),
        (
            entry("a", [], **{"class": "provider"}, agent="none", providerAccountId="pa_nort"),
            "pa_north",
            {"preflight/check": 1},
        ),
    ],
)
def test_a_slip_in_a_name_is_met_with_the_nearest_that_is_there(
    home: Home, pool: dict[str, Any], near: str, asked: dict[str, int]
) -> None:
    there = entry("there", [], **{"class": "provider"}, agent="none", providerAccountId="pa_north")
    home.wish(there)
    home.apply()
    home.wish(there, pool)
    problems, calls = check(home)
    assert f'did you mean "{near}"?' in {p.hint for p in problems}
    assert (all(p.hint for p in problems), calls) == (True, asked)


def test_a_tenant_that_is_near_none_is_told_how_one_is_made_and_the_owner_is_none(home: Home) -> None:
    home.wish(entry("a", {"roots": 8, "zzz": 8}))

    assert [p.hint for p in check(home)[0]] == [MADE.format(name) for name in ("roots", "zzz")]


def test_who_may_not_list_tenants_knows_those_that_hold_offers(home: Home) -> None:
    home.wish(entry("a", {"globex": 8}, siteId="site_acme"), tenantId="acme", caller="sa_acme")
    home.apply()
    home.wish(
        entry("a", {"globex": 8, "globx": 8, "inittech": 8}, siteId="site_acme"), tenantId="acme", caller="sa_acme"
    )
    hints = {p["path"]: p["hint"] for p in home.plan(code=3).report["findings"]}
    assert hints == {
        "pools[a].offers[globx].toTenantId": 'did you mean "globex"?',
        "pools[a].offers[inittech].toTenantId": MADE.format("inittech"),
    }


def test_a_tenant_that_does_not_work_is_found(home: Home) -> None:
    home.sql("UPDATE tenants SET status = 'inactive' WHERE id = 'acme'")
    home.wish(entry("a", {"acme": 8}))
    assert [p.code for p in check(home)[0]] == ["TENANT_INACTIVE"]


def test_a_problem_found_here_is_not_told_twice(home: Home) -> None:
    home.wish(entry("a", {"acme": 8, "globex": 8}, policy={"singleTenant": True}))
    assert told(check(home)[0]) == [("error", "offer.single", "pools[a].offers[globex].toTenantId")]


def test_the_pool_of_a_refused_creation_is_not_missed_once_more(home: Home) -> None:
    home.wish(entry("a", {"acme": 8, "globex": 8}, gpuModel="h100"), entry("b", {"nobody": 8}))
    assert sorted(told(check(home)[0])) == [
        ("error", "offer.tenant", "pools[b].offers[nobody].toTenantId"),
        ("error", "pool.model", "pools[a].gpuModel"),
    ]


def test_a_site_that_is_not_there_hides_no_other_mistake_of_its_pool(home: Home) -> None:
    provider = entry("b", [], **{"class": "provider"}, agent="none", siteId="site_fr1", providerAccountId="pa_nobody")
    home.wish(entry("a", {"acmee": 8, "globex": 8}, siteId="site_fr1", policy={"singleTenant": True}), provider)
    problems, asked = check(home)
    assert sorted(told(problems)) == [
        ("error", "offer.single", "pools[a].offers[globex].toTenantId"),
        ("error", "offer.tenant", "pools[a].offers[acmee].toTenantId"),
        ("error", "pool.provider", "pools[b].providerAccountId"),
        ("error", "pool.site", "pools[a].siteId"),
        ("error", "pool.site", "pools[b].siteId"),
    ]
    assert {p.hint for p in problems if p.rule == "pool.site"} == {'did you mean "site_fra1"?'}
    assert asked["preflight/check"] == 1


def test_nor_does_an_account_that_is_not_there(home: Home) -> None:
    fields = {"class": "provider", "agent": "none", "providerAccountId": "pa_nobody"}
    home.wish(entry("a", {"acmee": 8, "globex": 8}, policy={"singleTenant": True}, **fields))
    assert sorted(told(check(home)[0])) == [
        ("error", "offer.single", "pools[a].offers[globex].toTenantId"),
        ("error", "offer.tenant", "pools[a].offers[acmee].toTenantId"),
        ("error", "pool.provider", "pools[a].providerAccountId"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": {"maxPending": "6 hours"}},
        {"gpuModel": "h100"},
        {"class": "metal"},
        {"sharing": "shared"},
        {"ownerQuota": {"vcpus": 4}},
        {"sharing": "mig", "policy": {"gpu": {"mig": {"devices": {"9g.99gb": 1}}}}},
        {"class": "provider", "agent": "none"},
        {"policy": {"joinAttestors": ["nope"]}},
    ],
    ids=str,
)
def test_whatever_is_wrong_with_a_pool_its_tenants_are_looked_for(home: Home, fields: dict[str, Any]) -> None:
    home.wish(entry("a", {"acmee": 8, "globex": 8}, **fields))
    told = {(f["rule"], f["path"]) for f in home.plan(code=3).report["findings"] if f["severity"] == "error"}
    assert ("offer.tenant", "pools[a].offers[acmee].toTenantId") in told
    assert not [path for rule, path in told if "globex" in path or rule == "pool.owner"]
    assert len(told) == 2, told


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({"siteId": "site_zz", "policy": {"maxPending": "6 hours"}}, ["policy.maxPending", "pool.site"]),
        ({"siteId": "site_zz", "class": "metal"}, ["pool.class", "pool.site"]),
        ({"siteId": "site_zz", "policy": {"joinAttestors": ["nope"]}}, ["policy.joinAttestors", "pool.site"]),
        (
            {"class": "provider", "agent": "none", "providerAccountId": "pa_zz", "policy": {"maxPending": "6 hours"}},
            ["policy.maxPending", "pool.provider"],
        ),
    ],
    ids=str,
)
def test_whatever_is_wrong_with_a_pool_its_place_is_looked_for(
    home: Home, fields: dict[str, Any], rules: list[str]
) -> None:
    home.wish(entry("a", [], **fields))
    assert sorted(f["rule"] for f in home.plan(code=3).report["findings"] if f["severity"] == "error") == rules


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"class": "provider", "agent": "bcd", "providerAccountId": "pa_zz"}, ["agent", "providerAccountId"]),
        ({"policy": {"joinAttestors": ["nope", "b d"]}}, ["policy.joinAttestors[0]", "policy.joinAttestors[1]"]),
    ],
    ids=str,
)
def test_one_mistake_hides_no_other_by_the_same_rule(home: Home, fields: dict[str, Any], paths: list[str]) -> None:
    home.wish(entry("a", [], **fields))
    told = [f["path"] for f in home.plan(code=3).report["findings"] if f["severity"] == "error"]
    assert sorted(told) == [f"pools[a].{path}" for path in paths]


def test_where_the_sharing_mode_is_none_nothing_is_said_of_its_atoms(home: Home) -> None:
    home.wish(entry("a", [{"toTenantId": "acme", "quota": {"gpu.slot": 1}}], sharing="mpss"))
    [finding] = home.plan(code=3).report["findings"]
    assert (finding["rule"], finding["hint"]) == ("pool.sharing", 'did you mean "mps"?')


def test_a_field_that_is_wrong_hides_nothing_that_validate_knows(home: Home) -> None:
    home.wish(
        entry("a", {"acme": 8}, sharing="timeslice", gpuModel="H10O"),
        entry("b", {"acme": 8}, sharing="mps", policy={"gpu": {"slots": 2}}),
        entry("c", {"acme": 8}, gpuModel="H200Z"),
    )
    validated = home.run("validate", "--format", "json").report["problems"]
    planned = home.plan(code=3).report["findings"]

    def of(problems: list[dict[str, Any]]) -> set[tuple[str, str]]:
        return {(p["rule"], p["path"]) for p in problems}

    assert of(validated) <= of(planned)
    assert len(of(planned)) == len(planned)
    assert {"offer.sharing", "pool.model"} <= {rule for rule, _ in of(planned)}


def test_without_a_site_of_its_own_a_tenant_is_told_of_the_site_alone(home: Home) -> None:
    home.sql("UPDATE sites SET tenant_id = 'globex' WHERE id = 'site_acme'")
    home.wish(entry("a", {"globx": 8}, siteId="site_fra1"), tenantId="acme", caller="sa_acme")
    assert [f["rule"] for f in home.plan(code=3).report["findings"]] == ["pool.site"]


def test_a_pool_of_somebody_else_is_missed() -> None:
    """An echo is dropped for pools of this plan alone."""
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(wished("a", offers=[])))))
    plan = plane.plan(desired(fleet(wished("a", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}]))))
    live = replace(plane.live(), pools={})
    assert [p.rule for p in preflight.problems(plan, live, None) if p.severity == "error"] == ["pool.owner"]


def test_versions_that_move_while_a_plan_is_made_are_left_to_the_writes(home: Home) -> None:
    """As when calls of a killed apply still land: the same command again must not be refused for them."""
    home.wish(entry("a", {"acme": 8}))
    home.apply()
    home.wish(entry("a", {"acme": 9, "globex": 8}, policy={"maxPending": "6h"}))

    def bend(request: Asked) -> httpx.Response:
        if request.operation == "preflight/check":
            do(home, {o.n for o in planned(home).operations})
        return request.forward()

    with edged(home, bend) as client:
        live = read(client, "", "root")
        plan = make(load(home.directory), live)
        assert preflight.problems(plan, live, client) == []
    assert home.is_settled()
    assert all(o.found for o in apply_over(home, straight, plan))


# The fold.


@pytest.mark.parametrize("most", [1, 2, 3, 1000])
def test_a_plan_is_not_blocked_because_one_request_does_not_hold_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The last operations are legal after the first ones alone, which the server no longer sees."""
    home.wish(entry("a", {"acme": 8, "globex": 8, "umbrella": 8}))
    home.apply()
    home.wish(entry("a", {"initech": 8}, policy={"singleTenant": True}))
    monkeypatch.setattr("better_compute.client.preflight.MOST", most)
    assert check(home)[0] == []
    home.wish(entry("a", {"nobody": 8}, policy={"singleTenant": True}))
    assert [p.rule for p in check(home)[0]] == ["offer.tenant"]


def test_every_operation_is_judged_in_the_state_that_those_before_it_leave() -> None:
    plane = ControlPlane()
    single = {"policy": {"singleTenant": True}}
    first = desired(fleet(wished("a", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}], **single)))
    plane.run(plane.plan(first))
    plan = plane.plan(desired(fleet(wished("a", offers=[{"toTenantId": "globex", "quota": {"gpu": 1}}], **single))))

    def errors(operations: Any) -> list[list[str]]:
        judged = preflight.fold(operations, plane.live(), "sa_fleet")
        return [[p.rule for p in problems if p.severity == "error"] for problems in judged]

    assert errors(plan.operations) == [[], []]
    assert errors(plan.operations[::-1]) == [["offer.single"], []]


def test_the_fold_changes_no_live_state() -> None:
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(wished("a", offers=[])))))
    live = plane.live()
    plan = plane.plan(desired(fleet(wished("a", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}]))))
    preflight.fold(plan.operations, live, "sa_fleet")
    assert live.pools == plane.live().pools


def test_what_nobody_was_asked_stays_unchecked() -> None:
    plane = ControlPlane()
    plan = plane.plan(desired(fleet(wished("a", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}]))))
    found = preflight.problems(plan, plane.live(), None)
    assert {p.severity for p in found} == {"unchecked"}
    assert {"offer.tenant", "server.rights"} <= {p.rule for p in found}
    assert all(p.source for p in found)


def test_rights_are_no_question_where_nothing_is_to_be_done() -> None:
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(wished("a", offers=[])))))
    plan = plane.plan(desired(fleet(wished("a", offers=[]))))
    assert preflight.problems(plan, plane.live(), None) == []


# Places.


@pytest.mark.parametrize(
    ("fields", "path", "text"),
    [
        ({"ownerQuota": {"gpu": 1, "gpu.slot": 5}}, "pools[a].ownerQuota.gpu.slot", '"gpu.slot": 5'),
        ({"policy": {"note": "", "maxPending": "soon"}}, "pools[a].policy.maxPending", '"maxPending": "soon"'),
        (
            {"offers": [{"toTenantId": "acme", "quota": {"gpu.mig": 1, "gpu": 1}}]},
            "pools[a].offers[acme].quota.gpu.mig",
            '"gpu.mig": 1',
        ),
    ],
)
def test_a_problem_has_the_place_that_it_is_about(home: Home, fields: dict[str, Any], path: str, text: str) -> None:
    home.wish(entry("a", **fields))
    assert text in line_of(home, path)


def test_a_problem_of_the_owners_quota_has_its_place_also_when_it_is_set(home: Home) -> None:
    home.wish(entry("a", []))
    home.apply()
    home.wish(entry("a", [], ownerQuota={"gpu": 1, "licences": 1}))
    assert '"licences": 1' in line_of(home, "pools[a].ownerQuota.licences")


def line_of(home: Home, path: str) -> str:
    """The line that the problem of this path points to."""
    [problem] = [p for p in check(home)[0] if p.path == path]
    assert problem.source is not None
    return (home.directory / "fleet.yaml").read_text().splitlines()[problem.source.line - 1]
