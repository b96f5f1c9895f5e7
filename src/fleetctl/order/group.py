"""The operations on one pool, with what the ordering rules ask of the pool before and after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    Policy,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.state import PoolState

QuotaCommand = OfferPool | SetQuota | UnofferPool
"""What sets one tenant's quota in a pool."""

_ACTIONS = {kind: n for n, kind in enumerate((CreatePool, UpdatePool, OfferPool, SetQuota, UnofferPool, ArchivePool))}


def to_tenant(command: Command) -> str:
    """The tenant that an offer, its withdrawal or a quota is for; empty for what concerns the pool alone."""
    return command.to_tenant_id if isinstance(command, QuotaCommand) else ""


def canonical(commands: Sequence[Command]) -> list[int]:
    """The positions of the commands by pool, action and tenant: whatever comes first anywhere comes first by this."""
    keys = [(c.pool_id, _ACTIONS[type(c)], to_tenant(c)) for c in commands]
    return sorted(range(len(commands)), key=keys.__getitem__)


@dataclass(slots=True)
class Group:
    """One pool's operations by their number, and the state they start from (empty: the pool is not born)."""

    live: PoolState
    creates: dict[int, CreatePool] = field(default_factory=dict)
    updates: dict[int, UpdatePool] = field(default_factory=dict)
    offers: dict[int, OfferPool] = field(default_factory=dict)
    quotas: dict[int, SetQuota] = field(default_factory=dict)
    unoffers: dict[int, UnofferPool] = field(default_factory=dict)
    archives: dict[int, ArchivePool] = field(default_factory=dict)
    owner: str = ""
    single: tuple[bool, bool] = (False, False)
    """Whether the policy says `singleTenant`, before and after."""
    model: tuple[str, str] = ("", "")
    """The GPU model, before and after."""
    early: frozenset[int] = frozenset()
    """Withdrawals and offers that precede an update of the model, and so move quota of the old one."""

    @property
    def numbers(self) -> Iterator[int]:
        """Every operation."""
        for kind in (self.creates, self.updates, self.offers, self.quotas, self.unoffers, self.archives):
            yield from kind

    @property
    def becomes_single(self) -> bool:
        return self.single == (False, True)

    @property
    def stops_single(self) -> bool:
        return self.single == (True, False)

    @property
    def changes_model(self) -> bool:
        return self.model[0] != self.model[1]

    @property
    def grants(self) -> Iterator[tuple[int, QuotaCommand]]:
        yield from self.offers.items()
        yield from self.quotas.items()
        yield from self.unoffers.items()

    @property
    def firsts(self) -> list[int]:
        """Offers to tenants besides the owner that hold none yet."""
        held = {self.owner, *self.live.offers}
        return [n for n, c in self.offers.items() if c.to_tenant_id not in held]

    @property
    def widened(self) -> list[int]:
        """Offers that have includeDescendants afterwards."""
        return [n for n, c in self.offers.items() if c.include_descendants]

    @property
    def narrowed(self) -> list[int]:
        """Offers that drop includeDescendants."""
        wide = {tenant_id for tenant_id, offer in self.live.offers.items() if offer.include_descendants}
        return [n for n, c in self.offers.items() if c.include_descendants is False and c.to_tenant_id in wide]


def groups(commands: Iterable[Command], live: Mapping[str, PoolState]) -> Iterator[Group]:
    """The pools of commands that stand in canonical order."""
    for pool_id, numbered in groupby(enumerate(commands), lambda pair: pair[1].pool_id):
        group = Group(live.get(pool_id) or PoolState())
        for number, command in numbered:
            _add(group, number, command)
        _describe(group)
        yield group


def _add(group: Group, number: int, command: Command) -> None:
    match command:
        case OfferPool():
            group.offers[number] = command
        case UnofferPool():
            group.unoffers[number] = command
        case UpdatePool():
            group.updates[number] = command
        case CreatePool():
            group.creates[number] = command
        case SetQuota():
            group.quotas[number] = command
        case ArchivePool():
            group.archives[number] = command


def _describe(group: Group) -> None:
    """Who owns the pool, and what its policy and model are before and after the update."""
    policy: Policy = {}
    model = ""
    for source in (*group.creates.values(), *(() if group.live.pool is None else (group.live.pool,))):
        policy, model = source.policy, source.gpu_model
        group.owner = source.tenant_id if isinstance(source, CreatePool) else source.owner_id
    after, new_model = policy, model
    for update in group.updates.values():
        after = after if update.policy is None else update.policy
        new_model = update.gpu_model or new_model
    group.single = (policy.get("singleTenant") is True, after.get("singleTenant") is True)
    group.model = (model, new_model)
    if group.changes_model:
        group.early = frozenset((*group.unoffers, *(group.narrowed if group.becomes_single else ())))
