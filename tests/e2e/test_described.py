"""The served control plane keeps to its own description, whatever it is asked: no 5xx, no answer that is not in it."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks as described

from better_compute.api.errors import STATUS
from better_compute.api.openapi import build
from tests.e2e.conftest import Server, serving

EXAMPLES = 25
OPERATIONS = sorted(build()["paths"])
CODES = ("OK", *STATUS)
CHECKS = (
    checks.not_a_server_error,
    described.status_code_conformance,
    described.content_type_conformance,
    described.response_headers_conformance,
    described.response_schema_conformance,
)
WORLD = """\
tenants: [{id: acme}, {id: globex}]
sites:
  - {id: site_fra1, tenantId: root, kind: shared, region: eu-central}
  - {id: site_acme, tenantId: acme, kind: custom, region: eu-west}
identities: [{id: sa_fleet, tenantId: root}, {id: sa_acme, tenantId: acme}]
providerAccounts: [{id: pa_north, tenantId: root}]
machines:
  - {pool: fra1, count: 2, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192, memoryGiB: 2048}
"""


@dataclass
class Site:
    """A server with a little of everything, and the ids of what there is: without them all would be NOT_FOUND."""

    http: httpx.Client
    description: dict[str, Any]
    ids: dict[str, list[str]] = field(default_factory=dict)
    codes: Counter[str] = field(default_factory=Counter)

    def ask(self, operation: str, **body: Any) -> Any:
        response = self.http.post(f"/api/compute/{operation}", json={"tenantId": "root", **body})
        assert response.status_code == 200, response.text
        return response.json()["data"]

    def filled(self, body: Any, chance: random.Random) -> Any:
        """The body, with ids of what there is in most places where one belongs."""
        if not isinstance(body, dict):
            return body
        real = {name: chance.choice(ids) for name, ids in self.ids.items() if name in body and chance.random() < 0.8}
        return {**body, **real}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("described")
    (folder / "world.yaml").write_text(WORLD)
    with serving(f"sqlite:///{folder / 'plane.db'}", "--world", str(folder / "world.yaml")) as server:
        yield from _opened(server)


def _opened(server: Server) -> Iterator[Site]:
    headers = {"authorization": f"Bearer {server.token('sa_fleet')}", "x-better-compute": "1"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        site = Site(http, http.get("/openapi.json").json())
        made = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"}
        pools = [site.ask("pools/create", **made, idempotencyKey=key)["id"] for key in ("fra1", "spare", "gone")]
        site.ask("pools/offer", poolId=pools[0], toTenantId="acme", quota={"gpu": 8})
        site.ask("pools/archive", poolId=pools[2])
        booked = [site.ask("reservations/create", poolId=pools[0], resources={"gpu": n})["id"] for n in (1, 2, 16)]
        nodes = [node["id"] for node in site.ask("nodes/list", poolId=pools[0])["items"]]
        assert nodes
        site.ids = {
            "tenantId": ["root", "acme"],
            "toTenantId": ["acme", "globex"],
            "ownerTenantId": ["acme"],
            "poolId": pools,
            "siteId": ["site_fra1", "site_acme"],
            "nodeId": nodes,
            "reservationId": booked,
            "providerAccountId": ["pa_north"],
            "identityId": ["sa_acme"],
            "callerId": ["sa_fleet"],
            "parentId": ["root", "acme"],
        }
        yield site


def probe(site: Site, description: dict[str, Any], path: str) -> None:
    """Ask one operation many things that its description allows. Raises where an answer is not described."""
    schema: Any = schemathesis.openapi.from_dict(description)
    [operation] = [found.ok() for found in schema.get_all_operations() if found.ok().path == path]
    [answers] = [method["responses"] for method in description["paths"][path].values()]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        case.body = site.filled(case.body, random.Random(repr(case.body)))
        case.headers = {"authorization": site.http.headers["authorization"], "x-better-compute": "1"}
        response = case.call(base_url=str(site.http.base_url).rstrip("/"))
        case.validate_response(response, checks=list(CHECKS))
        code = "OK" if response.status_code == 200 else json.loads(response.content)["error"]["code"]
        said = answers[str(response.status_code)]["description"].split(", ")
        assert code == "OK" or code in said, (path, case.body, response.text)
        site.codes[f"{path} {code}"] += 1

    ask()


def test_every_answer_is_described(site: Site) -> None:
    for path in OPERATIONS:
        probe(site, site.description, path)
    # It is of no use to be refused at the door only.
    found = {path: {code for code in CODES if site.codes[f"{path} {code}"]} for path in OPERATIONS}
    assert len([path for path in OPERATIONS if "OK" in found[path]]) >= len(OPERATIONS) * 2 // 3, found
    assert set().union(*found.values()) >= {"INVALID_INPUT", "NOT_FOUND", "INVALID_STATE", "CONFLICT"}, found


@pytest.mark.parametrize("missing", ["404", "schema", "code"])
def test_an_answer_that_is_not_described_is_found(site: Site, missing: str) -> None:
    description = deepcopy(site.description)
    answers = description["paths"]["/api/compute/pools/get"]["post"]["responses"]
    if missing == "404":
        del answers["404"]
    elif missing == "code":
        answers["404"]["description"] = "GONE"
    else:
        description["components"]["schemas"]["PoolView"]["properties"]["version"] = {"type": "string"}
    with pytest.raises((AssertionError, FailureGroup)):
        probe(site, description, "/api/compute/pools/get")
