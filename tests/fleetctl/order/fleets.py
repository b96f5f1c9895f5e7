"""Small fleets, and the operations that change one into another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    Quota,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.state import Offer, Pool, PoolState, QuotaRow, Rollup, Terms

ROOT = "root"
TENANTS = ("acme", "globex", "initech", "umbrella")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A pool as it is or is to be. Offers by tenant: a quota of whole GPUs, or full terms."""

    single: bool = False
    model: str = "H100"
    offers: Mapping[str, int | Terms] = field(default_factory=dict)
    owner: Quota = field(default_factory=lambda: {"gpu": 100})
    archived: bool = False

    def terms(self) -> dict[str, Terms]:
        return {t: Terms({"gpu": terms}) if isinstance(terms, int) else terms for t, terms in self.offers.items()}

    @property
    def policy(self) -> dict[str, bool]:
        return {"singleTenant": True} if self.single else {}


def wide(gpu: int) -> Terms:
    return Terms({"gpu": gpu}, include_descendants=True)


def live(pool_id: str, wanted: Wanted, used: Mapping[str, int] | None = None) -> PoolState:
    """The state of a pool as it is wanted; `used` GPUs also stay for tenants whose offer is gone."""
    pool = Pool(
        id=pool_id,
        owner_id=ROOT,
        site_id="site_fra1",
        class_="metal-host",
        gpu_model=wanted.model,
        sharing="exclusive",
        agent="bcd",
        provider_account_id=None,
        policy=wanted.policy,
        region="eu-central",
        idempotency_key=pool_id,
        created_by="sa_fleet",
        created_at=0,
        version=3,
        offers_version=7,
        owner_quota_version=2,
    )
    offers = {t: Offer(t, terms.priority, terms.include_descendants, 5) for t, terms in wanted.terms().items()}
    quotas = {ROOT: {r: QuotaRow(n) for r, n in wanted.owner.items()}}
    for tenant_id, booked in (used or {}).items():
        quotas[tenant_id] = {"gpu": QuotaRow(booked, booked)}
    for tenant_id, terms in wanted.terms().items():
        rows = {r: QuotaRow(n) for r, n in terms.quota.items()}
        quotas[tenant_id] = quotas.get(tenant_id, {}) | rows
    return PoolState.whole(pool, offers, quotas, Rollup())


@dataclass(frozen=True, slots=True)
class Change:
    """A plan's operations, in no order, and the pools they find."""

    commands: list[Command]
    live: dict[str, PoolState]


def change(before: Mapping[str, Wanted], after: Mapping[str, Wanted]) -> Change:
    """The operations between two fleets. A pool that is missing before is created, one missing after is left alone."""
    states = {pool_id: live(pool_id, wanted) for pool_id, wanted in before.items()}
    commands = [c for pool_id, wanted in after.items() for c in operations(pool_id, states.get(pool_id), wanted)]
    return Change(commands, states)


def operations(pool_id: str, state: PoolState | None, wanted: Wanted) -> Iterator[Command]:
    """What makes one pool as wanted, each with its precondition."""
    if state is None or state.pool is None:
        yield CreatePool(
            tenant_id=ROOT,
            pool_id=pool_id,
            site_id="site_fra1",
            class_="metal-host",
            gpu_model=wanted.model,
            policy=wanted.policy,
            owner_quota=wanted.owner,
        )
        for tenant_id, terms in wanted.terms().items():
            yield _offer(pool_id, tenant_id, {}, terms, 0)
        return
    pool = state.pool
    if wanted.archived:
        yield ArchivePool(
            tenant_id=ROOT,
            pool_id=pool_id,
            expected_version=pool.version,
            expected_offers_version=pool.offers_version,
        )
        return
    policy = None if wanted.policy == pool.policy else wanted.policy
    model = None if wanted.model == pool.gpu_model else wanted.model
    if policy is not None or model is not None:
        yield UpdatePool(tenant_id=ROOT, pool_id=pool_id, policy=policy, gpu_model=model, expected_version=pool.version)
    if wanted.owner != state.limits(ROOT):
        yield SetQuota(
            tenant_id=ROOT,
            pool_id=pool_id,
            to_tenant_id=ROOT,
            quota=dict.fromkeys(state.limits(ROOT), 0) | dict(wanted.owner),
            expected_version=pool.owner_quota_version,
        )
    wishes = wanted.terms()
    for tenant_id in sorted({*wishes, *state.offers}):
        held = state.offers.get(tenant_id)
        before = state.terms(tenant_id)
        wish = wishes.get(tenant_id)
        if wish and wish != before:
            yield _offer(pool_id, tenant_id, before.quota if before else {}, wish, held.version if held else 0)
        if held and not wish:
            yield UnofferPool(tenant_id=ROOT, pool_id=pool_id, to_tenant_id=tenant_id, expected_version=held.version)


def _offer(pool_id: str, tenant_id: str, rows: Quota, terms: Terms, version: int) -> OfferPool:
    return OfferPool(
        tenant_id=ROOT,
        pool_id=pool_id,
        to_tenant_id=tenant_id,
        quota=dict.fromkeys(rows, 0) | dict(terms.quota),
        priority=terms.priority,
        include_descendants=terms.include_descendants,
        expected_version=version,
    )


def random_change(rng: Random, most: int = 8) -> Change:
    """Two legal fleets of two to four pools, and at most `most` operations between them."""
    tenants = TENANTS[: rng.randint(2, 4)]
    commands: list[Command] = []
    states: dict[str, PoolState] = {}
    before = after = _random_pool(rng, tenants)
    for n in range(rng.randint(2, 4)):
        pool_id = f"pool_{n}"
        last, before = before, _random_pool(rng, tenants)
        born = rng.random() < 0.8
        if born:
            gone = [t for t in tenants if t not in before.offers]
            states[pool_id] = live(pool_id, before, {t: rng.randint(0, 3) for t in gone if rng.random() < 0.3})
        after = _random_after(rng, before, last, tenants) if born else _random_pool(rng, tenants)
        found = list(operations(pool_id, states.get(pool_id), after))
        if len(commands) + len(found) <= most:
            commands += found
    rng.shuffle(commands)
    return Change(commands, states)


def _random_after(rng: Random, before: Wanted, last: Wanted, tenants: Sequence[str]) -> Wanted:
    """What a pool becomes: often something of what it or the pool next to it was, so that things move and swap."""
    match rng.randrange(6):
        case 0:
            return replace(before, archived=True)
        case 1:
            return replace(before, model=rng.choice(("H100", "H200")))
        case 2:
            return replace(before, owner={"gpu": 70})
        case 3:
            return replace(last, model=before.model)
    return _random_pool(rng, tenants)


def _random_pool(rng: Random, tenants: Sequence[str]) -> Wanted:
    single = rng.random() < 0.4
    chosen = rng.sample(tenants, rng.randint(0, 1 if single else len(tenants)))
    return Wanted(
        single=single,
        model=rng.choice(("H100", "H100", "H100", "H200")),
        offers={t: Terms(_random_quota(rng), 0, not single and rng.random() < 0.2) for t in chosen},
        owner={"gpu": rng.choice((100, 100, 100, 50, 101))},
    )


def _random_quota(rng: Random) -> dict[str, int]:
    quota = {"gpu": rng.choice((0, 1, 2, 4, 8))}
    if rng.random() < 0.25:
        quota["vcpu"] = rng.choice((1, 8))
    return quota
