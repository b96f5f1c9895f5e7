"""The pools that there will be once a plan is done: live state with the plan's operations folded in, as the ledger has
it. What the plan leaves alone (outside of a selection, removed, released, foreign, or kept from what it should become)
stays as it is; what the files wish and no operation makes is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from better_compute.domain.atoms import DEFAULT_OWNER_QUOTA
from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.state import Pool, PoolState, Terms
from fleetctl.comparison import naming
from fleetctl.desired import PoolEntry
from fleetctl.diff import offer_changes, quota_changes, same_policy
from fleetctl.live import Live
from fleetctl.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A pool, its owner's rows and its offers by tenant. `entry` is the one that stands for it; None: no entry does, or
    the one that does lets the pool go. `foreign`: others made it, and it is no business of the fleet."""

    pool: CreatePool | Pool
    owner_quota: Mapping[str, int]
    offers: Mapping[str, Terms] = field(default_factory=dict)
    entry: PoolEntry | None = None
    foreign: bool = False

    @property
    def id(self) -> str:
        return self.pool.pool_id if isinstance(self.pool, CreatePool) else self.pool.id

    @property
    def key(self) -> str | None:
        return naming.key(self.pool, self.entry)

    @property
    def name(self) -> str:
        return self.key or self.id

    @property
    def states_offers(self) -> bool:
        """Whether the files state its offers."""
        return self.entry is not None and self.entry.offers_are == "stated"


def standing(plan: Plan, live: Live) -> Iterator[Standing]:
    """All pools of the tenant that are not archived, in the order of their ids. What equals the wish is spelled as the
    files do."""
    commands: dict[str, list[Command]] = {}
    for operation in plan.operations:
        commands.setdefault(operation.pool_id, []).append(operation.command)
    entries, foreign = plan.comparison.desired.entries, _foreign(plan)
    for pool_id in sorted(live.pools.keys() | commands.keys()):
        entry, due = entries.get(pool_id), commands.get(pool_id, [])
        start = _live(live.pools.get(pool_id), live.tenant_id) or _born(due)
        if start and (made := _folded(start, due)):
            is_kept = entry is not None and not entry.released
            yield _as_written(made, entry) if entry and is_kept else replace(made, foreign=pool_id in foreign)


def _foreign(plan: Plan) -> frozenset[str]:
    """What no check is about that does not ask for it. What the fleet's own callers made, or an entry of a base stands
    for, is none of it, wherever its entry went: else whoever takes an entry away takes its pool from under the checks.
    """
    comparison = plan.comparison
    fleets = (comparison.desired, *comparison.guarding)
    callers = {caller for fleet in fleets for caller in fleet.callers}
    foreign = (*comparison.diff.foreign, *comparison.outside.foreign)
    others = {pool.id for pool in foreign if pool.created_by not in callers}
    return frozenset(others.difference(*(fleet.entries for fleet in fleets)))


def _live(state: PoolState | None, owner_id: str) -> Standing | None:
    """None: there is no such pool, or it is archived."""
    if state is None or state.pool is None or state.pool.archived:
        return None
    offers = {
        tenant_id: terms for tenant_id in state.offers if tenant_id != owner_id and (terms := state.terms(tenant_id))
    }
    return Standing(pool=state.pool, owner_quota=state.limits(owner_id), offers=offers)


def _born(commands: Sequence[Command]) -> Standing | None:
    """The pool that is to be created, bare; None: none is."""
    wish = next((command for command in commands if isinstance(command, CreatePool)), None)
    if wish is None:
        return None
    return Standing(pool=wish, owner_quota=DEFAULT_OWNER_QUOTA if wish.owner_quota is None else wish.owner_quota)


def _folded(before: Standing, commands: Sequence[Command]) -> Standing | None:
    """With the commands done; None: one of them archives it. No two are about the same, so that their order does not
    matter."""
    pool, owner_quota, offers = before.pool, before.owner_quota, dict(before.offers)
    for command in commands:
        match command:
            case ArchivePool():
                return None
            case UpdatePool(policy=policy, gpu_model=model):
                pool = replace(
                    pool,
                    policy=pool.policy if policy is None else policy,
                    gpu_model=pool.gpu_model if model is None else model,
                )
            case SetQuota(quota=quota):
                owner_quota = {**owner_quota, **quota}
            case OfferPool(to_tenant_id=tenant_id):
                offers[tenant_id] = _offered(offers.get(tenant_id), command)
            case UnofferPool(to_tenant_id=tenant_id):
                offers.pop(tenant_id, None)
    return replace(before, pool=pool, owner_quota=owner_quota, offers=dict(sorted(offers.items())))


def _offered(before: Terms | None, command: OfferPool) -> Terms:
    """Rows that an offer does not name stay (rule offer.again); a first one sets them whole."""
    had, descendants = before or Terms({}), command.include_descendants
    return Terms(
        quota={**had.quota, **command.quota},
        priority=had.priority if command.priority is None else command.priority,
        include_descendants=had.include_descendants if descendants is None else descendants,
    )


def _as_written(made: Standing, entry: PoolEntry) -> Standing:
    """`6h` and `360m` are equal, and so are a row of 0 and none: checks see what people wrote."""
    pool, wish, owner_quota = made.pool, entry.pool, made.owner_quota
    if wish is None:
        return replace(made, entry=entry)
    if same_policy(pool.policy, wish.policy):
        pool = replace(pool, policy=wish.policy)
    if wish.owner_quota is not None and not any(quota_changes("", owner_quota, wish.owner_quota)):
        owner_quota = wish.owner_quota
    offers = {tenant_id: _terms(terms, entry.offers.get(tenant_id)) for tenant_id, terms in made.offers.items()}
    return replace(made, pool=pool, owner_quota=owner_quota, offers=offers, entry=entry)


def _terms(made: Terms, wish: Terms | None) -> Terms:
    return made if wish is None or offer_changes(made, wish) else wish
