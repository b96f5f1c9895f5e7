"""The ledger: exact sums over pools before and after a plan, machines, oversell, bookings that freeze, and costs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.state import Rollup
from fleetctl.consequences.grants import Pools
from fleetctl.consequences.ledger import Ledger, StockKey, holdings, ledger, sides, stock
from tests.fleetctl.report.world import World, pool_id
from tests.fleets import Fleet, fleets
from tests.model import ControlPlane, desired, entry, fleet

FRA: StockKey = ("H100", "gpu", "site_fra1")
OFFER = "  - {idempotencyKey: %s, offers: [{toTenantId: acme, quota: {gpu: %s}}]}\n"
MIG = "  - {idempotencyKey: fra1-m, sharing: mig, ownerQuota: {gpu.mig: 7}, policy: %s, offers: [%s]}\n"
SEVEN = "{gpu: {mig: {devices: {1g.10gb: 7}}}}"


def kept(world: World, entries: str, **prices: float) -> Ledger:
    return ledger(sides(Pools(world.plan(entries), world.live())), prices)


def machines(world: World, key: str, gpus: int, hosts: int = 1, **fields: Any) -> None:
    world.pools[pool_id(key)].rollup = Rollup(nodes=hosts, host_nodes=hosts, gpus=gpus, **fields)


def share(found: Ledger, tenant_id: str = "acme", key: StockKey = FRA) -> tuple[int, int, int, int]:
    one = found.shares[key, tenant_id]
    return one.before.atoms, one.after.atoms, one.in_use, one.frozen


def cost(found: Ledger, key: StockKey = FRA) -> tuple[float | None, float | None]:
    one = found.shares[key, "acme"]
    return tuple(None if c is None else round(c, 6) for c in (one.before.cost, one.after.cost))  # type: ignore[return-value]


class TestShares:
    def test_nothing_is_touched_by_a_plan_without_operations(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        assert kept(world, OFFER % ("fra1-a", 32)) == Ledger({}, {})

    def test_are_by_site(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        world.pool("fra1-b", {"acme": {"gpu": 8}}, site_id="site_ams1")
        found = kept(world, OFFER % ("fra1-a", 16) + "  - {idempotencyKey: fra1-b, siteId: site_ams1}\n")
        assert list(found.shares) == [(FRA, "acme")]
        assert share(found) == (32, 16, 0, 0)

    def test_an_unlimited_row_that_goes_leaves_the_others(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": UNLIMITED}})
        world.pool("fra1-b", {"acme": {"gpu": 8}})
        found = kept(world, OFFER % ("fra1-a", 4) + OFFER % ("fra1-b", 8))
        assert share(found) == (UNLIMITED, 12, 0, 0)

    def test_what_freezes_in_one_pool_is_not_free_in_another(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, used={"acme": 20})
        world.pool("fra1-b", {"acme": {"gpu": 100}}, used={"acme": 1})
        assert share(kept(world, OFFER % ("fra1-a", 8) + OFFER % ("fra1-b", 100))) == (132, 108, 21, 12)

    @pytest.mark.parametrize("end", ["archived: true", "offers: []"])
    def test_all_that_runs_freezes_where_the_offer_goes(self, end: str) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, used={"acme": 20})
        assert share(kept(world, f"  - {{idempotencyKey: fra1-a, {end}}}\n")) == (32, 0, 20, 20)

    def test_bookings_that_a_withdrawal_left_still_count(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 8}}, used={"acme": 8})
        world.pool("fra1-b", {"acme": {"gpu": 8}})
        del world.pools[pool_id("fra1-a")].offers["acme"]
        entries = "  - {idempotencyKey: fra1-a, offers: []}\n" + OFFER % ("fra1-b", 9)
        assert share(kept(world, entries)) == (8, 9, 8, 8)

    def test_of_a_pool_that_changes_its_model_freeze_nothing_by_that(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, used={"acme": 20})
        changed = "  - {idempotencyKey: fra1-a, gpuModel: H200, offers: [{toTenantId: acme, quota: {gpu: 32}}]}\n"
        found = kept(world, changed)
        assert share(found) == (32, 0, 20, 0)
        assert share(found, key=("H200", "gpu", "site_fra1")) == (0, 32, 0, 0)

    def test_of_a_pool_that_changes_its_model_are_held_against_the_limits_of_the_new_one(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, used={"acme": 20})
        changed = "  - {idempotencyKey: fra1-a, gpuModel: H200, offers: [{toTenantId: acme, quota: {gpu: 15}}]}\n"
        found = kept(world, changed)
        assert share(found) == (32, 0, 20, 0)
        assert share(found, key=("H200", "gpu", "site_fra1")) == (0, 15, 0, 5)

    def test_an_offer_to_the_owner_counts_as_its_rows_do_not_at_all(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}, "root": {"gpu": 64}}, used={"root": 7})
        found = kept(world, "  - {idempotencyKey: fra1-a, archived: true}\n")
        assert list(found.shares) == [(FRA, "acme")]
        assert (found.stock[FRA].before.atoms, found.stock[FRA].in_use) == (32, 0)

    def test_a_row_that_a_second_offer_does_not_name_goes_as_the_files_wish(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32, "vcpu": 8}})
        entries = "  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {vcpu: 8}}]}\n"
        assert share(kept(world, entries)) == (32, 0, 0, 0)

    def test_a_pool_that_shares_its_gpus_in_no_known_way_counts_nowhere(self) -> None:
        entries = "  - {idempotencyKey: fra1-a, sharing: odd, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\n"
        made = World().plan(entries)
        assert made.operations
        assert ledger(sides(Pools(made, World().live())), {}) == Ledger({}, {})


class TestStock:
    def test_holds_what_tenants_may_book_against_the_machines(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}, "globex": {"gpu": 32}}, used={"globex": 5})
        world.pool("fra1-b", {"globex": {"gpu": 16}})
        machines(world, "fra1-a", 32)
        machines(world, "fra1-b", 32)
        entries = """\
  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 48}}, {toTenantId: globex, quota: {gpu: 32}}]}
  - {idempotencyKey: fra1-b, offers: unmanaged}
"""
        stock = kept(world, entries).stock[FRA]
        assert (stock.schedulable, stock.schedulable_after) == (64, 64)
        assert (stock.before.atoms, stock.after.atoms, stock.in_use) == (80, 96, 5)
        assert stock.oversell == (1.25, 1.5)

    def test_of_no_machines_is_not_known(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        stock = kept(world, OFFER % ("fra1-a", 33)).stock[FRA]
        assert (stock.schedulable, stock.schedulable_after, stock.oversell) == (None, None, (None, None))

    def test_has_no_ratio_where_a_row_is_unlimited(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        machines(world, "fra1-a", 32)
        assert kept(world, OFFER % ("fra1-a", UNLIMITED)).stock[FRA].oversell == (1.0, None)

    def test_goes_with_an_archived_pool(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 64}})
        world.pool("fra1-b", {"acme": {"gpu": 32}})
        machines(world, "fra1-a", 32)
        machines(world, "fra1-b", 32)
        entries = "  - {idempotencyKey: fra1-a, archived: true}\n" + OFFER % ("fra1-b", 32)
        stock = kept(world, entries).stock[FRA]
        assert (stock.schedulable, stock.schedulable_after, stock.oversell) == (64, 32, (1.5, 1.0))

    def test_of_an_archived_pool_that_nobody_was_offered_is_told_too(self) -> None:
        world = World()
        world.pool("fra1-a")
        machines(world, "fra1-a", 8)
        stock = kept(world, "  - {idempotencyKey: fra1-a, archived: true}\n").stock[FRA]
        assert (stock.schedulable, stock.schedulable_after, stock.before.atoms) == (8, 0, 0)

    def test_follows_the_policy_that_splits_a_gpu(self) -> None:
        world = World()
        policy = {"gpu": {"mig": {"devices": {"1g.10gb": 7}}}}
        world.pool("fra1-m", {"acme": {"gpu.mig": 28}}, sharing="mig", policy=policy, owner_quota={"gpu.mig": 7})
        machines(world, "fra1-m", 8)
        offer = "{toTenantId: acme, quota: {gpu.mig: 28}}"
        stock = kept(world, MIG % ("{gpu: {mig: {devices: {3g.40gb: 2}}}}", offer)).stock[
            "H100", "gpu.mig", "site_fra1"
        ]
        assert (stock.schedulable, stock.schedulable_after, stock.oversell) == (56, 16, (0.5, 1.75))
        assert kept(world, MIG % (f"{SEVEN[:-1]}, note: x}}", offer)) == Ledger({}, {})

    def test_is_all_that_there_is_also_of_pools_that_a_plan_leaves_alone(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}}, used={"acme": 3})
        world.pool("fra1-b", {"acme": {"gpu": 8}}, site_id="site_ams1")
        world.pool("fra1-c", {"acme": {"gpu": 8}}, site_id="site_ams1")
        world.pool("fra1-d", gpu_model="H200")
        world.pool("fra1-e", gpu_model="A100")
        machines(world, "fra1-a", 64)
        machines(world, "fra1-e", 8)
        entries = (
            OFFER % ("fra1-a", 32)
            + "  - {idempotencyKey: fra1-b, siteId: site_ams1, offers: []}\n"
            + "  - {idempotencyKey: fra1-e, archived: true}\n"
        )
        both = sides(Pools(world.plan(entries), world.live()))
        sums = {key: (one.before.atoms, one.after.atoms, one.in_use) for key, one in stock(both).items()}
        ams, other, gone = ("H100", "gpu", "site_ams1"), ("H200", "gpu", "site_fra1"), ("A100", "gpu", "site_fra1")
        assert list(sums.items()) == [(gone, (0, 0, 0)), (ams, (16, 8, 0)), (FRA, (32, 32, 3)), (other, (0, 0, 0))]
        assert [(one.schedulable, one.schedulable_after) for one in stock(both).values()] == [
            (8, 0),
            (None, None),
            (64, 64),
            (None, None),
        ]
        touched = ledger(both, {}).stock
        assert touched == {key: one for key, one in stock(both).items() if key in touched}, "as the report has it"


class TestCosts:
    def test_are_limits_times_the_price_of_a_gpu(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        assert cost(kept(world, OFFER % ("fra1-a", 16), H100=2.1, H200=9)) == (67.2, 33.6)

    def test_are_none_without_a_price_and_without_a_limit(self) -> None:
        world = World()
        world.pool("fra1-a", {"acme": {"gpu": 32}})
        assert cost(kept(world, OFFER % ("fra1-a", 16))) == (None, None)
        assert cost(kept(world, OFFER % ("fra1-a", UNLIMITED), H100=2.1)) == (67.2, None)

    def test_of_nothing_are_zero(self) -> None:
        assert cost(kept(World(), OFFER % ("fra1-a", 16), H100=2.1)) == (0.0, 33.6)

    def test_of_an_atom_are_those_of_its_part_of_a_gpu(self) -> None:
        offer = "{toTenantId: acme, quota: {gpu.mig: 3}}"
        assert cost(kept(World(), MIG % (SEVEN, offer), H100=2.1), ("H100", "gpu.mig", "site_fra1")) == (0.0, 0.9)

    def test_follow_the_policy_that_splits_a_gpu_otherwise(self) -> None:
        world = World()
        policy = {"gpu": {"mig": {"devices": {"1g.10gb": 7}}}}
        world.pool("fra1-m", {"acme": {"gpu.mig": 14}}, sharing="mig", policy=policy, owner_quota={"gpu.mig": 7})
        offer = "{toTenantId: acme, quota: {gpu.mig: 4}}"
        found = kept(world, MIG % ("{gpu: {mig: {devices: {3g.40gb: 2}}}}", offer), H100=2.1)
        assert cost(found, ("H100", "gpu.mig", "site_fra1")) == (4.2, 4.2)

    def test_follow_it_also_where_the_limit_stays(self) -> None:
        world = World()
        policy = {"gpu": {"mig": {"devices": {"1g.10gb": 7}}}}
        world.pool("fra1-m", {"acme": {"gpu.mig": 14}}, sharing="mig", policy=policy, owner_quota={"gpu.mig": 7})
        world.pool("fra1-n", {"acme": {"gpu.mig": 7}}, sharing="mig", policy=policy, owner_quota={"gpu.mig": 7})
        offer = "{toTenantId: acme, quota: {gpu.mig: 14}}"
        found = kept(world, MIG % ("{gpu: {mig: {devices: {3g.40gb: 2}}}}", offer), H100=2.1)
        assert share(found, key=("H100", "gpu.mig", "site_fra1")) == (21, 21, 0, 0)
        assert cost(found, ("H100", "gpu.mig", "site_fra1")) == (6.3, 16.8)

    def test_are_not_known_where_the_policy_does_not_split_the_gpu(self) -> None:
        offer = "{toTenantId: acme, quota: {gpu.mig: 3}}"
        found = kept(World(), MIG % ("{}", offer), H100=2.1)
        assert cost(found, ("H100", "gpu.mig", "site_fra1")) == (0.0, None)


def expected(plane: ControlPlane) -> Counter[tuple[StockKey, str]]:
    """What a control plane grants, added up from its own rows."""
    sums: Counter[tuple[StockKey, str]] = Counter()
    for state in plane.pools.values():
        pool = state.pool
        if pool is not None and not pool.archived:
            for tenant_id in state.offers:
                if tenant_id != pool.owner_id:
                    key = pool.gpu_model, pool.atom, pool.site_id
                    sums[key, tenant_id] += state.limits(tenant_id).get(pool.atom, 0)
    return sums


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fleets(), fleets())
def test_it_says_what_a_control_plane_grants_before_and_after(first: Fleet, second: Fleet) -> None:
    """Also where a row falls whose sum stays: what is not in the ledger does not change."""
    plane = ControlPlane()
    for wished in (first, second):
        made = plane.plan(desired(wished))
        if not plane.allows(made):
            continue
        before = expected(plane)
        found = ledger(sides(Pools(made, plane.live())), {}).shares
        plane.run(made)
        after = expected(plane)
        for share in before.keys() | after.keys() | found.keys():
            row, both = found.get(share), (before[share], after[share])
            if row is None:
                assert both[0] == both[1]
            else:
                assert (row.before.atoms, row.after.atoms) == tuple(min(side, UNLIMITED) for side in both)


def by_model(sums: Counter[tuple[StockKey, str]]) -> dict[tuple[str, str, str], int]:
    """By tenant, model and atom, as far as it is limited."""
    found: Counter[tuple[str, str, str]] = Counter()
    for (key, tenant_id), atoms in sums.items():
        found[tenant_id, key[0], key[1]] += atoms
    return {key: min(atoms, UNLIMITED) for key, atoms in found.items() if atoms}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fleets(), fleets())
def test_what_tenants_hold_is_what_a_control_plane_grants_them_over_all_pools(first: Fleet, second: Fleet) -> None:
    plane = ControlPlane()
    for wished in (first, second):
        made = plane.plan(desired(wished))
        if not plane.allows(made):
            continue
        before, held = expected(plane), holdings(sides(Pools(made, plane.live())))
        plane.run(made)
        rows = {(tenant, *key): each for tenant, keys in held.items() for key, each in keys.items()}
        assert {key: row.before.atoms for key, row in rows.items() if row.before.atoms} == by_model(before)
        assert {key: row.after.atoms for key, row in rows.items() if row.after.atoms} == by_model(expected(plane))


def test_it_adds_up_what_one_plan_takes_from_many_pools() -> None:
    plane = ControlPlane()
    tenants = [{"toTenantId": tenant, "quota": {"gpu": 8}} for tenant in ("acme", "globex", "initech")]
    plane.run(plane.plan(desired(fleet(*(entry(f"k{n}", offers=tenants) for n in range(50))))))
    wished = desired(fleet(*(entry(f"k{n}", offers=tenants[:2]) for n in range(50))))
    rows = ledger(sides(Pools(plane.plan(wished), plane.live())), {}).shares
    assert {tenant: (row.before.atoms, row.after.atoms) for (_, tenant), row in rows.items()} == {"initech": (400, 0)}
