"""What tenants lose, in one line each, with what waits and will fail; and the ledger as a report shows it."""

from __future__ import annotations

import pytest

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.state import Rollup, Work
from tests.fleetctl.report.world import World, pool_id

GONE = "  - {idempotencyKey: fra1-a, archived: true}\n"
WITHDRAWN = "  - {idempotencyKey: fra1-a, offers: []}\n"
LOWERED = "  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\n"


def a_world(pending: int) -> World:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 32}})
    world.pools[pool_id("fra1-a")].rollup = Rollup(
        nodes=4, host_nodes=4, gpus=32, work={"acme": Work(pending=pending, pending_atoms=8)}
    )
    return world


@pytest.mark.parametrize(
    ("pending", "entries", "ends"),
    [
        (1, GONE, "; 1 pending reservation will fail"),
        (3, WITHDRAWN, "; 3 pending reservations will fail"),
        (3, LOWERED, "in fra1-a"),
        (0, GONE, "in fra1-a"),
    ],
)
def test_a_loss_tells_what_waits_and_fails(pending: int, entries: str, ends: str) -> None:
    (loss,) = (one for one in a_world(pending).report(entries)["losses"] if one["tenantId"] == "acme")
    assert loss["sentence"].endswith(ends)


def test_the_owner_loses_the_machines_of_a_pool_that_is_archived_and_is_told_what_runs_on() -> None:
    world = World()
    for key, work in (("a", {"root": Work(active=1, pending=2), "acme": Work(placed=2, pending=4)}), ("b", {})):
        world.pool(f"fra1-{key}", {"acme": {"gpu": 8}})
        world.pools[pool_id(f"fra1-{key}")].rollup = Rollup(nodes=4, host_nodes=4, gpus=32, work=work)
    entries = "".join(f"  - {{idempotencyKey: fra1-{key}, archived: true}}\n" for key in "ab")
    first, second = world.report(entries)["losses"]
    assert first == {
        "tenantId": "root",
        "sentence": "loses the pools fra1-a and fra1-b (64 H100 GPUs);"
        " 2 pending reservations will fail; 3 placed or active reservations run on",
        "operations": [1, 2],
    }
    assert second["sentence"] == (
        "loses 16 H100 GPUs and 2 offers in fra1-a and fra1-b; 4 pending reservations will fail"
    )


def test_what_is_booked_in_a_pool_that_is_archived_is_told_where_no_reservation_is_known() -> None:
    """As the guard of pools in use counts it."""
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 8, "vcpu": 64}}, used={"acme": 5})
    world.pool("fra1-b", {"acme": {"gpu": 8}}, used={"acme": 2})
    world.pool("fra1-c", {"acme": {"gpu": 8}}, used={"acme": 1})
    world.pools[pool_id("fra1-c")].rollup = Rollup(work={"acme": Work(placed=1)})
    entries = "".join(f"  - {{idempotencyKey: fra1-{key}, archived: true}}\n" for key in "abc")
    report = world.report(entries)
    (loss,) = (one for one in report["losses"] if one["tenantId"] == "root")
    assert loss["sentence"].endswith("; 1 placed or active reservation runs on; 7 gpu in use stay booked")


def test_slots_are_called_that() -> None:
    world = World()
    world.pool("fra1-a", sharing="mps", policy={"gpu": {"slots": 4}}, owner_quota={"gpu.slot": 64})
    world.pools[pool_id("fra1-a")].rollup = Rollup(nodes=2, host_nodes=2, gpus=16)
    (loss,) = world.report(GONE)["losses"]
    assert loss["sentence"] == "loses the pool fra1-a (64 H100 slots)"


def test_losses_and_gains_are_gross_and_the_largest_come_first() -> None:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 16, "vcpu": 8}, "initech": {"gpu": UNLIMITED}})
    world.pool("fra1-b", {"acme": {"gpu": 8}, "globex": {"gpu": 8}})
    report = world.report("""\
  - idempotencyKey: fra1-a
    offers: [{toTenantId: acme, quota: {gpu: 4}}, {toTenantId: globex, quota: {gpu: 4, vcpu: 9}}]
  - idempotencyKey: fra1-b
    offers:
      - {toTenantId: acme, quota: {gpu: 10}}
      - {toTenantId: globex, quota: {gpu: 8}}
      - {toTenantId: hooli, quota: {gpu: 2147483647}}
""")
    assert {one["tenantId"]: one["sentence"] for one in report["losses"]} == {
        "initech": "loses its unlimited H100 GPUs and 1 offer in fra1-a",
        "globex": "loses 12 H100 GPUs in fra1-a",
        "acme": "loses 4 H100 GPUs in fra1-a",
    }
    assert [one["tenantId"] for one in report["losses"]] == ["initech", "globex", "acme"]
    assert [(one["tenantId"], one["sentence"]) for one in report["gains"]] == [
        ("hooli", "gains unlimited H100 GPUs and 1 offer in fra1-b"),
        ("acme", "gains 2 H100 GPUs in fra1-b"),
        ("globex", "gains 1 vcpu in fra1-a"),
    ]


def test_another_model_is_lost_and_gained() -> None:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 8}})
    entry = "  - {idempotencyKey: fra1-a, gpuModel: H200, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\n"
    report = world.report(entry)
    assert [one["sentence"] for one in report["losses"]] == ["loses 8 H100 GPUs in fra1-a"]
    assert [one["sentence"] for one in report["gains"]] == ["gains 8 H200 GPUs in fra1-a"]


def test_a_loss_leaves_no_model_out() -> None:
    world, entries = World(), ""
    for number, model in enumerate(("A100", "B200", "H100", "H200", "L40S")):
        world.pool(f"fra1-{number}", {"acme": {"gpu": 8}}, gpu_model=model)
        entries += f"  - {{idempotencyKey: fra1-{number}, gpuModel: {model}, offers: []}}\n"
    (loss,) = world.report(entries)["losses"]
    assert loss["sentence"].startswith(
        "loses 8 A100 GPUs, 8 B200 GPUs, 8 H100 GPUs, 8 H200 GPUs, 8 L40S GPUs and 5 offers in "
    )


def test_the_capacity_has_the_machines_oversell_and_costs_of_both_sides() -> None:
    report = a_world(0).report("  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 40}}]}\n")
    assert report["capacity"] == {
        "shares": [
            {
                "gpuModel": "H100",
                "atom": "gpu",
                "siteId": "site_fra1",
                "tenantId": "acme",
                "before": 32,
                "after": 40,
                "inUse": 0,
                "frozen": 0,
                "costBefore": None,
                "costAfter": None,
            }
        ],
        "stock": [
            {
                "gpuModel": "H100",
                "atom": "gpu",
                "siteId": "site_fra1",
                "schedulable": 32,
                "schedulableAfter": 32,
                "before": 32,
                "after": 40,
                "inUse": 0,
                "oversellBefore": 1.0,
                "oversellAfter": 1.25,
            }
        ],
    }


def test_costs_are_of_the_prices_in_the_files() -> None:
    priced = "  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\nprices: {H100: 2.10}\n"
    (share,) = a_world(0).report(priced)["capacity"]["shares"]
    assert (share["costBefore"], share["costAfter"]) == (67.2, 16.8)
