"""Every method of the client, against a real control plane."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from better_compute.api.routes import ROUTES
from better_compute.bootstrap import Connection, Embedded, connect
from better_compute.client import Client
from better_compute.domain.commands import (
    ArchivePool,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.problems import ComputeError
from better_compute.domain.state import QuotaRow
from better_compute.wire.views import AtomsView
from tests.better_compute.client.conftest import Server, data, pool


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    world = tmp_path / "world.yaml"
    world.write_text("identities: [{id: sa_fleet, tenantId: root}]\n")
    with connect(Embedded(str(tmp_path / "plane.db"), world), tenant_id="root", caller="sa_fleet") as opened:
        yield opened


@pytest.fixture
def client(connection: Connection) -> Client:
    return connection.client


def test_each_operation_has_a_method(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    post = client.calls.http.post

    def noted(path: str, body: bytes, headers: dict[str, str]) -> object:
        asked.add(path.removeprefix("/api/compute/"))
        return post(path, body, headers)

    monkeypatch.setattr(client.calls.http, "post", noted)
    site = client.sites.create(name="Frankfurt", kind="shared", region="eu")
    assert client.sites.get(site.id) == client.sites.list()[0] == site
    account = client.provider_accounts.create(name="north")
    assert client.provider_accounts.list() == [account]
    tenant = client.tenants.create(tenant_id="acme")
    assert tenant.parent_id == "root"
    assert client.tenants.get("acme") == tenant
    assert [t.id for t in client.tenants.list()] == ["acme", "root"]
    identity = client.acting_as("acme").identities.create(identity_id="sa_acme")
    assert client.acting_as("acme").identities.list() == [identity]
    assert client.identities.whoami().identity_id == "sa_fleet"
    _credentials(client)
    _pools(client, site.id)
    assert client.usage.list(0, 1) == []
    assert client.system.info().capabilities == ["pool.origin"]
    assert asked == set(ROUTES)


def _credentials(client: Client) -> None:
    credential = client.credentials.create("sa_fleet", expires_at=4_000_000_000_000)
    assert str(credential.token).startswith("bc_")
    [listed] = client.credentials.list("sa_fleet")
    assert not listed.token
    assert client.credentials.revoke(credential.id).revoked_at


def _pools(client: Client, site_id: str) -> None:
    under = client.under({"fleet": "test"})
    create = CreatePool(tenant_id="root", pool_id="", site_id=site_id, class_="metal-host", gpu_model="H100")
    assert [v.ok for v in client.preflight.check([create])] == [True]
    pool = under.pools.create(create).pool
    update = UpdatePool(tenant_id="root", pool_id=pool.id, policy={"maxPending": "6h"}, expected_version=1)
    assert client.pools.update(update).version == 2
    offer = OfferPool(tenant_id="root", pool_id=pool.id, to_tenant_id="acme", quota={"gpu": 3}, expected_version=0)
    granted = client.pools.offer(offer)
    assert (granted.pool_id, granted.offer.tenant_id, granted.rows) == (pool.id, "acme", {"gpu": QuotaRow(3)})
    assert [o.to_tenant_id for o in client.pools.list_offers(pool.id)] == ["acme"]
    quota = SetQuota(tenant_id="root", pool_id=pool.id, to_tenant_id="acme", quota={"vcpu": 5})
    assert client.quotas.set(quota) == {"gpu": QuotaRow(3), "vcpu": QuotaRow(5)}
    assert [row.resource for row in client.quotas.list(pool.id, "acme")] == ["gpu", "vcpu"]
    assert client.pools.get(pool.id) == client.pools.list(ids=[pool.id]).items[0] == client.pools.all()[0][0]
    _nodes(client, pool.id)
    _reservations(client, pool.id)
    assert client.pools.unoffer(UnofferPool(tenant_id="root", pool_id=pool.id, to_tenant_id="acme")) is True
    assert client.pools.archive(ArchivePool(tenant_id="root", pool_id=pool.id)).archived
    page = client.events.list(types=["pool.*"], pool_ids=[pool.id], limit=2)
    assert page.items[0].via == {"fleet": "test"}
    assert page.next_cursor is not None
    assert len(client.events.all(after=page.items[0].sequence)) == page.sequence - 1
    newest = client.events.list(order="desc", limit=1).items
    assert newest == [event for event in client.events.all(latest=True) if event.type == "pool.archived"]


def _nodes(client: Client, pool_id: str) -> None:
    token = client.nodes.create_join_token(pool_id).join_token
    node = client.nodes.join(pool_id, join_token=token, inventory={"gpus": ["NVIDIA H100 80GB HBM3"]})
    assert client.nodes.list(pool_id)[0] == node
    assert client.nodes.get(node.id).devices == AtomsView(1)
    assert client.nodes.report(node.id, {"gpus": ["NVIDIA H100 80GB HBM3"], "vcpu": 8}).inventory.vcpu == 8
    assert client.nodes.set_control(node.id, control="tenant").control == "tenant"
    assert client.nodes.set_control(node.id, control="platform", owner_tenant_id=None).control == "platform"
    with pytest.raises(ComputeError, match="no join token"):
        client.nodes.join(pool_id, join_token=token, inventory={})
    gone = client.nodes.join(
        pool_id, join_token=client.nodes.create_join_token(pool_id).join_token, inventory={"vcpu": 4}
    )
    assert client.nodes.remove(gone.id) == gone
    assert client.pools.get(pool_id).rollup.gpus == 1


def _reservations(client: Client, pool_id: str) -> None:
    made = client.reservations.create(pool_id, {"gpu": 1}, selectors={"vramGiB": [80]}, idempotency_key="k")
    assert (made.state, made.selectors) == ("placed", {"vramGiB": [80]})
    running = client.reservations.create(pool_id, {"gpu": 1}, selectors={"vramGiB": 80}, idempotency_key="k")
    assert (running.id, running.state) == (made.id, "active")
    waiting = client.reservations.create(pool_id, {"gpu": 1})
    assert client.reservations.get(made.id) == running
    assert [r.id for r in client.reservations.list()] == sorted([made.id, waiting.id])
    assert client.reservations.list(pool_id, ["pending"]) == [waiting]
    rollup = client.pools.get(pool_id).rollup
    assert (rollup.work["root"].active, rollup.work["root"].pending_atoms) == (1, 1)
    assert rollup.resources["vcpu"].booked == 0
    for one in (made, waiting):
        assert client.reservations.end(one.id).state == "ended"


def test_lists_of_many_pages_come_whole(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("better_compute.client.walk.PAGE", 2)
    made = [client.sites.create(name=f"s{n}", kind="shared", region="eu") for n in range(5)]
    assert [site.id for site in client.sites.list()] == sorted(site.id for site in made)
    commands = [
        CreatePool(tenant_id="root", pool_id="", site_id=made[0].id, class_="metal-host", gpu_model="H100")
        for _ in range(7)
    ]
    ids = sorted(client.pools.create(command).pool.id for command in commands)
    states, sequence = client.pools.all()
    assert [state.pool.id for state in states if state.pool] == ids
    assert sequence == 7


POOL = pool(version=2)
P: dict[str, Any] = {"tenant_id": "root", "pool_id": "p"}
OFFER: dict[str, Any] = {
    "poolId": "p",
    "toTenantId": "acme",
    "priority": 0,
    "includeDescendants": False,
    "version": 1,
    "quotas": [],
}
CREDENTIAL = {"id": "cred_1", "identityId": "sa", "createdAt": 1, "revokedAt": 2}
IDENTITY = {"id": "sa", "tenantId": "root", "kind": "service", "createdAt": 1}
SITE = {"id": "site_a", "tenantId": "root", "name": "n", "kind": "shared", "region": "r"}
TENANT = {"id": "acme", "parentId": "root", "status": "active", "createdAt": 1}


def rows(*ids: tuple[str, str]) -> list[dict[str, Any]]:
    shared = {"resource": "gpu", "max": 1, "used": 0, "available": 1}
    return [{"poolId": pool_id, "tenantId": tenant_id, **shared} for pool_id, tenant_id in ids]


@pytest.mark.parametrize(
    ("call", "right", "wrong", "says"),
    [
        (
            lambda c: c.pools.create(CreatePool(**P, site_id="s", class_="metal-host", gpu_model="H100")),
            {**POOL, "quotas": rows(("p", "root"))},
            {**POOL, "quotas": rows(("p", "root"), ("p", "acme"))},
            "p for acme where a pool for root",
        ),
        (lambda c: c.pools.update(UpdatePool(**P, policy={})), POOL, {**POOL, "id": "q"}, "q where p"),
        (lambda c: c.pools.archive(ArchivePool(**P)), POOL, {**POOL, "id": "q"}, "q where p"),
        (lambda c: c.pools.get("p"), POOL, {**POOL, "id": "q"}, "q where p"),
        (
            lambda c: c.pools.offer(OfferPool(**P, to_tenant_id="acme", quota={})),
            OFFER,
            {**OFFER, "poolId": "q"},
            "q for acme where p for acme",
        ),
        (
            lambda c: c.pools.offer(OfferPool(**P, to_tenant_id="acme", quota={})),
            {**OFFER, "quotas": rows(("p", "acme"))},
            {**OFFER, "toTenantId": "globex"},
            "p for globex where p for acme",
        ),
        (
            lambda c: c.pools.offer(OfferPool(**P, to_tenant_id="acme", quota={})),
            OFFER,
            {**OFFER, "quotas": rows(("p", "globex"))},
            "p for globex where p for acme",
        ),
        (
            lambda c: c.quotas.set(SetQuota(**P, to_tenant_id="acme", quota={"gpu": 1})),
            {"items": rows(("p", "acme"))},
            {"items": rows(("p", "acme"), ("q", "acme"))},
            "q for acme where p for acme",
        ),
        (
            lambda c: c.quotas.set(SetQuota(**P, to_tenant_id="acme", quota={"gpu": 1})),
            {"items": []},
            {"items": rows(("p", "root"))},
            "p for root where p for acme",
        ),
        (lambda c: c.sites.get("site_a"), SITE, {**SITE, "id": "site_b"}, "site_b where site_a"),
        (lambda c: c.tenants.get("acme"), TENANT, {**TENANT, "id": "globex"}, "globex where acme"),
        (lambda c: c.tenants.create(tenant_id="acme"), TENANT, {**TENANT, "id": "globex"}, "globex where acme"),
        (lambda c: c.identities.create(identity_id="sa"), IDENTITY, {**IDENTITY, "id": "sb"}, "sb where sa"),
        (lambda c: c.credentials.revoke("cred_1"), CREDENTIAL, {**CREDENTIAL, "id": "cred_2"}, "cred_2 where cred_1"),
    ],
)
def test_an_answer_about_another_object_is_refused(
    server: Server, connect: Any, call: Callable[[Client], object], right: Any, wrong: Any, says: str
) -> None:
    server.script = [data(right), data(wrong)]
    call(connect(server.url))
    with pytest.raises(ComputeError) as caught:
        call(connect(server.url))
    problem = caught.value.problems[0]
    assert problem.message == f"the server answered with {says} was asked for"
    assert (problem.code, problem.rule) == ("CONFLICT", "client.answer")


def test_an_id_that_was_left_to_the_server_is_taken_as_it_comes(server: Server, connect: Any) -> None:
    server.script = [data(IDENTITY), data(TENANT)]
    assert connect(server.url).identities.create().id == "sa"
    assert connect(server.url).tenants.create().id == "acme"


def test_another_objects_name_is_told_as_far_as_it_may_be(server: Server, connect: Any) -> None:
    server.script = [data({**SITE, "id": "https://u:HUNTER2@h/" + "x" * 5000})]
    with pytest.raises(ComputeError, match=r"the server answered with https://\(sensitive\)@h/xxx") as caught:
        connect(server.url).sites.get("site_a")
    assert len(str(caught.value)) < 3000
