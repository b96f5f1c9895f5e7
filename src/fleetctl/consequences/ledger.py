"""The capacity ledger: what tenants may book before a plan and after it, what there is of it, and what it costs.

Exact for the state that the plan leaves: live rows with every create, offer, withdrawal, archive and change of model
folded in, whatever the plan is blocked for. The owner's own rows are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.commands import ArchivePool, Command, CreatePool, OfferPool, UnofferPool, UpdatePool
from better_compute.domain.nodes import atoms_per_gpu
from better_compute.domain.state import Pool, PoolState
from fleetctl.consequences.grants import PoolFacts, Pools, schedulable
from fleetctl.desired.model import Prices
from fleetctl.live import Live

StockKey = tuple[str, str, str]
"""GPU model, atom, site."""


@dataclass(slots=True)
class Amount:
    """Atoms of several pools: a sum with an unlimited row in it is unlimited. `cost` is per hour, None where there is
    no price or no limit."""

    atoms: int = 0
    cost: float | None = None

    def add(self, limit: int, price: float | None) -> None:
        self.atoms = UNLIMITED if UNLIMITED in (self.atoms, limit) else min(self.atoms + limit, UNLIMITED)
        if self.atoms == UNLIMITED or (price is None and limit):
            self.cost = None
        elif self.cost is not None:
            self.cost += limit * (price or 0)


@dataclass(slots=True)
class Share:
    """A tenant's atoms of a key: limits on both sides, those in use, and of these the ones beyond the limits after."""

    before: Amount
    after: Amount
    in_use: int = 0
    frozen: int = 0


@dataclass(slots=True)
class Stock:
    """All tenants' atoms of a key, and those that the machines make; None: no machines, so that nobody knows. 0 where
    all of them are archived with their pools."""

    before: Amount = field(default_factory=Amount)
    after: Amount = field(default_factory=Amount)
    in_use: int = 0
    schedulable: int | None = None
    schedulable_after: int | None = None

    @property
    def oversell(self) -> tuple[float | None, float | None]:
        """Before and after; None where nobody knows of machines, or there are none for what is sold, or no limit."""
        return _ratio(self.before, self.schedulable), _ratio(self.after, self.schedulable_after)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a plan touches in some pool, also where the sum over pools stays; in the order of the keys."""

    shares: Mapping[tuple[StockKey, str], Share]
    stock: Mapping[StockKey, Stock]


@dataclass(slots=True)
class Holding:
    """What a tenant may book before a plan and after it."""

    before: Amount = field(default_factory=Amount)
    after: Amount = field(default_factory=Amount)


Holdings = Mapping[tuple[str, str], Holding]
"""By GPU model and atom."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A pool before or after. `limits` are by tenant that it is offered to; `per_gpu` the atoms that a GPU makes, 0
    where the policy does not say."""

    key: StockKey
    limits: Mapping[str, int]
    schedulable: int | None
    per_gpu: int

    def price(self, prices: Prices) -> float | None:
        """Of one atom for an hour."""
        price = prices.get(self.key[0])
        return price / self.per_gpu if price is not None and self.per_gpu else None


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pool on both sides; None: it is not there, or archived. `used` is by tenant, also those without an offer."""

    before: _Side | None
    after: _Side | None
    used: Mapping[str, int]

    def shares(self) -> Iterator[tuple[StockKey, str]]:
        """Those of which it brings or takes something, or makes an atom another part of a GPU."""
        for side, other in ((self.before, self.after), (self.after, self.before)):
            if side is None:
                continue
            alike = other is not None and (other.key, other.per_gpu) == (side.key, side.per_gpu)
            for tenant_id, limit in side.limits.items():
                if limit and not (alike and other and other.limits.get(tenant_id, 0) == limit):
                    yield side.key, tenant_id

    def machines(self) -> Iterator[StockKey]:
        """The keys to which it brings machines, or from which it takes them."""
        counts = [(side.key, side.schedulable) if side else None for side in (self.before, self.after)]
        if counts[0] != counts[1]:
            yield from (count[0] for count in counts if count and count[1] is not None)


@dataclass(frozen=True, slots=True)
class Sides:
    """All pools before a plan and after it: `changed` are those that operations are about, by id; the others of `live`
    stay as they are."""

    live: Live
    changed: Mapping[str, _Pool]

    def pools(self, keys: Collection[StockKey] | None = None) -> Iterator[_Pool]:
        """Those that stay, with `keys` those of them alone, and then those that change."""
        yield from _unchanged(self.live, self.changed, keys)
        yield from self.changed.values()


def sides(pools: Pools) -> Sides:
    """Worked out once for all that is added up from it."""
    return Sides(pools.live, dict(_changed(pools)))


def ledger(of: Sides, prices: Prices) -> Ledger:
    """Linear in the live state; of the pools that the plan leaves alone those are added up whose key it touches."""
    touched = {share for pool in of.changed.values() for share in pool.shares()}
    keys = {key for key, _ in touched} | {key for pool in of.changed.values() for key in pool.machines()}
    free = {key: 0.0 if key[0] in prices else None for key in keys}
    made = Ledger(
        {share: Share(Amount(0, free[share[0]]), Amount(0, free[share[0]])) for share in sorted(touched)},
        {key: Stock() for key in sorted(keys)},
    )
    for pool in of.pools(keys):
        _add(made, pool, prices)
    return made


def stock(of: Sides) -> Mapping[StockKey, Stock]:
    """All that there is before the plan or after it, whether or not the plan touches it; in the order of the keys."""
    every = [*of.pools()]
    keys = {side.key for pool in every for side in (pool.before, pool.after) if side}
    made = Ledger({}, {key: Stock() for key in sorted(keys)})
    for pool in every:
        _add(made, pool, {})
    return made.stock


def holdings(of: Sides) -> dict[str, Holdings]:
    """By tenant, over all pools that are offered to it before the plan or after it, whether or not the plan touches
    them."""
    found: dict[str, dict[tuple[str, str], Holding]] = {}
    for pool in of.pools():
        for name, side in (("before", pool.before), ("after", pool.after)):
            if side is None:
                continue
            model, atom, _ = side.key
            for tenant_id, limit in side.limits.items():
                held = found.setdefault(tenant_id, {}).setdefault((model, atom), Holding())
                getattr(held, name).add(limit, None)
    return {tenant_id: found[tenant_id] for tenant_id in sorted(found)}


def _changed(pools: Pools) -> Iterator[tuple[str, _Pool]]:
    """The pools that operations are about, by id. One whose sharing mode is none has no atom to count in."""
    live = pools.live
    commands: dict[str, list[Command]] = {}
    for operation in pools.plan.operations:
        commands.setdefault(operation.pool_id, []).append(operation.command)
    for pool_id, due in sorted(commands.items()):
        facts, state = pools.of(pool_id), live.pools.get(pool_id)
        if facts.atom is None:
            continue
        if state is not None and state.pool is not None:
            before = _side(state, state.pool)
            yield pool_id, _Pool(before, _after(before, facts, due, state.pool.sharing), _used(state, state.pool))
        else:
            unborn = _Side((facts.gpu_model, facts.atom, facts.site_id), {}, None, 0)
            yield pool_id, _Pool(None, _after(unborn, facts, due, ""), {})


def _unchanged(live: Live, changed: Mapping[str, _Pool], keys: Collection[StockKey] | None = None) -> Iterator[_Pool]:
    """The other live pools; with `keys` those of them alone."""
    for pool_id, state in live.pools.items():
        pool = state.pool
        if pool is None or pool.archived or pool_id in changed:
            continue
        if keys is None or (pool.gpu_model, pool.atom, pool.site_id) in keys:
            side = _side(state, pool)
            yield _Pool(side, side, _used(state, pool))


def _side(state: PoolState, pool: Pool) -> _Side:
    """A live pool as it is."""
    rows = {tenant_id: state.rows(tenant_id).get(pool.atom) for tenant_id in state.offers if tenant_id != pool.owner_id}
    limits = {tenant_id: row.max if row else 0 for tenant_id, row in rows.items()}
    key = (pool.gpu_model, pool.atom, pool.site_id)
    return _Side(key, limits, schedulable(pool, state.rollup), atoms_per_gpu(pool.sharing, pool.policy))


def _used(state: PoolState, pool: Pool) -> dict[str, int]:
    rows = {tenant_id: rows.get(pool.atom) for tenant_id, rows in state.quotas.items() if tenant_id != pool.owner_id}
    return {tenant_id: row.used for tenant_id, row in rows.items() if row and row.used}


def _after(before: _Side, facts: PoolFacts, commands: Sequence[Command], sharing: str) -> _Side | None:
    """The side once all is done; subjects of operations are apart, so that their order does not matter here. Rows that
    an offer does not name stay (rule offer.again)."""
    _, atom, site_id = before.key
    limits, per_gpu = dict(before.limits), before.per_gpu
    for command in commands:
        match command:
            case ArchivePool():
                return None
            case CreatePool():
                per_gpu = atoms_per_gpu(command.sharing, command.policy)
            case UpdatePool(policy=policy) if policy is not None:
                per_gpu = atoms_per_gpu(sharing, policy)
            case OfferPool(to_tenant_id=tenant_id, quota=quota):
                limits[tenant_id] = quota.get(atom, limits.get(tenant_id, 0))
            case UnofferPool(to_tenant_id=tenant_id):
                limits.pop(tenant_id, None)
    return _Side((facts.new_model, atom, site_id), limits, facts.new_schedulable, per_gpu)


def _add(made: Ledger, pool: _Pool, prices: Prices) -> None:
    """Add a pool. Bookings are of the model that it has now; against the limits after the plan they are held under the
    model that it has then."""
    if pool.before:
        _add_side(made, pool.before, prices, is_after=False)
    if pool.after:
        _add_side(made, pool.after, prices, is_after=True)
    elif pool.before and pool.before.schedulable is not None and (stock := made.stock.get(pool.before.key)):
        stock.schedulable_after = stock.schedulable_after or 0  # its machines go with it
    for tenant_id, used in pool.used.items():
        side, last = pool.before, pool.after or pool.before
        if side and (share := made.shares.get((side.key, tenant_id))):
            share.in_use += used
        if side and (stock := made.stock.get(side.key)):
            stock.in_use += used
        if last and (share := made.shares.get((last.key, tenant_id))):
            share.frozen += max(0, used - (pool.after.limits.get(tenant_id, 0) if pool.after else 0))


def _add_side(made: Ledger, side: _Side, prices: Prices, *, is_after: bool) -> None:
    stock, price = made.stock.get(side.key), side.price(prices)
    for tenant_id, limit in side.limits.items():
        if share := made.shares.get((side.key, tenant_id)):
            (share.after if is_after else share.before).add(limit, price)
        if stock:
            (stock.after if is_after else stock.before).add(limit, None)
    if stock and side.schedulable is not None:
        if is_after:
            stock.schedulable_after = (stock.schedulable_after or 0) + side.schedulable
        else:
            stock.schedulable = (stock.schedulable or 0) + side.schedulable


def _ratio(promised: Amount, there: int | None) -> float | None:
    if there is None or promised.atoms == UNLIMITED or (promised.atoms and not there):
        return None
    return promised.atoms / there if there else 0.0
