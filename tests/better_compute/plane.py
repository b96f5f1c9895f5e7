"""A control plane on a real database for tests: its people, its sites, and a way to ask it things."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from better_compute.api.handle import handler
from better_compute.api.routes import COMMON, ROUTES
from better_compute.domain.facts import Site, TenantStatus
from better_compute.iam import OwnTenant, Tokens
from better_compute.service.actions import ACTIONS
from better_compute.service.core import Service
from better_compute.service.ports import Account, Credential, Entropy, Identity, Store, Tenant, Tx
from better_compute.service.tokens import digest
from better_compute.storage.store import open_store
from better_compute.wire.message import Handle, Request, Response

START = 1_796_000_000_000
"""Epoch milliseconds at which a plane's time begins."""

TENANTS: dict[str, str | None] = {
    "root": None,
    "acme": "root",
    "acme-eu": "acme",
    "globex": "root",
    "sleepy": "root",
    "umbrella": "root",
}
IDENTITIES = {
    "sa_fleet": "root",
    "sa_other": "root",
    "sa_acme": "acme",
    "sa_acme2": "acme",
    "sa_eu": "acme-eu",
    "sa_globex": "globex",
}
SITES = {"site_fra1": "root", "site_ams2": "root", "site_acme": "acme", "site_globex": "globex"}
ACCOUNTS = {"pa_north": "root", "pa_south": "root", "pa_acme": "acme"}

CARD = "NVIDIA H100 80GB HBM3"
"""What a driver calls an H100."""

H100 = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"}
"""The least that pools/create needs."""

BODIES: dict[str, dict[str, Any]] = {operation: {} for operation in ACTIONS} | {
    "pools/create": {**H100, "siteId": "site_acme"},
    "pools/get": {"poolId": "x"},
    "pools/update": {"poolId": "x", "gpuModel": "H200"},
    "pools/offer": {"poolId": "x", "toTenantId": "globex", "quota": {}},
    "pools/unoffer": {"poolId": "x", "toTenantId": "globex"},
    "pools/archive": {"poolId": "x"},
    "quotas/set": {"poolId": "x", "toTenantId": "globex", "quota": {}},
    "preflight/check": {"operations": []},
    "sites/create": {"name": "Amsterdam", "kind": "custom", "region": "eu"},
    "sites/get": {"siteId": "site_acme"},
    "providerAccounts/create": {"name": "North"},
    "nodes/createJoinToken": {"poolId": "x"},
    "nodes/join": {"poolId": "x", "joinToken": "t", "inventory": {"gpus": []}},
    "nodes/list": {"poolId": "x"},
    "nodes/get": {"nodeId": "x"},
    "nodes/report": {"nodeId": "x", "inventory": {}},
    "nodes/setControl": {"nodeId": "x", "control": "tenant"},
    "nodes/remove": {"nodeId": "x"},
    "reservations/create": {"poolId": "x", "resources": {"gpu": 1}},
    "reservations/get": {"reservationId": "x"},
    "reservations/end": {"reservationId": "x"},
    "usage/list": {"from": 0, "to": 1},
    "tenants/create": {"id": "t"},
    "tenants/get": {"id": "acme"},
    "credentials/create": {"identityId": "sa_acme"},
    "credentials/list": {"identityId": "sa_acme"},
    "credentials/revoke": {"credentialId": "cred_sa_acme2"},
}
"""An input that each operation understands, without the tenant."""


@dataclass
class Time:
    """A clock that stands still until it is moved; or `ticks` so far each time that it is read."""

    now: int = START
    ticks: int = 0
    passed: float = 0.0

    def stopwatch(self) -> float:
        """Seconds that passed, wherever the clock was moved to."""
        return self.passed

    def __call__(self) -> int:
        self.now += self.ticks
        return self.now


@dataclass(frozen=True)
class Answer:
    raw: Response
    value: Any

    @property
    def data(self) -> Any:
        assert self.raw.status == 200, self.value
        return self.value["data"]

    @property
    def error(self) -> dict[str, Any]:
        assert self.raw.status != 200, self.value
        found: dict[str, Any] = self.value["error"]
        return found

    @property
    def code(self) -> str:
        """The error's code, `OK` for a success."""
        return "OK" if self.raw.status == 200 else str(self.error["code"])


@dataclass
class Plane:
    """Every request goes through the handler, as a client's would."""

    store: Store
    time: Time = field(default_factory=Time)
    entropy: Entropy = os.urandom

    def __post_init__(self) -> None:
        self.service = Service(
            store=self.store,
            authorizer=OwnTenant(),
            clock=self.time,
            stopwatch=self.time.stopwatch,
            entropy=self.entropy,
        )
        self.handle: Handle = handler(self.service, Tokens(self.store, self.time))

    def ask(
        self, who: str, operation: str, body: Mapping[str, Any] | None = None, /, via: Any = None, **more: Any
    ) -> Answer:
        """Ask as an identity; it acts as its own tenant unless the body says otherwise."""
        given = {"tenantId": IDENTITIES.get(who, "root"), **(body or {}), **more}
        headers = headers_of(who) | ({} if via is None else {"x-better-compute-change": json.dumps(via)})
        answer = self.send(Request("POST", f"/api/compute/{operation}", headers, json.dumps(given).encode()))
        if answer.raw.status != 200:
            assert answer.code in (*COMMON, *ROUTES[operation].codes), f"{operation} does not declare {answer.code}"
        return answer

    def send(self, request: Request) -> Answer:
        raw = self.handle(request)
        return Answer(raw, json.loads(raw.body))

    def pool(self, who: str = "sa_fleet", /, **more: Any) -> str:
        """The id of a new pool."""
        body = {**H100, **({"siteId": "site_acme"} if IDENTITIES[who] == "acme" else {}), **more}
        made: str = self.ask(who, "pools/create", body).data["id"]
        return made

    def offer(self, pool_id: str, tenant_id: str = "acme", /, **more: Any) -> Any:
        """An offer of a pool of root's."""
        body = {"poolId": pool_id, "toTenantId": tenant_id, "quota": {"gpu": 8}, **more}
        return self.ask("sa_fleet", "pools/offer", body).data

    def get(self, pool_id: str, who: str = "sa_fleet") -> Any:
        return self.ask(who, "pools/get", poolId=pool_id, include=["offers", "rollup"]).data

    def events(self, tenant_id: str = "root", **more: Any) -> list[Any]:
        found: list[Any] = self.ask("sa_fleet", "events/list", tenantId=tenant_id, limit=1000, **more).data["items"]
        return found

    def reserve(self, pool_id: str, who: str = "sa_acme", /, **more: Any) -> Any:
        """A reservation in a pool, of one GPU unless more is said."""
        return self.ask(who, "reservations/create", {"poolId": pool_id, "resources": {"gpu": 1}, **more}).data

    def book(self, pool_id: str, who: str = "sa_acme", /, **resources: int) -> str:
        """The id of a reservation that has a place."""
        made = self.reserve(pool_id, who, resources=resources or {"gpu": 1})
        assert made["state"] == "placed"
        return str(made["id"])

    def end(self, reservation_id: str, who: str = "sa_acme") -> Any:
        """The reservation, which is over now."""
        return self.ask(who, "reservations/end", reservationId=reservation_id).data

    def used(self, pool_id: str, tenant_id: str = "acme") -> dict[str, int]:
        """What a tenant has booked in a pool of root's: resource -> how much, where there is any."""
        rows = self.ask("sa_fleet", "quotas/list", poolId=pool_id, toTenantId=tenant_id).data["items"]
        return {row["resource"]: row["used"] for row in rows if row["used"]}

    def hosts_pool(self, *hosts: int, quota: Mapping[str, int] | None = None, **more: Any) -> str:
        """A pool of root's that acme is offered, with hosts of so many GPUs."""
        pool_id = self.pool(**more)
        for gpus in hosts:
            self.join(pool_id, *[CARD] * gpus)
        self.offer(pool_id, quota=quota or {"gpu": 100, "vcpu": 1000, "memoryGiB": 10_000})
        return pool_id

    def join(self, pool_id: str, *gpus: str, who: str = "sa_fleet", **more: Any) -> Any:
        """The node that a machine becomes in a pool of root's."""
        return self.try_join(pool_id, *gpus, who=who, **more).data

    def try_join(self, pool_id: str, *gpus: str, who: str = "sa_fleet", **more: Any) -> Answer:
        """A machine comes with a fresh join token of the pool."""
        token = self.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).data["joinToken"]
        inventory = {"gpus": list(gpus), "vcpu": 192, "memoryGiB": 2048}
        return self.ask(who, "nodes/join", poolId=pool_id, joinToken=token, inventory=inventory, **more)


def headers_of(who: str) -> dict[str, str]:
    return {
        "authorization": f"Bearer bc_{who}",
        "content-type": "application/json",
        "x-better-compute": "1",
        "x-request-id": "a-test",
    }


def open_plane(url: str, wait_seconds: float = 20.0, entropy: Entropy = os.urandom) -> Plane:
    """The plane on a database; a new one gets its people and sites."""
    clock = Time()
    store = open_store(url, clock=clock, sleep=time.sleep, entropy=entropy, wait_seconds=wait_seconds)
    if store.view(lambda tx: tx.tenant("root")) is None:
        store.transact(_populate)
    return Plane(store, clock, entropy)


def _populate(tx: Tx) -> None:
    for tenant_id, parent in TENANTS.items():
        status: TenantStatus = "inactive" if tenant_id == "sleepy" else "active"
        key = digest(f"key of {tenant_id}")
        tx.add_tenant(Tenant(id=tenant_id, parent_id=parent, status=status, digest_key=key, created_at=START))
    for identity_id, tenant_id in IDENTITIES.items():
        tx.add_identity(Identity(id=identity_id, tenant_id=tenant_id, kind="service", created_at=START))
        token = digest(f"bc_{identity_id}")
        tx.put_credential(
            Credential(id=f"cred_{identity_id}", identity_id=identity_id, token_hash=token, created_at=START)
        )
    for site_id, tenant_id in SITES.items():
        tx.add_site(Site(site_id, tenant_id, "shared" if tenant_id == "root" else "custom", "eu-central", site_id))
    for account_id, tenant_id in ACCOUNTS.items():
        tx.add_account(Account(id=account_id, tenant_id=tenant_id, name=account_id))
