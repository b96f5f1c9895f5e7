"""Views read back as the domain's types."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from better_compute.domain.state import Offer, Pool, PoolState, QuotaRow, Rollup, Work
from better_compute.wire import decode
from better_compute.wire.views import EventView, PoolView


def row(tenant_id: str, resource: str = "gpu", limit: int = 32, used: int = 4) -> dict[str, Any]:
    rest = {"max": limit, "used": used, "available": max(0, limit - used)}
    return {"tenantId": tenant_id, "poolId": "pool_1", "resource": resource, **rest}


def offer(tenant_id: str, *rows: dict[str, Any], version: int = 2) -> dict[str, Any]:
    terms = {"priority": 10, "includeDescendants": True, "version": version}
    return {"poolId": "pool_1", "toTenantId": tenant_id, **terms, "quotas": rows}


def view(**fields: Any) -> dict[str, Any]:
    return {
        "id": "pool_1",
        "ownerTenantId": "root",
        "siteId": "site_fra1",
        "class": "metal-host",
        "gpuModel": "H100",
        "sharing": "exclusive",
        "agent": "bcd",
        "policy": {"maxPending": "6h", "ratio": 1.0},
        "version": 3,
        "owned": True,
        "archived": False,
        "quotas": [row("root", limit=2147483647)],
        "idempotencyKey": "fra1-h100",
        "createdBy": "sa_fleet",
        "createdAt": 5,
        "ownerQuotaVersion": 1,
        "offersVersion": 2,
        "offers": [offer("acme", row("acme"), row("acme", "vcpu", 10, 0))],
        "rollup": {
            "nodes": 2,
            "hostNodes": 1,
            "tenantOwnedNodes": 0,
            "models": {"H100": 1},
            "gpus": 8,
            "atoms": {"total": 8, "booked": 6},
            "reservations": {
                "acme": {"pending": 3, "placed": 1, "active": 1, "pendingAtoms": 24, "bookedAtoms": 4},
                "globex": {"pending": 0, "placed": 0, "active": 1, "pendingAtoms": 0, "bookedAtoms": 2},
            },
        },
        **fields,
    }


def without(*names: str, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in view(**fields).items() if name not in names}


def nested(levels: int) -> dict[str, Any]:
    """So many objects and lists in each other, the outermost an object."""
    value: Any = {}
    for level in range(levels - 1, 0, -1):
        value = {"a": value} if level % 2 else [value]
    return {"a": value["a"]}


def read(body: Any) -> PoolState:
    return decode.answer(PoolView, decode.pool_state)(json.dumps({"data": body}).encode())


def test_an_owners_view_is_the_whole_aggregate() -> None:
    state = read(view(someday="more"))
    assert state == PoolState.whole(
        Pool(
            id="pool_1",
            owner_id="root",
            site_id="site_fra1",
            class_="metal-host",
            gpu_model="H100",
            sharing="exclusive",
            agent="bcd",
            provider_account_id=None,
            policy={"maxPending": "6h", "ratio": 1.0},
            region="",
            idempotency_key="fra1-h100",
            created_by="sa_fleet",
            created_at=5,
            version=3,
            offers_version=2,
        ),
        {"acme": Offer("acme", 10, True, 2)},
        {"root": {"gpu": QuotaRow(2147483647, 4)}, "acme": {"gpu": QuotaRow(32, 4), "vcpu": QuotaRow(10)}},
        Rollup(
            2,
            1,
            0,
            {"H100": 1},
            8,
            0,
            {"acme": Work(3, 1, 1, 24, 4), "globex": Work(active=1, booked_atoms=2)},
            atoms=8,
        ),
    )
    assert (state.others, state.wide) == (1, 1)


def test_a_server_that_tells_of_no_reservations_has_none_to_tell_of() -> None:
    counts = {"nodes": 2, "hostNodes": 1, "tenantOwnedNodes": 0, "models": {"H100": 1}, "gpus": 8}
    rollup = read(view(rollup={**counts, "atoms": {"total": 56}})).rollup
    assert rollup == Rollup(2, 1, 0, {"H100": 1}, 8, atoms=56)
    assert rollup.work == {}


def test_a_pool_of_another_tenant_shows_its_terms_and_ones_own_rows() -> None:
    hidden = ("idempotencyKey", "createdBy", "createdAt", "ownerQuotaVersion", "offersVersion", "offers", "rollup")
    state = read(without(*hidden, owned=False, quotas=[row("acme")]))
    assert state.quotas == {"acme": {"gpu": QuotaRow(32, 4)}}
    assert state.pool is not None
    assert (state.pool.created_by, state.pool.idempotency_key, state.offers) == ("", None, {})


def test_an_archived_pool_says_since_when() -> None:
    state = read(view(archived=True, archivedAt=9))
    assert state.pool is not None
    assert state.pool.archived_at == 9


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (without("id"), r"missing required field `id` - at `\$.data`"),
        (view(version="3"), r"Expected `int`, got `str` - at `\$.data.version`"),
        (view(version=3.5), r"\$.data.version"),
        (view(policy=[]), r"\$.data.policy"),
        (view(policy=None), r"\$.data.policy"),
        (view(policy=nested(33)), "pool pool_1: policy.*: a policy is at most 32 objects and lists deep"),
        (view(policy=nested(900)), "pool pool_1: policy.*: a policy is at most 32 objects and lists deep"),
        (view(policy={"overcommit": 10**400}), "pool pool_1: policy.overcommit: "),
        (view(policy={"x": "y" * 70_000}), "a policy is at most 65536 bytes"),
        (view(policy={"x": "\x1b[2J"}), "pool pool_1: policy.x: "),
        (view(owned=1), r"\$.data.owned"),
        (view(sharing="fractional"), "sharing 'fractional'"),
        (view(**{"class": "\x1b[2J"}), r"class '\\x1b\[2J'"),
        (view(quotas=[row("root", limit=-1)]), "a quota row of max -1"),
        (view(offers=[offer("acme", {"resource": "gpu"})]), r"\$.data.offers\[0\].quotas\[0\]"),
        (without("offersVersion"), "no offersVersion"),
        (without("offers"), "shows no offers"),
        (without("rollup"), "no rollup"),
        (view(rollup={"nodes": 0}), r"\$.data.rollup"),
        (view(rollup={**view()["rollup"], "reservations": {"acme": {"pending": 1}}}), r"\$.data.rollup.reservations"),
        (view(archived=True), "when it was archived"),
        (view(archivedAt=9), "or that it was"),
        ([], r"Expected `object`, got `array` - at `\$.data`"),
    ],
)
def test_what_is_missing_or_odd_is_named(body: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(body)


def test_a_policy_as_deep_as_it_may_be_is_read() -> None:
    state = read(view(policy=nested(32)))
    assert state.pool is not None
    assert state.pool.policy == nested(32)


EVENT = {"id": "evt_1", "type": "pool.updated", "tenantId": "root", "actorId": "a", "poolId": "p", "time": 0}


def read_event(**fields: Any) -> EventView:
    body = {"data": {**EVENT, "sequence": 1, "data": {}, **fields}}
    return decode.answer(EventView, decode.event)(json.dumps(body).encode())


def test_an_event_is_no_deeper_than_the_policies_that_it_tells_of() -> None:
    told = {"before": {"policy": nested(32)}, "after": None}
    assert read_event(data=told).data == told
    for fields in ({"data": {"before": {"policy": nested(33)}}}, {"data": nested(900)}, {"via": nested(900)}):
        with pytest.raises(ValueError, match="event evt_1 is nested deeper than"):
            read_event(**fields)


def test_a_large_page_is_read_at_once() -> None:
    offers = [offer(f"t{n}", *(row(f"t{n}", r) for r in ("gpu", "vcpu", "memoryGiB"))) for n in range(3)]
    items = [view(id=f"pool_{n}", offers=offers) for n in range(1000)]
    body = json.dumps({"data": {"items": items, "nextCursor": None, "sequence": 1}}).encode()
    read_page = decode.page(PoolView, decode.pool_state)
    assert len(read_page(body).items) == 1000
    taken, plain = (
        min(seconds(work) for _ in range(5)) for work in (lambda: read_page(body), lambda: json.loads(body))
    )
    assert taken < 5 * plain


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
