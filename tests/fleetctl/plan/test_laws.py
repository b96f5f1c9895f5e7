"""Plan after apply is empty, and what a killed apply left is planned: over generated fleets and live states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from better_compute.domain.commands import Command, OfferPool, SetQuota, UnofferPool, UpdatePool
from fleetctl.diff import offer_changes
from fleetctl.diff import pools as comparing
from fleetctl.plan import Operation, Plan
from tests.fleets import OWNER, TENANTS, Fleet, fleets, policies, quotas
from tests.model import ControlPlane, desired, entry, fleet


@st.composite
def hands(draw: st.DrawFn, pool_ids: Sequence[str]) -> Command:
    """What somebody may do to a pool behind the fleet's back."""
    pool_id = draw(st.sampled_from(pool_ids))
    tenant = draw(st.sampled_from(TENANTS))
    quota = draw(st.dictionaries(st.sampled_from(["gpu", "vcpu", "gpu.mig"]), st.sampled_from([0, 3, 64]), min_size=1))
    base: dict[str, Any] = {"tenant_id": OWNER, "pool_id": pool_id}
    return draw(
        st.sampled_from(
            [
                OfferPool(**base, to_tenant_id=tenant, quota=quota, include_descendants=draw(st.booleans())),
                UnofferPool(**base, to_tenant_id=tenant),
                SetQuota(**base, to_tenant_id=OWNER, quota=quota),
                UpdatePool(**base, gpu_model=draw(st.sampled_from(["H100", "B200"]))),
                UpdatePool(**base, policy=draw(st.sampled_from([{}, {"note": "by hand", "maxPending": "360m"}]))),
            ]
        )
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[ControlPlane, Fleet]:
    """A live state that an earlier fleet and then some hands made, and the fleet that is wished now."""
    plane = ControlPlane()
    first = draw(fleets())
    plane.run(plane.plan(desired(first)))
    if plane.pools:
        for command in draw(st.lists(hands(sorted(plane.pools)), max_size=4)):
            plane.do(command)
    return plane, draw(st.just(first) | fleets() | variants(first))


@st.composite
def variants(draw: st.DrawFn, fleet: Fleet) -> Fleet:
    """The same fleet with some entries of another one: what a pull request does."""
    other = {pool["idempotencyKey"]: pool for pool in draw(fleets()).pools}
    pools = {pool["idempotencyKey"]: pool for pool in fleet.pools}
    chosen = draw(st.lists(st.sampled_from(sorted(other)), unique=True, max_size=2))
    return Fleet(fleet.root, [*(pools | {key: other[key] for key in chosen}).values()])


def admitted(operations: Sequence[Operation]) -> Iterator[set[int]]:
    """Every set of done operations that the dependencies admit."""
    for size in range(len(operations) + 1):
        for chosen in combinations(operations, size):
            done = {operation.n for operation in chosen}
            if all(set(operation.depends_on) <= done for operation in chosen):
                yield done


def run_each(plane: ControlPlane, plan: Plan, halves: Sequence[set[int]]) -> None:
    """Every half from the same start; each operation must be allowed."""
    for done in halves:
        ControlPlane(plane.pools).run(plan, done)


def is_empty(plan: Plan) -> bool:
    return not plan.operations


@given(worlds())
@settings(max_examples=150, deadline=None)
def test_plan_after_apply_is_empty_and_apply_twice_writes_nothing(world: tuple[ControlPlane, Fleet]) -> None:
    plane, fleet = world
    wished = desired(fleet)
    plan = plane.plan(wished)
    assume(plane.allows(plan))
    plane.run(plan)
    before = {pool_id: state.copy() for pool_id, state in plane.pools.items()}
    again = plane.plan(wished)
    assert is_empty(again)
    plane.run(again)
    assert plane.pools == before


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_every_admitted_set_of_done_operations_is_legal_and_plans_to_exactly_the_rest(
    world: tuple[ControlPlane, Fleet],
) -> None:
    plane, fleet = world
    wished = desired(fleet)
    plan = plane.plan(wished)
    assume(len(plan.operations) <= 8 and plane.allows(plan))
    for done in admitted(plan.operations):
        halfway = ControlPlane(plane.pools)
        halfway.run(plan, done)
        rest = {operation.digest for operation in plan.operations if operation.n not in done}
        assert {operation.digest for operation in halfway.plan(wished).operations} == rest


def inverse_of(operation: Operation) -> Command | None:
    """The command that an operation's inverse describes; None where it has none."""
    inverse, command = operation.inverse, operation.command
    base: dict[str, Any] = {"tenant_id": command.tenant_id, "pool_id": command.pool_id}
    match inverse.action:
        case "update":
            return UpdatePool(**base, gpu_model=inverse.after.get("gpuModel"), policy=inverse.after.get("policy"))
        case "setQuota":
            return SetQuota(**base, to_tenant_id=OWNER, quota=inverse.after["quota"])
        case "offer":
            terms = {"priority": inverse.after["priority"], "include_descendants": inverse.after["includeDescendants"]}
            return OfferPool(**base, to_tenant_id=str(operation.to_tenant_id), quota=inverse.after["quota"], **terms)
        case "unoffer":
            return UnofferPool(**base, to_tenant_id=str(operation.to_tenant_id))
        case _:
            return None


def terms_of(plane: ControlPlane, pool_id: str) -> Any:
    """What a pool promises, and how: a row of 0 and no row are one."""
    state = plane.pools[pool_id]
    assert state.pool is not None
    limits = {t: {r: n for r, n in state.limits(t).items() if n} for t in (OWNER, *state.offers)}
    offers = {t: (offer.priority, offer.include_descendants) for t, offer in state.offers.items()}
    return state.pool.gpu_model, state.pool.policy, limits, offers


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """One entry of always the same pool, with terms of all kinds."""
    terms = st.fixed_dictionaries({"quota": quotas("gpu"), "priority": st.sampled_from([0, 7])})
    offers = draw(st.dictionaries(st.sampled_from(TENANTS), terms, max_size=2))
    return entry(
        "a",
        gpuModel=draw(st.sampled_from(["H100", "H200"])),
        policy=draw(policies()),
        ownerQuota=draw(quotas("gpu")),
        offers=[{"toTenantId": tenant, **offer} for tenant, offer in offers.items()],
    )


@given(entries(), entries())
@settings(max_examples=100, deadline=None)
def test_the_inverse_of_an_operation_brings_back_what_was_before(first: dict[str, Any], second: dict[str, Any]) -> None:
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(first))))
    plan = plane.plan(desired(fleet(second)))
    assume(plane.allows(plan))
    for operation in plan.operations:
        undone = ControlPlane(plane.pools)
        plane.run(plan, {operation.n})
        if (inverse := inverse_of(operation)) is not None:
            before = terms_of(undone, operation.pool_id)
            undone.run(plan, {operation.n})
            undone.do(inverse)
            assert terms_of(undone, operation.pool_id) == before


@given(fleets())
@settings(max_examples=50, deadline=None)
def test_the_order_of_entries_and_offers_gives_the_same_digest(fleet: Fleet) -> None:
    shuffled = Fleet(fleet.root, list(reversed([{k: p[k] for k in reversed(p)} for p in fleet.pools])))
    for pool in shuffled.pools:
        if isinstance(pool.get("offers"), list):
            pool["offers"] = list(reversed(pool["offers"]))
    one, other = ControlPlane().plan(desired(fleet)), ControlPlane().plan(desired(shuffled))
    assert (one.digest, one.inputs) == (other.digest, other.inputs)


def test_a_diff_that_looks_away_from_priorities_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what is not compared is not applied, and nobody sees it until it is looked at again."""
    plane = ControlPlane()
    wished = desired(Fleet(ROOT, [POOL]))
    plane.run(plane.plan(wished))
    plane.do(OfferPool(tenant_id=OWNER, pool_id=next(iter(plane.pools)), to_tenant_id="acme", quota={}, priority=9))
    assert not is_empty(plane.plan(wished))
    real = offer_changes
    monkeypatch.setattr(comparing, "offer_changes", lambda a, b: tuple(c for c in real(a, b) if c.path != "priority"))
    assert is_empty(plane.plan(wished)), "the fault hides the difference"


ROOT = {"apiVersion": "fleet/v1", "tenantId": OWNER, "caller": "sa_fleet"}
POOL = {
    "idempotencyKey": "fra1-h100",
    "siteId": "site_fra1",
    "class": "metal-host",
    "gpuModel": "H100",
    "offers": [{"toTenantId": "acme", "quota": {"gpu": 8}}],
}


def test_without_dependencies_some_half_is_not_legal() -> None:
    """The planted fault of the second law: a singleTenant pool cannot change tenants in any order."""
    single = {**POOL, "policy": {"singleTenant": True}}
    plane = ControlPlane()
    plane.run(plane.plan(desired(Fleet(ROOT, [single]))))
    moved = {**single, "offers": [{"toTenantId": "globex", "quota": {"gpu": 8}}]}
    plan = plane.plan(desired(Fleet(ROOT, [moved])))
    free = [replace(operation, depends_on=()) for operation in plan.operations]
    halves = list(admitted(free))
    assert len(halves) > len(list(admitted(plan.operations)))
    with pytest.raises(AssertionError, match=r"offer\.single"):
        run_each(plane, plan, halves)


def test_a_precondition_that_others_change_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of resuming: an offer that carried the pool's version would be another after its neighbour."""
    plane = ControlPlane()
    plane.run(plane.plan(desired(Fleet(ROOT, [{**POOL, "offers": []}]))))
    offers = [{"toTenantId": tenant, "quota": {"gpu": 8}} for tenant in ("acme", "globex")]
    wished = desired(Fleet(ROOT, [{**POOL, "offers": offers}]))
    real = Operation.precondition.fget  # type: ignore[attr-defined]

    def shared(self: Operation) -> dict[str, Any]:
        return {**real(self), "offersVersion": plane_now.pools[self.pool_id].pool.offers_version}  # type: ignore[union-attr]

    plane_now = plane
    monkeypatch.setattr(Operation, "precondition", property(shared))
    plan = plane.plan(wished)
    halfway = plane_now = ControlPlane(plane.pools)
    halfway.run(plan, {plan.operations[0].n})
    rest = {operation.digest for operation in plan.operations[1:]}
    assert {operation.digest for operation in halfway.plan(wished).operations} != rest
