from __future__ import annotations

from typing import Any

import msgspec

from better_compute.domain.state import Offer, Pool, PoolState, Provided, QuotaRow, Rollup, Work
from better_compute.wire import decode, show

POOL = Pool(
    id="pool_x",
    owner_id="root",
    site_id="site_fra1",
    class_="metal-host",
    gpu_model="H100",
    sharing="exclusive",
    agent="bcd",
    provider_account_id=None,
    policy={"b": 1, "a": None},
    region="eu",
    idempotency_key="k",
    created_by="sa_fleet",
    created_at=1,
    version=2,
    offers_version=3,
)
STATE = PoolState.whole(
    POOL,
    {"globex": Offer("globex", 0, False, 3), "acme": Offer("acme", 10, True, 2)},
    {"root": {"gpu": QuotaRow(9)}, "acme": {"vcpu": QuotaRow(4, 5), "gpu": QuotaRow(8, 1)}},
    Rollup(
        nodes=3,
        host_nodes=2,
        tenant_owned_nodes=1,
        models={"H100": 2},
        gpus=16,
        atoms=16,
        work={
            "globex": Work(placed=1, active=2, booked_atoms=6),
            "acme": Work(pending=3, placed=1, pending_atoms=24, booked_atoms=1),
        },
        resources={"vcpu": Provided(384, 24)},
    ),
)


def shown(tenant_id: str, *include: str) -> Any:
    return msgspec.json.decode(msgspec.json.encode(show.pool(STATE, POOL, tenant_id, include)))


def row(tenant_id: str, resource: str, limit: int, used: int, available: int) -> dict[str, Any]:
    names = ("tenantId", "poolId", "resource", "max", "used", "available")
    return dict(zip(names, (tenant_id, "pool_x", resource, limit, used, available), strict=True))


COMMON = {
    "id": "pool_x",
    "ownerTenantId": "root",
    "siteId": "site_fra1",
    "class": "metal-host",
    "gpuModel": "H100",
    "sharing": "exclusive",
    "agent": "bcd",
    "policy": {"b": 1, "a": None},
    "version": 2,
    "archived": False,
}


def test_another_tenant_sees_the_pool_and_its_own_rows() -> None:
    own = [row("acme", "gpu", 8, 1, 7), row("acme", "vcpu", 4, 5, 0)]
    assert shown("acme", "offers", "rollup") == {**COMMON, "owned": False, "quotas": own}


def test_the_owner_sees_where_it_came_from_and_its_versions() -> None:
    assert shown("root") == {
        **COMMON,
        "owned": True,
        "quotas": [row("root", "gpu", 9, 0, 9)],
        "idempotencyKey": "k",
        "createdBy": "sa_fleet",
        "createdAt": 1,
        "ownerQuotaVersion": 1,
        "offersVersion": 3,
    }


def test_the_owner_sees_offers_and_machines_where_it_asks_for_them() -> None:
    seen = shown("root", "offers", "rollup")
    assert [(o["toTenantId"], o["priority"], o["includeDescendants"], o["version"]) for o in seen["offers"]] == [
        ("acme", 10, True, 2),
        ("globex", 0, False, 3),
    ]
    assert seen["offers"][0]["quotas"] == [row("acme", "gpu", 8, 1, 7), row("acme", "vcpu", 4, 5, 0)]
    assert seen["offers"][1]["quotas"] == []
    assert seen["rollup"] == {
        "nodes": 3,
        "hostNodes": 2,
        "tenantOwnedNodes": 1,
        "models": {"H100": 2},
        "gpus": 16,
        "atoms": {"total": 16, "booked": 7},
        "reservations": {
            "acme": {"pending": 3, "placed": 1, "active": 0, "pendingAtoms": 24, "bookedAtoms": 1},
            "globex": {"pending": 0, "placed": 1, "active": 2, "pendingAtoms": 0, "bookedAtoms": 6},
        },
        "instances": 0,
        "resources": {"vcpu": {"total": 384, "booked": 24}},
    }
    assert list(seen["rollup"]["reservations"]) == ["acme", "globex"]
    assert "offers" not in shown("root", "rollup")
    assert "rollup" not in shown("root", "offers")


def test_what_an_owner_is_shown_reads_back_as_it_was() -> None:
    view = show.rollup(STATE.rollup)
    sent = msgspec.json.decode(msgspec.json.encode(view), type=type(view))
    assert decode.rollup(sent) == STATE.rollup


def test_an_owner_is_told_what_tenants_without_an_offer_still_use() -> None:
    """And nobody else is; a row that is not in use is of no interest. What is read back is complete."""
    left = {"initech": {"gpu": QuotaRow(2, 3), "vcpu": QuotaRow(0)}, "umbrella": {"gpu": QuotaRow(0)}}
    state = PoolState.whole(POOL, dict(STATE.offers), {**STATE.quotas, **left}, STATE.rollup)
    view = show.pool(state, POOL, "root", ("offers", "rollup"))
    assert msgspec.json.decode(msgspec.json.encode(view))["kept"] == [row("initech", "gpu", 2, 3, 0)]
    assert decode.pool_state(view).rows("initech") == {"gpu": QuotaRow(2, 3)}
    assert decode.pool_state(view).booked == {"gpu": 4, "vcpu": 5}
    assert "kept" not in msgspec.json.decode(msgspec.json.encode(show.pool(state, POOL, "acme", ("offers", "rollup"))))
    assert "kept" not in shown("root", "offers", "rollup")
