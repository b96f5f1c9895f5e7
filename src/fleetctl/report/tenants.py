"""What tenants lose and gain by a plan's grants: one line for each loser, and the capacity by model and tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from better_compute.domain.atoms import UNLIMITED
from fleetctl.consequences import Consequences
from fleetctl.consequences.grants import Grant
from fleetctl.consequences.ledger import Amount, Ledger, Share, Stock
from fleetctl.live import Live
from fleetctl.plan import Operation
from fleetctl.plan.effects import booked
from fleetctl.words import count, joined, listed, unit

if TYPE_CHECKING:
    from fleetctl.report import forms

_DIGITS = 6
"""Digits of a cost behind the point."""


def losses(does: Consequences) -> list[forms.Shift]:
    """One for each tenant that is offered less than before, in some pool: gross, for what it gains elsewhere does not
    run the work that is here. What waits in a pool that is withdrawn fails with it. The owner loses the machines of
    pools that are archived."""
    lost = [_Row(g, *row) for g in does.grants if g.before is not None for row in g.lowered()]
    ended = [grant for grant in does.grants if grant.before is not None and grant.after is None]
    archived = [operation for operation in does.plan.operations if operation.action == "archive"]
    return _shifts("loses", lost, ended, does, archived)


def gains(does: Consequences) -> list[forms.Shift]:
    """One for each tenant that is offered more than before, in some pool; gross too."""
    gained = [_Row(grant, *row) for grant in does.grants for row in _raised(grant)]
    return _shifts("gains", gained, [grant for grant in does.grants if grant.before is None], does)


def capacity(kept: Ledger) -> forms.Capacity:
    """The ledger of a plan, as it is shown."""
    return {
        "shares": [_share(*key, tenant_id, share) for (key, tenant_id), share in kept.shares.items()],
        "stock": [_stock(*key, stock) for key, stock in kept.stock.items()],
    }


def _share(model: str, atom: str, site_id: str, tenant_id: str, share: Share) -> forms.Share:
    return {
        "gpuModel": model,
        "atom": atom,
        "siteId": site_id,
        "tenantId": tenant_id,
        "before": share.before.atoms,
        "after": share.after.atoms,
        "inUse": share.in_use,
        "frozen": share.frozen,
        "costBefore": _cost(share.before),
        "costAfter": _cost(share.after),
    }


def _stock(model: str, atom: str, site_id: str, stock: Stock) -> forms.Stock:
    before, after = stock.oversell
    return {
        "gpuModel": model,
        "atom": atom,
        "siteId": site_id,
        "schedulable": stock.schedulable,
        "schedulableAfter": stock.schedulable_after,
        "before": stock.before.atoms,
        "after": stock.after.atoms,
        "inUse": stock.in_use,
        "oversellBefore": before,
        "oversellAfter": after,
    }


def _cost(amount: Amount) -> float | None:
    return None if amount.cost is None else round(amount.cost, _DIGITS)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a grant that moves."""

    grant: Grant
    resource: str
    had: int
    has: int

    @property
    def is_atom(self) -> bool:
        return self.resource == self.grant.facts.atom

    @property
    def amount(self) -> int:
        """UNLIMITED, where it was or becomes that."""
        return UNLIMITED if UNLIMITED in (self.had, self.has) else abs(self.has - self.had)

    @property
    def unit(self) -> str:
        facts, is_less = self.grant.facts, self.has < self.had
        model = facts.gpu_model if is_less else facts.new_model
        named = unit(model, self.resource) if self.is_atom else self.resource
        limitless = "its unlimited " if is_less else "unlimited "
        return f"{limitless}{named}" if self.amount == UNLIMITED else named


def _raised(grant: Grant) -> Iterator[tuple[str, int, int]]:
    """Resource, before, after of each row that rises. GPUs of a pool that gets another model are new ones."""
    for resource, has in sorted((grant.after or {}).items()):
        is_new = resource == grant.facts.atom and grant.facts.changes_model
        had = 0 if is_new else (grant.before or {}).get(resource, 0)
        if has > had:
            yield resource, had, has


def _shifts(
    verb: str, rows: Sequence[_Row], offers: Sequence[Grant], does: Consequences, archived: Sequence[Operation] = ()
) -> list[forms.Shift]:
    """By tenant, the most GPUs first. `offers`: those that come or go whole; `archived`: the owner's pools that go."""
    found: dict[str, tuple[list[_Row], list[Grant]]] = {}
    for row in rows:
        found.setdefault(row.grant.tenant_id, ([], []))[0].append(row)
    for grant in offers:
        found.setdefault(grant.tenant_id, ([], []))[1].append(grant)
    owner_id = does.live.tenant_id
    if archived:
        found.setdefault(owner_id, ([], []))
    sizes: dict[str, int] = {}
    shifts: list[forms.Shift] = []
    for tenant_id, (moved, whole) in found.items():
        gone = archived if tenant_id == owner_id else ()
        told = [*_amounts(moved, whole), *_pools(gone, does)]
        ending = _ending(whole, gone, tenant_id, does.live) if verb == "loses" else ""
        operations = {*(row.grant.operation.n for row in moved), *(grant.operation.n for grant in whole)}
        operations |= {operation.n for operation in gone}
        sizes[tenant_id] = sum(row.amount for row in moved if row.is_atom) + sum(_machines(gone, does).values())
        sentence = f"{verb} {', and '.join(told)}{ending}"
        shifts.append({"tenantId": tenant_id, "sentence": sentence, "operations": sorted(operations)})
    return sorted(shifts, key=lambda shift: (-sizes[shift["tenantId"]], shift["tenantId"]))


def _amounts(rows: Sequence[_Row], offers: Sequence[Grant]) -> Iterator[str]:
    """`16 H100 GPUs, 64 vcpu and 2 offers in fra1-a`."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row.unit] += 0 if row.amount == UNLIMITED else row.amount
    parts = [f"{amount} {name}" if amount else name for name, amount in sorted(sums.items())]
    if offers:
        parts.append(count(len(offers), "offer"))
    if parts:
        grants = sorted([*(row.grant for row in rows), *offers], key=lambda grant: grant.operation.n)
        yield f"{joined(parts)} in {listed(list(dict.fromkeys(grant.operation.name for grant in grants)), 'pool')}"


def _pools(archived: Sequence[Operation], does: Consequences) -> Iterator[str]:
    """`the pool fra1-old (64 H100 GPUs)`: with what the machines make that go with it, as far as somebody knows."""
    if archived:
        amounts = [f"{number} {name}" for name, number in sorted(_machines(archived, does).items())]
        names = listed([operation.name for operation in archived], "pool")
        yield f"the pool{'s' if len(archived) > 1 else ''} {names}{f' ({joined(amounts)})' if amounts else ''}"


def _machines(archived: Sequence[Operation], does: Consequences) -> Counter[str]:
    sums: Counter[str] = Counter()
    for operation in archived:
        facts = does.pools.of(operation.pool_id)
        if facts.atom is not None and facts.schedulable:
            sums[unit(facts.gpu_model, facts.atom)] += facts.schedulable
    return sums


def _ending(ended: Sequence[Grant], archived: Sequence[Operation], tenant_id: str, live: Live) -> str:
    """What waits in pools that end for a tenant, and what runs on in those that are archived, whosever it is; of a pool
    without reservations what is booked in it."""
    pools = {*(grant.operation.pool_id for grant in ended), *(operation.pool_id for operation in archived)}
    waiting = [live.pools[pool_id].rollup.work.get(tenant_id) for pool_id in pools]
    pending = sum(work.pending for work in waiting if work)
    running, used = 0, Counter[str]()
    for state in (live.pools[operation.pool_id] for operation in archived):
        running += (work := state.rollup.total_work.running)
        used.update({} if work else state.booked)
    told = [f"{count(pending, 'pending reservation')} will fail"] if pending else []
    if running:
        told.append(f"{count(running, 'placed or active reservation')} {'runs' if running == 1 else 'run'} on")
    told += booked(used)
    return "".join(f"; {each}" for each in told)
