"""Large changes of several shapes, each of about as many operations as asked for."""

from __future__ import annotations

from random import Random

from better_compute.domain.state import Terms
from tests.fleetctl.order.fleets import TENANTS, Change, Wanted, change


def everything_moves(size: int) -> Change:
    """Four tenants in each pool, every quota raised or lowered at random."""
    rng = Random(1)
    pools = [f"pool_{n:06}" for n in range(size // 4)]
    before = {p: Wanted(offers={t: rng.choice((8, 16, 32)) for t in TENANTS}) for p in pools}
    return change(before, {p: Wanted(offers={t: rng.choice((64, 4, 2)) for t in TENANTS}) for p in pools})


def one_tenant(size: int) -> Change:
    """One tenant in every pool, half of its offers raised and half lowered."""
    pools = [f"pool_{n:06}" for n in range(size)]
    before = {p: Wanted(offers={"acme": 32}) for p in pools}
    return change(before, {p: Wanted(offers={"acme": 16 + 32 * (n % 2)}) for n, p in enumerate(pools)})


def one_pool(size: int) -> Change:
    """Many tenants in one pool, half of them raised and half lowered."""
    tenants = [f"tenant_{n:06}" for n in range(size)]
    after = Wanted(offers={t: 16 + 32 * (n % 2) for n, t in enumerate(tenants)})
    return change({"pool": Wanted(offers=dict.fromkeys(tenants, 32))}, {"pool": after})


def one_pool_becomes_single(size: int) -> Change:
    """A pool of many tenants that one of them keeps, under a new policy and model."""
    tenants = [f"tenant_{n:06}" for n in range(size)]
    before = Wanted(offers=dict.fromkeys(tenants, Terms({"gpu": 32}, include_descendants=True)))
    return change({"pool": before}, {"pool": Wanted(single=True, model="H200", offers={tenants[0]: 32})})


def one_archive(size: int) -> Change:
    """A pool of many tenants that all move to pools of their own, and the old one is archived."""
    tenants = [f"tenant_{n:06}" for n in range(size // 2)]
    new = {f"pool_{t}": Wanted(offers={t: 32}) for t in tenants}
    old = {"old": Wanted(offers=dict.fromkeys(tenants, 32))}
    return change(old, {"old": Wanted(archived=True), **new})


def a_ring(size: int) -> Change:
    """Each singleTenant pool goes to the tenant of the next one: one long cycle of wishes and rules."""
    count = size // 2
    before = {f"pool_{n:06}": Wanted(single=True, offers={f"tenant_{n:06}": 8}) for n in range(count)}
    after = {p: Wanted(single=True, offers={f"tenant_{(n + 1) % count:06}": 8}) for n, p in enumerate(before)}
    return change(before, after)


def everything_contradicts(size: int) -> Change:
    """Quotas of two resources change at random everywhere: thousands of cycles in one knot."""
    rng = Random(3)

    def pool() -> Wanted:
        return Wanted(offers={t: Terms({"gpu": rng.randint(1, 64), "vcpu": rng.randint(1, 640)}) for t in TENANTS})

    pools = [f"pool_{n:06}" for n in range(size // 4)]
    return change({p: pool() for p in pools}, {p: pool() for p in pools})


SHAPES = (
    everything_moves,
    one_tenant,
    one_pool,
    one_pool_becomes_single,
    one_archive,
    a_ring,
    everything_contradicts,
)
