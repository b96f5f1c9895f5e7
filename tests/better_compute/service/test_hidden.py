"""What a stranger gets for a hidden object is, byte for byte, what it gets for an absent one (invariant 9)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from better_compute.wire.message import Request
from tests.better_compute.plane import CARD, H100, Plane, headers_of
from tests.statements import counted

ABSENT = "pool_7zzzzzzzzzzzzzzzzzzzzzzzzz"

POOL_METHODS: dict[str, dict[str, Any]] = {
    "pools/get": {"include": ["offers", "rollup"]},
    "pools/update": {"gpuModel": "H200", "expectedVersion": 9},
    "pools/offer": {"toTenantId": "umbrella", "quota": {"gpu": 1}, "expectedVersion": 9},
    "pools/unoffer": {"toTenantId": "acme"},
    "pools/listOffers": {},
    "pools/archive": {"expectedVersion": 9},
    "quotas/set": {"toTenantId": "acme", "quota": {"gpu": 1}},
    "quotas/list": {},
    "nodes/createJoinToken": {},
    "nodes/list": {},
    "reservations/create": {"resources": {"gpu": 1}, "idempotencyKey": "k"},
    "reservations/list": {},
    "nodes/join": {"joinToken": "bcj_made-up", "inventory": {"gpus": []}},
}


def raw(plane: Plane, operation: str, body: Mapping[str, Any], who: str = "sa_globex") -> tuple[int, bytes]:
    """Status and bytes of the answer to a stranger."""
    given = json.dumps({"tenantId": "globex", **body}).encode()
    answer = plane.handle(Request("POST", f"/api/compute/{operation}", headers_of(who), given))
    return answer.status, answer.body


@pytest.fixture
def hidden(plane: Plane) -> list[str]:
    """Pools that a stranger does not see: one of another, one of another that is offered to others, one it was once
    offered that is archived, one that it was once offered and is no more, and one archived and never offered."""
    alone, offered, archived, withdrawn, gone = (plane.pool() for _ in range(5))
    plane.offer(offered)
    for pool_id in (archived, withdrawn):
        plane.offer(pool_id, "globex")
    for pool_id in (archived, gone):
        plane.ask("sa_fleet", "pools/archive", poolId=pool_id)
    plane.ask("sa_fleet", "pools/unoffer", poolId=withdrawn, toTenantId="globex")
    return [alone, offered, archived, withdrawn, gone]


@pytest.mark.parametrize("operation", POOL_METHODS)
def test_a_hidden_pool_is_as_an_absent_one(plane: Plane, hidden: list[str], operation: str) -> None:
    absent = raw(plane, operation, {**POOL_METHODS[operation], "poolId": ABSENT})
    assert absent[0] == (403 if operation == "nodes/join" else 404)
    for pool_id in hidden:
        assert raw(plane, operation, {**POOL_METHODS[operation], "poolId": pool_id}) == absent


@pytest.mark.parametrize("operation", POOL_METHODS)
def test_a_hidden_pool_costs_what_an_absent_one_costs(plane: Plane, hidden: list[str], operation: str) -> None:
    """The same statements to the database: so time tells nothing either."""

    def statements(pool_id: str) -> list[str]:
        with counted() as seen:
            raw(plane, operation, {**POOL_METHODS[operation], "poolId": pool_id})
        return seen

    expected = statements(ABSENT)
    assert expected
    for pool_id in hidden:
        assert statements(pool_id) == expected


def test_a_list_of_hidden_pools_is_as_one_of_absent_ones(plane: Plane, hidden: list[str]) -> None:
    assert raw(plane, "pools/list", {"ids": hidden}) == raw(plane, "pools/list", {"ids": [ABSENT]})


def test_a_site_of_another_is_as_an_absent_one(plane: Plane) -> None:
    answers = {raw(plane, "pools/create", {**H100, "siteId": site}) for site in ("site_fra1", "site_acme", "site_none")}
    assert [status for status, _ in answers] == [404]
    assert len({raw(plane, "sites/get", {"siteId": site}) for site in ("site_fra1", "site_none")}) == 1


def test_an_account_of_another_is_as_an_absent_one(plane: Plane) -> None:
    provider = {**H100, "siteId": "site_globex", "class": "provider", "agent": "none"}
    answers = {raw(plane, "pools/create", {**provider, "providerAccountId": a}) for a in ("pa_north", "pa_none")}
    assert [status for status, _ in answers] == [404]


def test_a_key_of_another_caller_tells_nothing(plane: Plane) -> None:
    """The same key makes a pool of one's own, whoever used it before."""
    plane.pool("sa_acme", idempotencyKey="k")
    made = plane.ask("sa_globex", "pools/create", {**H100, "siteId": "site_globex", "idempotencyKey": "k"})
    assert made.data["ownerTenantId"] == "globex"


def test_a_reservation_of_another_is_as_an_absent_one_and_costs_as_much(plane: Plane) -> None:
    offered = plane.pool()
    plane.offer(offered, "globex")
    plane.offer(offered, "acme")
    made = [plane.reserve(pool_id, who)["id"] for pool_id, who in ((plane.pool(), "sa_fleet"), (offered, "sa_acme"))]
    for operation in ("reservations/get", "reservations/end"):
        found = []
        for reservation_id in ("rsv_none", *made):
            with counted() as statements:
                answer = raw(plane, operation, {"reservationId": reservation_id})
            found.append((answer, statements))
        assert found[0][0][0] == 404
        assert found[1:] == found[:1] * 2


def test_a_node_of_another_is_as_an_absent_one_and_costs_as_much(plane: Plane) -> None:
    offered = plane.pool()
    plane.offer(offered, "globex")
    nodes = [plane.join(pool_id, CARD)["id"] for pool_id in (plane.pool(), offered)]
    found = []
    for node_id in ("node_none", *nodes):
        with counted() as statements:
            answer = raw(plane, "nodes/get", {"nodeId": node_id})
        found.append((answer, statements))
    assert found[0][0][0] == 404
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("operation", ["pools/list", "pools/get", "pools/create", "events/list", "sites/list"])
def test_acting_as_another_tenant_is_denied_whether_or_not_it_exists(plane: Plane, operation: str) -> None:
    body: dict[str, Any] = {"pools/get": {"poolId": ABSENT}, "pools/create": H100}.get(operation, {})
    tenants = ("root", "acme", "acme-eu", "sleepy", "nobody")
    answers = {raw(plane, operation, {**body, "tenantId": tenant}) for tenant in tenants}
    assert [status for status, _ in answers] == [403]


def test_acting_as_a_descendant_is_denied(plane: Plane) -> None:
    assert raw(plane, "pools/list", {"tenantId": "acme-eu"}, who="sa_acme")[0] == 403


def test_the_rights_of_a_strangers_identity_are_those_of_an_unknown_one(plane: Plane) -> None:
    def asked(caller_id: str) -> tuple[int, bytes]:
        operation = {"operation": "pools/archive", "input": {"tenantId": "globex", "poolId": ABSENT}}
        return raw(plane, "preflight/check", {"operations": [operation], "callerId": caller_id})

    assert asked("sa_acme") == asked("sa_fleet") == asked("nobody")
    assert asked("sa_globex") != asked("nobody")


CURSORS: dict[str, Callable[[str], list[str]]] = {
    "pools/listOffers": lambda pool_id: [pool_id, "a"],
    "quotas/list": lambda pool_id: [pool_id, "a", "a"],
    "reservations/list": lambda pool_id: [pool_id, "a"],
}


@pytest.mark.parametrize("operation", CURSORS)
def test_a_made_up_cursor_opens_no_pool(plane: Plane, hidden: list[str], operation: str) -> None:
    from better_compute.service.pages import encode_cursor

    answers = [
        raw(plane, operation, {"cursor": encode_cursor(operation, CURSORS[operation](pool_id))})
        for pool_id in (ABSENT, *hidden)
    ]
    assert {status for status, _ in answers} == {200}
    assert len(set(answers)) == 1
