"""Facts around the pools of some commands, read with as few questions as there are kinds of facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from better_compute.domain.bounds import NO_HOSTS
from better_compute.domain.commands import Command, CreatePool, OfferPool, UpdatePool
from better_compute.domain.facts import Facts
from better_compute.domain.state import PoolState
from better_compute.service.ports import Tx


def load_facts(tx: Tx, commands: Iterable[Command], *, actor_id: str, now: int, attestors: frozenset[str]) -> Facts:
    """What `decide` asks about when it judges `commands`; nothing is unknown to the server."""
    sites: set[str] = set()
    tenants: set[str] = set()
    accounts: set[str] = set()
    for command in commands:
        if isinstance(command, CreatePool):
            sites.add(command.site_id)
            if command.provider_account_id is not None:
                accounts.add(command.provider_account_id)
        elif isinstance(command, OfferPool):
            tenants.add(command.to_tenant_id)
    return Facts(
        actor_id=actor_id,
        now=now,
        sites=tx.sites_by_id(sites) if sites else {},
        tenants=tx.tenant_statuses(tenants) if tenants else {},
        accounts=tx.account_owners(accounts) if accounts else {},
        attestors=attestors,
    )


def load_bounds(tx: Tx, states: Mapping[str, PoolState], commands: Iterable[Command]) -> None:
    """Tell the states, by pool, what their hosts have: those with hosts whose policy a command replaces. Which cards
    they have matters where they are cut."""
    replaced = {c.pool_id for c in commands if isinstance(c, UpdatePool) and c.policy is not None}
    if asked := {pool_id for pool_id in replaced if states[pool_id].rollup.host_nodes}:
        found = tx.host_bounds(asked)
        cut = {pool_id for pool_id in asked if (pool := states[pool_id].pool) and pool.sharing == "mig"}
        cards = tx.card_sizes(cut) if cut else {}
        for pool_id in asked:
            bounds = found.get(pool_id, NO_HOSTS)
            states[pool_id].bounds = replace(bounds, cards=cards.get(pool_id, frozenset()))
