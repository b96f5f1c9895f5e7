"""Kind j: what the control plane must not do, asked over a real socket."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from better_compute.domain.problems import ComputeError
from tests.e2e.conftest import Server, serving
from tests.e2e.homes import H100, Home, entry, pool_id


def test_k085_writers_at_once_wait_for_each_other(home: Home) -> None:
    """Offers read a quota and then write; none of them may find the database locked."""
    home.wish(*(entry(f"fra1-{n}", "unmanaged") for n in range(4)))
    home.apply()
    tenants = ("acme", "globex", "initech", "umbrella", "no")
    with serving(f"sqlite:///{home.database}") as server, server.connect() as fleet, home.hand() as hand:
        # The hand writes beside the server, as another process on the same file.
        calls: list[tuple[Any, str, dict[str, Any]]] = []
        for n in range(4):
            pool = {"poolId": pool_id(f"fra1-{n}")}
            calls += [
                (fleet.client.call, "pools/offer", {**pool, "toTenantId": t, "quota": {"gpu": 8}}) for t in tenants
            ]
            calls += [
                (hand.call, "quotas/set", {**pool, "toTenantId": "root", "quota": {"gpu": m}}) for m in range(1, 6)
            ]
            calls += [(fleet.client.call, "pools/update", {**pool, "policy": {"round": m}}) for m in range(5)]
        with ThreadPoolExecutor(20) as executor:
            list(executor.map(lambda call: call[0](*call[1:]), calls))
        events = fleet.client.events.all(after=4)
    assert [event.sequence for event in events] == list(range(5, 5 + len(calls)))


@pytest.fixture
def server(home: Home) -> Any:
    """Pools of root, one of them offered to acme once, and one that is archived."""
    home.wish(entry("hidden", {"acme": 8}), entry("once", {"acme": 8}), entry("gone", {"acme": 8}))
    home.apply()
    home.wish(entry("hidden", []), entry("once", []), {"idempotencyKey": "gone", "archived": True})
    home.apply()
    with serving(f"sqlite:///{home.database}") as running:
        yield running


METHODS: dict[str, dict[str, Any]] = {
    "pools/get": {},
    "pools/update": {"policy": {}},
    "pools/offer": {"toTenantId": "globex", "quota": {"gpu": 1}},
    "pools/unoffer": {"toTenantId": "globex"},
    "pools/archive": {},
    "pools/listOffers": {},
    "quotas/set": {"toTenantId": "acme", "quota": {"gpu": 1}},
    "nodes/createJoinToken": {},
}


def asked(server: Server, token: str, operation: str, body: dict[str, Any]) -> tuple[int, bytes]:
    """The raw answer, to the byte."""
    request = urllib.request.Request(
        f"{server.url}/api/compute/{operation}",
        json.dumps({"tenantId": "acme", **body}).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "X-Better-Compute": "1",
            "X-Request-Id": "same",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_k086_what_is_hidden_cannot_be_told_from_what_is_not(server: Server) -> None:
    token = server.token("sa_acme")
    foreign = [pool_id(key) for key in ("hidden", "once", "gone")]
    for operation, body in METHODS.items():
        answers = {asked(server, token, operation, {"poolId": pool, **body}) for pool in [*foreign, "pool_made-up"]}
        assert len(answers) == 1, (operation, answers)
        [(status, said)] = answers
        assert (status, json.loads(said)["error"]["code"]) == (404, "NOT_FOUND"), operation


def test_k086_a_site_of_another_tenant_is_not_there(server: Server) -> None:
    token = server.token("sa_acme")
    bodies = [{**H100, "siteId": site, "idempotencyKey": "k"} for site in ("site_fra1", "site_made-up")]
    answers = {asked(server, token, "pools/create", body) for body in bodies}
    assert len(answers) == 1
    assert answers.pop()[0] == 404


def test_k086_the_key_of_another_caller_says_nothing(server: Server) -> None:
    """The same key of another caller is another pool."""
    with server.connect("sa_acme", "acme") as connection:
        made = connection.client.call("pools/create", {**H100, "siteId": "site_acme", "idempotencyKey": "hidden"})
        assert made["id"] == pool_id("hidden", "sa_acme", "acme")
        with pytest.raises(ComputeError) as caught:
            connection.client.pools.get(pool_id("hidden"))
    assert caught.value.code == "NOT_FOUND"
