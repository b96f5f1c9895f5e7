"""preflight/check: the operations' own verdicts, in order, on models, with nothing written."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.ids import derive
from tests.better_compute.plane import H100, Answer, Plane
from tests.statements import counted

UNBORN = derive("pool", "root", "sa_fleet", "pool-fra1-h100")
Operation = tuple[str, dict[str, Any]]


def check(plane: Plane, *operations: Operation, who: str = "sa_fleet", **more: Any) -> Answer:
    tenant = "acme" if who == "sa_acme" else "root"
    asked = [{"operation": name, "input": {"tenantId": tenant, **body}} for name, body in operations]
    return plane.ask(who, "preflight/check", operations=asked, **more)


def verdicts(plane: Plane, *operations: Operation, **more: Any) -> list[tuple[bool, list[str]]]:
    """Of each operation, whether it would be done, and the codes of its problems that are errors."""
    found = check(plane, *operations, **more).data["verdicts"]
    return [(v["ok"], [p["code"] for p in v["problems"] if p["severity"] == "error"]) for v in found]


def create(**more: Any) -> Operation:
    return "pools/create", {**H100, "idempotencyKey": "pool-fra1-h100", **more}


def offer(pool_id: str, tenant_id: str = "acme", **more: Any) -> Operation:
    return "pools/offer", {"poolId": pool_id, "toTenantId": tenant_id, "quota": {"gpu": 8}, **more}


YES: tuple[bool, list[str]] = (True, [])


def no(code: str) -> tuple[bool, list[str]]:
    return False, [code]


def test_an_offer_on_an_unborn_pool_follows_its_create(either: Plane) -> None:
    assert verdicts(either, create(), offer(UNBORN), offer(UNBORN, "globex")) == [YES, YES, YES]
    assert verdicts(either, offer(UNBORN), create()) == [no("NOT_FOUND"), YES]


def test_nothing_is_written(either: Plane) -> None:
    pool_id = either.pool()
    before = either.get(pool_id)
    assert verdicts(either, create(), offer(pool_id), ("pools/archive", {"poolId": pool_id})) == [YES, YES, YES]
    assert either.get(pool_id) == before
    assert len(either.ask("sa_fleet", "pools/list").data["items"]) == 1
    assert len(either.events()) == 1


def test_each_is_judged_on_what_those_before_it_left(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.offer(pool_id)
    single: Operation = ("pools/update", {"poolId": pool_id, "policy": {"singleTenant": True}})
    withdraw: Operation = ("pools/unoffer", {"poolId": pool_id, "toTenantId": "acme"})
    assert verdicts(plane, single, offer(pool_id, "globex"), withdraw, offer(pool_id, "globex")) == [
        YES,
        no("INVALID_STATE"),
        YES,
        YES,
    ]


def test_a_refused_operation_changes_nothing_for_those_after_it(plane: Plane) -> None:
    pool_id = plane.pool()
    operations = [
        offer(pool_id, expectedVersion=9),
        ("quotas/set", {"poolId": pool_id, "toTenantId": "acme", "quota": {"gpu": 1}}),
    ]
    assert verdicts(plane, *operations) == [no("VERSION_CONFLICT"), no("NOT_FOUND")]


def test_all_that_is_wrong_and_all_that_is_odd_is_told(plane: Plane) -> None:
    refused, warned = check(plane, create(**{"class": "metal", "agent": "no"}), create(ownerQuota={"vcpu": 4})).data[
        "verdicts"
    ]
    assert [(p["rule"], p["path"]) for p in refused["problems"]] == [("pool.class", "class"), ("pool.agent", "agent")]
    assert warned["ok"]
    assert [(p["rule"], p["severity"]) for p in warned["problems"]] == [("pool.ownerQuota", "warning")]
    assert set(refused["problems"][0]) == {"code", "rule", "message", "path", "hint", "severity"}


def test_facts_of_the_server_are_judged(plane: Plane) -> None:
    pool_id = plane.pool()
    asked = [
        offer(pool_id, "nobody"),
        offer(pool_id, "sleepy"),
        create(siteId="site_acme"),
        create(policy={"joinAttestors": ["tpm"]}),
        create(**{"class": "provider", "agent": "none", "providerAccountId": "pa_acme"}),
    ]
    codes = ["NOT_FOUND", "TENANT_INACTIVE", "NOT_FOUND", "INVALID_INPUT", "NOT_FOUND"]
    assert verdicts(plane, *asked) == [no(code) for code in codes]


def test_the_ids_are_those_of_the_caller_asked_about(plane: Plane) -> None:
    theirs = derive("pool", "root", "sa_other", "pool-fra1-h100")
    assert verdicts(plane, create(), offer(theirs), callerId="sa_other") == [YES, YES]
    assert verdicts(plane, create(), offer(theirs)) == [YES, no("NOT_FOUND")]


@pytest.mark.parametrize("caller", ["nobody", "sa_acme"])
def test_an_unknown_caller_and_a_missing_right_are_verdicts(plane: Plane, caller: str) -> None:
    assert verdicts(plane, create(), offer(UNBORN), callerId=caller) == [no("ACCESS_DENIED")] * 2


def test_it_is_asked_for_one_tenant(plane: Plane) -> None:
    foreign = {"operation": "pools/archive", "input": {"tenantId": "acme", "poolId": "x"}}
    found = plane.ask("sa_fleet", "preflight/check", operations=[foreign]).data["verdicts"]
    assert [(p["code"], p["path"]) for p in found[0]["problems"]] == [("INVALID_INPUT", "tenantId")]


def test_a_pool_of_another_is_hidden(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.offer(pool_id)
    archive: Operation = ("pools/archive", {"poolId": pool_id})
    absent: Operation = ("pools/archive", {"poolId": "pool_none"})
    mine, none = check(plane, archive, absent, who="sa_acme").data["verdicts"]
    assert mine == none
    assert mine["problems"][0]["code"] == "NOT_FOUND"


def test_an_input_that_cannot_be_read_is_a_verdict(plane: Plane) -> None:
    found = check(plane, offer("x", priorty=1), ("pools/get", {"poolId": "x"}), ("nonsense", {})).data["verdicts"]
    assert [v["problems"][0]["code"] for v in found] == ["INVALID_INPUT"] * 3
    assert (found[0]["problems"][0]["path"], found[0]["problems"][0]["hint"]) == ("priorty", 'did you mean "priority"?')


def test_a_verdict_is_what_the_operation_then_answers(either: Plane) -> None:
    """The operations of a plan, asked about and then done one after the other: the same codes."""
    timeslice = {"sharing": "timeslice", "policy": {"gpu": {"slots": 4}}}
    shared = derive("pool", "root", "sa_fleet", "shared")
    operations: list[Operation] = [
        create(),
        offer(UNBORN),
        offer(UNBORN, "globex", quota={"gpus": 1}),
        create(idempotencyKey="shared", **timeslice),
        offer(shared),
        ("quotas/set", {"poolId": UNBORN, "toTenantId": "root", "quota": {"gpu": 100}, "expectedVersion": 1}),
        ("pools/update", {"poolId": UNBORN, "policy": {"singleTenant": True}, "expectedVersion": 1}),
        offer(UNBORN, "globex"),
        ("pools/unoffer", {"poolId": UNBORN, "toTenantId": "acme", "expectedVersion": 2}),
        ("pools/archive", {"poolId": UNBORN, "expectedVersion": 2, "expectedOffersVersion": 4}),
        offer(UNBORN),
        create(siteId="site_ams2"),
    ]
    foreseen = [v["problems"][0]["code"] if not v["ok"] else "OK" for v in check(either, *operations).data["verdicts"]]
    assert [either.ask("sa_fleet", name, body).code for name, body in operations] == foreseen
    assert foreseen.count("OK") == 7


def test_at_most_a_thousand_are_asked_about(plane: Plane) -> None:
    archive: Operation = ("pools/archive", {"poolId": "x"})
    assert len(verdicts(plane, *[archive] * 1000)) == 1000
    assert check(plane, *[archive] * 1001).error["field"] == "operations"
    assert verdicts(plane) == []


def test_many_operations_take_no_more_statements_than_a_few(plane: Plane) -> None:
    accounts = [plane.ask("sa_fleet", "providerAccounts/create", name=str(n)).data["id"] for n in range(10)]

    def statements(*accounts: str) -> int:
        rented: dict[str, Any] = {"class": "provider", "agent": "none"}
        creates = [create(idempotencyKey=pa, providerAccountId=pa, **rented) for pa in accounts]
        offers = [offer(derive("pool", "root", "sa_fleet", pa)) for pa in accounts]
        with counted() as seen:
            assert verdicts(plane, *creates, *offers) == [YES] * 2 * len(accounts)
        return len(seen)

    assert statements(*accounts) == statements(accounts[0])
