"""Policies over the API: what pools/create and pools/update say of every field, and what they know of the hosts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from better_compute.api.handle import handler
from better_compute.domain.policy import validate
from better_compute.domain.policy.scope import Scope
from better_compute.domain.problems import Problem
from better_compute.iam import Tokens
from tests.better_compute.api.served import served
from tests.better_compute.domain.policy.table import Case, cases
from tests.better_compute.plane import CARD, Plane, headers_of, open_plane
from tests.statements import counted

HOSTED = [case for case in cases() if not case.alone and case.fields["gpuModel"] != "GH200"]


class Attestor:
    def check(self, evidence: str, claim: bytes) -> None:
        raise NotImplementedError("no machine comes")


@contextmanager
def attested(path: Path) -> Iterator[Plane]:
    """A plane that runs the attestor of the table."""
    plane = open_plane(f"sqlite:///{path}")
    plane.service = replace(plane.service, attestors={"tpm": Attestor()})
    plane.handle = handler(plane.service, Tokens(plane.store, plane.time))
    yield plane
    plane.store.close()


def machine(plane: Plane, pool_id: str, **inventory: Any) -> None:
    token = plane.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).data["joinToken"]
    stated = {"gpus": [CARD]} | inventory
    assert plane.ask("sa_fleet", "nodes/join", poolId=pool_id, joinToken=token, inventory=stated).code == "OK"


def heard(case: Case, status: int, body: Any) -> None:
    """The answer to pools/create is what the table says of the case."""
    if case.verdict != "refused":
        assert (status, body["data"]["policy"]) == (200, case.policy), (case, body)
        return
    error = body["error"]
    assert (status, error["code"], error["field"]) == (400, "INVALID_INPUT", case.path), (case, body)
    assert error["message"].endswith(ended("", case.hint)), (case, body)


def update(plane: Plane, pool_id: str, policy: dict[str, Any]) -> str:
    """What pools/update and preflight/check say of a policy: nothing, or the hint of the one error."""
    body = {"tenantId": "root", "poolId": pool_id, "policy": policy}
    asked = [{"operation": "pools/update", "input": body}]
    (verdict,) = plane.ask("sa_fleet", "preflight/check", operations=asked).data["verdicts"]
    answer = plane.ask("sa_fleet", "pools/update", body)
    assert verdict["ok"] == (answer.code == "OK")
    if verdict["ok"]:
        return ""
    (problem,) = verdict["problems"]
    assert (answer.code, answer.error["field"]) == ("INVALID_INPUT", problem["path"])
    assert answer.error["message"] == ended(problem["message"], problem["hint"])
    return str(problem["hint"])


def ended(message: str, hint: str) -> str:
    """The message of an error: its hint ends it."""
    return f"{message}; {hint}" if hint else message


def test_each_value_of_each_field_is_taken_or_refused_as_the_table_says(fresh_plane: Path, tmp_path: Path) -> None:
    with attested(Path(shutil.copy(fresh_plane, tmp_path))) as plane:
        for case in cases():
            if case.alone:
                answer = plane.ask("sa_fleet", "pools/create", case.fields, siteId="site_fra1", policy=case.policy)
                heard(case, answer.raw.status, answer.value)


def test_over_a_socket_the_first_value_of_each_field_is_refused_alike(fresh_plane: Path, tmp_path: Path) -> None:
    first = {case.row: case for case in reversed(cases()) if case.alone and case.verdict == "refused"}
    assert len(first) > 60
    with (
        attested(Path(shutil.copy(fresh_plane, tmp_path))) as plane,
        served(plane.handle) as url,
        httpx.Client(base_url=url, headers=headers_of("sa_fleet")) as client,
    ):
        for case in first.values():
            body = {"tenantId": "root", "siteId": "site_fra1", **case.fields, "policy": case.policy}
            answer = client.post("/api/compute/pools/create", json=body)
            heard(case, answer.status_code, answer.json())


def test_a_warning_is_told_by_preflight(fresh_plane: Path, tmp_path: Path) -> None:
    warned = [case for case in cases() if case.alone and case.verdict == "warned"]
    site = {"tenantId": "root", "siteId": "site_fra1"}
    asked = [{"operation": "pools/create", "input": {**site, **case.fields, "policy": case.policy}} for case in warned]
    with attested(Path(shutil.copy(fresh_plane, tmp_path))) as plane:
        verdicts = plane.ask("sa_fleet", "preflight/check", operations=asked).data["verdicts"]
    for case, verdict in zip(warned, verdicts, strict=True):
        (problem,) = verdict["problems"]
        assert verdict["ok"]
        assert (problem["severity"], problem["path"], problem["hint"]) == ("warning", case.path, case.hint), case


@pytest.mark.parametrize("case", HOSTED, ids=str)
def test_an_update_is_judged_by_the_hosts_and_the_policy_that_are_there(plane: Plane, case: Case) -> None:
    pool_id = plane.pool(**case.fields, policy=case.before)
    for inventory in case.inventories:
        machine(plane, pool_id, **inventory)
    assert update(plane, pool_id, case.policy) == (case.hint if case.verdict == "refused" else "")


def test_the_smallest_host_decides_on_either_database(either: Plane) -> None:
    pool_id = either.pool()
    machine(either, pool_id, vcpu=64, memoryGiB=512)
    machine(either, pool_id, vcpu=128, memoryGiB=256)
    assert update(either, pool_id, {"hostReserve": {"vcpu": 64, "memoryGiB": 1}}) == "use 63"
    assert update(either, pool_id, {"hostReserve": {"vcpu": 1, "memoryGiB": 300}}) == "use 255"
    assert update(either, pool_id, {"hostReserve": {"vcpu": 63, "memoryGiB": 255}}) == ""


def test_the_hosts_are_asked_for_once_and_only_where_a_policy_is_judged(plane: Plane) -> None:
    pools = [plane.pool() for _ in range(3)]
    for pool_id in pools[:2]:
        machine(plane, pool_id, vcpu=64)

    def asked(operation: str, **body: Any) -> int:
        with counted() as statements:
            plane.ask("sa_fleet", operation, body)
        return len([statement for statement in statements if "min(" in statement])

    operations = [
        {"operation": "pools/update", "input": {"tenantId": "root", "poolId": pool_id, "policy": {"note": 1}}}
        for pool_id in pools
    ]
    assert asked("preflight/check", operations=operations) == 1
    assert asked("pools/update", poolId=pools[0], policy={"note": 1}) == 1
    assert asked("pools/update", poolId=pools[0], gpuModel="H100") == 0
    assert asked("pools/update", poolId=pools[2], policy={"note": 1}) == 0
    assert asked("pools/create", siteId="site_fra1", gpuModel="H100", policy={"hostReserve": {"vcpu": 1}}) == 0


def test_a_policy_for_hosts_that_cannot_be_booked_is_not_judged_by_them(plane: Plane) -> None:
    pool_id = plane.pool()
    plane.join(pool_id, "NVIDIA H100 Ultra")
    plane.join(pool_id, CARD, control="tenant", ownerTenantId="acme")
    assert update(plane, pool_id, {"hostReserve": {"vcpu": 1000}}) == ""


def test_the_nodes_of_a_pool_show_what_its_policy_configures(plane: Plane) -> None:
    pool_id = plane.pool(sharing="mps", policy={"gpu": {"slots": 4}, "iommu": "pt", "maxPending": "6h"})
    node_id = plane.join(pool_id, CARD)["id"]
    units = plane.ask("sa_fleet", "nodes/get", nodeId=node_id).data["configUnits"]
    assert units == [
        {"name": "iommu", "value": "pt"},
        {"name": "gpu", "value": {"slots": 4}},
        {"name": "sharing", "value": {"mode": "mps", "slots": 4}},
    ]


def test_a_validator_that_fails_is_bad_input_and_nothing_is_written(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Scope) -> list[Problem]:
        raise KeyError("hunter2")

    monkeypatch.setattr(validate, "RULES", (("maxPending", fail),))
    pool_id = plane.pool()
    answer = plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy={"maxPending": "6h"})
    assert (answer.code, answer.error["rule"]) == ("INVALID_INPUT", "policy.validator")
    assert answer.error["message"].startswith("policy: ")
    assert "hunter2" not in json.dumps(answer.error)
    assert plane.get(pool_id)["policy"] == {}
