"""Requests that both doors of the API must answer alike: (name, method, path, headers, body), to be sent in order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from better_compute.wire.message import BODY_LIMIT
from tests.better_compute.plane import H100

POOL = "pool_41ajr0h7xph5z9bavercrty41f"
"""What `sa_fleet` and the key of the first request derive."""


@dataclass(frozen=True)
class Sent:
    """A request; `headers` replace the usual ones, and one of None is left out."""

    name: str
    operation: str = "pools/list"
    body: bytes | dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str | None] = field(default_factory=dict)
    who: str = "sa_fleet"
    method: str = "POST"
    path: str | None = None

    @property
    def target(self) -> str:
        return f"/api/compute/{self.operation}" if self.path is None else self.path

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        tenant = {"sa_acme": "acme", "sa_globex": "globex"}.get(self.who, "root")
        return json.dumps({"tenantId": tenant, **self.body}).encode()

    @property
    def header_lines(self) -> list[tuple[str, str]]:
        usual: dict[str, str | None] = {
            "Authorization": f"Bearer bc_{self.who}",
            "Content-Type": "application/json",
            "X-Better-Compute": "1",
            "X-Request-Id": "row-" + self.name.replace(" ", "-"),
        }
        return [(name, value) for name, value in {**usual, **self.headers}.items() if value is not None]


def write(name: str, operation: str, who: str = "sa_fleet", **body: Any) -> Sent:
    return Sent(name, operation, body, who=who)


def padded(size: int) -> bytes:
    """An input of exactly so many bytes."""
    return b'{"tenantId": "root"' + b" " * (size - 20) + b"}"


TABLE = [
    write("create", "pools/create", **H100, idempotencyKey="pool-fra1-h100", policy={"maxPending": "6h"}),
    write("create again", "pools/create", **H100, idempotencyKey="pool-fra1-h100", policy={"maxPending": "6h"}),
    write("conflict", "pools/create", **{**H100, "siteId": "site_ams2"}, idempotencyKey="pool-fra1-h100"),
    write("offer", "pools/offer", poolId=POOL, toTenantId="acme", quota={"gpu": 32}, priority=10),
    write("version conflict", "pools/offer", poolId=POOL, toTenantId="acme", quota={"gpu": 1}, expectedVersion=9),
    write("inactive", "pools/offer", poolId=POOL, toTenantId="sleepy", quota={"gpu": 1}),
    write("list", "pools/list", include=["offers", "rollup"]),
    write("list as acme", "pools/list", "sa_acme"),
    write("hidden", "pools/get", "sa_globex", poolId=POOL),
    write("absent", "pools/get", poolId="pool_none"),
    write("denied", "tenants/list", "sa_acme"),
    write("unknown field", "pools/get", poolID=POOL),
    write("events", "events/list", order="desc", limit=1),
    write("preflight", "preflight/check", operations=[{"operation": "pools/archive", "input": {}}]),
    Sent("named change", "pools/update", {"poolId": POOL, "gpuModel": "H200"}, {"X-Better-Compute-Change": '{"f":1}'}),
    Sent("wrong change", headers={"X-Better-Compute-Change": "f"}),
    Sent("no token", headers={"Authorization": None}),
    Sent("wrong token", headers={"Authorization": "Bearer bc_nobody"}),
    Sent("other scheme", headers={"Authorization": "Basic c2FfZmxlZXQ6"}),
    Sent("no content type", headers={"Content-Type": None}),
    Sent("other content type", headers={"Content-Type": "text/plain"}),
    Sent("content type with charset", headers={"Content-Type": 'Application/JSON; charset="UTF-8"'}),
    Sent("other charset", headers={"Content-Type": "application/json; charset=latin-1"}),
    Sent("no marker", headers={"X-Better-Compute": None}),
    Sent("other marker", headers={"X-Better-Compute": "2"}),
    Sent("no body", body=b""),
    Sent("not JSON", body=b"{"),
    Sent("a list", body=b"[]"),
    Sent("a key twice", body=b'{"tenantId": "root", "tenantId": "root"}'),
    Sent("NaN", body=b'{"tenantId": NaN}'),
    Sent("deep", body=b"[" * 200_000),
    Sent("at the limit", body=padded(BODY_LIMIT)),
    Sent("over the limit", body=padded(BODY_LIMIT + 1)),
    Sent("well over the limit", body=padded(BODY_LIMIT * 3)),
    Sent("wrong method", method="PUT"),
    Sent("get of an operation", method="GET", body=b""),
    Sent("no such operation", "pools/destroy"),
    Sent("no such group", "tools/list"),
    Sent("slash at the end", "pools/list/"),
    Sent("escaped path", path="/api/compute/pools%2Flist"),
    Sent("escaped line feed", path="/api/compute/%0Apools/list"),
    Sent("query", path="/api/compute/pools/list?limit=1"),
    Sent("root", path="/", method="GET", body=b""),
    Sent("not built: metrics", path="/metrics", method="GET", body=b""),
    Sent("not built: docs", path="/docs", method="GET", body=b""),
    Sent("health", path="/health", method="GET", body=b"", headers={"Authorization": None}),
    Sent("health by post", path="/health"),
    Sent("description", path="/openapi.json", method="GET", body=b"", headers={"Authorization": None}),
    write("withdraw", "pools/unoffer", poolId=POOL, toTenantId="acme"),
    write("withdraw again", "pools/unoffer", poolId=POOL, toTenantId="acme"),
    write("archive", "pools/archive", poolId=POOL),
    write("archived", "pools/offer", poolId=POOL, toTenantId="acme", quota={"gpu": 1}),
]
