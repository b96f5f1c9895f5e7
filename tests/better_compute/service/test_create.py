"""pools/create and its idempotency key: the same tenant, caller and key make one pool, once and for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from better_compute.domain.problems import ComputeError, Problem
from better_compute.domain.state import Pool
from tests.better_compute.plane import H100, Answer, Plane


def create(plane: Plane, who: str = "sa_fleet", **more: Any) -> Answer:
    return plane.ask(who, "pools/create", {**H100, "idempotencyKey": "pool-fra1-h100", **more})


def test_the_id_is_derived_from_tenant_caller_and_key(plane: Plane) -> None:
    assert create(plane).data["id"] == "pool_41ajr0h7xph5z9bavercrty41f"
    mig = create(plane, idempotencyKey="pool-fra1-h100-mig", sharing="mig")
    assert mig.data["id"] == "pool_6hzq943xp5g75v54atmey5tpxt"


def test_without_a_key_every_call_makes_a_pool(plane: Plane) -> None:
    assert plane.pool() != plane.pool()


def test_the_defaults_are_those_of_the_contract(plane: Plane) -> None:
    pool = create(plane).data
    assert (pool["sharing"], pool["agent"], pool["policy"]) == ("exclusive", "bcd", {})
    assert [(q["resource"], q["max"], q["used"]) for q in pool["quotas"]] == [("gpu", 2147483647, 0)]
    assert (pool["idempotencyKey"], pool["createdBy"], pool["createdAt"]) == (
        "pool-fra1-h100",
        "sa_fleet",
        plane.time.now,
    )


def test_a_retry_answers_the_same_pool_as_it_is_now(either: Plane) -> None:
    first = create(either).data
    either.ask("sa_fleet", "pools/update", poolId=first["id"], policy={"maxPending": "6h"})
    either.time.now += 1000
    again = create(either).data
    assert again == {**first, "policy": {"maxPending": "6h"}, "version": 2}
    assert [e["type"] for e in either.events()] == ["pool.created", "pool.updated"]


@pytest.mark.parametrize(
    "other",
    [
        {"gpuModel": "H200"},
        {"policy": {"maxPending": "1h"}},
        {"ownerQuota": {"gpu": 1}},
        {"gpuModel": "no model"},
        {"policy": {"maxPending": 17}},
        {"ownerQuota": {"gpu": -1}},
    ],
    ids=["model", "policy", "quota", "no model", "no policy", "no quota"],
)
def test_a_known_key_with_other_terms_answers_the_pool_as_it_is(plane: Plane, other: dict[str, Any]) -> None:
    first = create(plane, policy={"maxPending": "6h"}).data
    assert create(plane, **other).data == first


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"siteId": "site_ams2"}, "siteId"),
        ({"class": "vps-host"}, "class"),
        ({"sharing": "mig"}, "sharing"),
        ({"agent": "none"}, "agent"),
        ({"class": "provider", "agent": "none", "providerAccountId": "pa_north"}, "class"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_known_key_with_another_identity_is_a_conflict(plane: Plane, other: dict[str, Any], field: str) -> None:
    create(plane)
    error = create(plane, **other).error
    assert (error["code"], error["rule"], error["field"]) == ("CONFLICT", "pool.key", field)


def test_a_known_key_with_another_account_is_a_conflict(plane: Plane) -> None:
    provider = {"class": "provider", "agent": "none"}
    create(plane, **provider, providerAccountId="pa_north")
    assert create(plane, **provider, providerAccountId="pa_south").error["field"] == "providerAccountId"


def test_the_key_of_an_archived_pool_is_spent(plane: Plane) -> None:
    first = create(plane).data
    plane.ask("sa_fleet", "pools/archive", poolId=first["id"])
    again = create(plane).data
    assert (again["id"], again["archived"]) == (first["id"], True)


def test_a_refused_create_is_not_remembered(plane: Plane) -> None:
    assert create(plane, gpuModel="not a model").code == "INVALID_INPUT"
    assert create(plane, siteId="site_acme").code == "NOT_FOUND"
    assert create(plane).code == "OK"


def test_the_same_key_of_another_caller_or_tenant_is_another_pool(plane: Plane) -> None:
    ids = {
        create(plane).data["id"],
        create(plane, "sa_other").data["id"],
        create(plane, "sa_acme", siteId="site_acme").data["id"],
        create(plane, "sa_fleet", tenantId="acme", siteId="site_acme").data["id"],
    }
    assert len(ids) == 4


def test_the_same_key_never_makes_two_pools_whatever_the_concurrency(either: Plane) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: create(either).data, range(16)))
    assert len({str(sorted(answer.items())) for answer in answers}) == 1
    assert [e["type"] for e in either.events()] == ["pool.created"]


@pytest.mark.parametrize(
    "error", [RuntimeError("it has failed"), ComputeError(Problem("UNAVAILABLE", "", "it is busy"))]
)
def test_what_follows_the_commit_cannot_change_the_answer(
    plane: Plane, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    from dataclasses import replace

    from better_compute.api.handle import handler
    from better_compute.iam import Tokens

    told: list[str] = []

    def fails(pool: Pool) -> None:
        told.append(pool.id)
        raise error

    plane.handle = handler(replace(plane.service, created=fails), Tokens(plane.store, plane.time))
    pool_id = create(plane).data["id"]
    assert create(plane).data["id"] == pool_id
    assert told == [pool_id]
    assert str(error) in caplog.text
    assert ("Traceback" in caplog.text) is isinstance(error, RuntimeError)
