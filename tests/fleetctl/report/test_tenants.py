"""What tenants lose, in one line each, with what waits and will fail; and the ledger as a report shows it."""

from __future__ import annotations

import pytest

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
    (loss,) = a_world(pending).report(entries)["losses"]
    assert loss["sentence"].endswith(ends)


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
