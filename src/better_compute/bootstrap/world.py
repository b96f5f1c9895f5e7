"""Bringing a world into a database, as often as one likes: what is there stays, what is missing is added.

Loaded where there is a world file to read, and not before: its models take their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from better_compute.bootstrap.arrivals import declare
from better_compute.bootstrap.world_file import World, problem
from better_compute.domain.facts import Site
from better_compute.domain.problems import ComputeError, Problem, did_you_mean
from better_compute.service.actions import ROOT
from better_compute.service.ports import Account, Clock, Entropy, Identity, Tenant, Tx

_GUESSES = 20
"""So many names that are nowhere are compared with all that are; each takes its time."""


def add(tx: Tx, world: World, clock: Clock, entropy: Entropy) -> int:
    """Add what of `world` is not there; how many entries that were. Its machines wait for their pools.

    Raises ComputeError with every entry that is there and not the same, or that refers to what is nowhere.
    """
    rows = list(_rows(tx, world, clock, entropy))
    if problems := [*_instance(tx, world), *_dangling(tx, world, rows), *_changed(world, rows)]:
        raise ComputeError(*problems)
    missing = [row for row in rows if row.there is None]
    for row in missing:
        if row.add is not None:
            row.add(row.wanted)
    return len([row for row in missing if row.add]) + declare(tx, world.content.machines)


@dataclass(frozen=True, slots=True)
class _Row:
    """An entry of the file: the row that it wants, the one that is there, and the tenants that it refers to."""

    path: tuple[str | int, ...]
    refers: Mapping[str, str | None]
    wanted: Any = None
    there: Any = None
    add: Callable[[Any], None] | None = None
    same: Mapping[str, str] = field(default_factory=dict)
    """Fields that must agree, by their name in the file."""


def _rows(tx: Tx, world: World, clock: Clock, entropy: Entropy) -> Iterator[_Row]:
    """Tenants first: everything else refers to them."""
    content, now = world.content, clock()
    tenant, kind = {"tenantId": "tenant_id"}, {"kind": "kind"}
    for i, t in enumerate(content.tenants):
        made = Tenant(id=t.id, parent_id=t.parent_id, status="active", digest_key=entropy(32), created_at=now)
        parent = {"parentId": "parent_id"}
        yield _Row(("tenants", i), {"parentId": t.parent_id}, made, tx.tenant(t.id), tx.add_tenant, parent)
    for i, s in enumerate(content.sites):
        site = Site(s.id, s.tenant_id, s.kind, s.region, s.name or s.id)
        same = tenant | kind | {"region": "region"}
        yield _Row(("sites", i), {"tenantId": s.tenant_id}, site, tx.site(s.id), tx.add_site, same)
    for i, n in enumerate(content.identities):
        identity = Identity(id=n.id, tenant_id=n.tenant_id, kind=n.kind, created_at=now)
        refers = {"tenantId": n.tenant_id}
        yield _Row(("identities", i), refers, identity, tx.identity(n.id), tx.add_identity, tenant | kind)
    for i, a in enumerate(content.provider_accounts):
        account = Account(id=a.id, tenant_id=a.tenant_id, name=a.name or a.id)
        refers = {"tenantId": a.tenant_id}
        yield _Row(("providerAccounts", i), refers, account, tx.account(a.id), tx.add_account, tenant)
    for i, m in enumerate(content.machines):
        yield _Row(("machines", i), {"tenantId": m.tenant_id, "ownerTenantId": m.owner_tenant_id})


def _instance(tx: Tx, world: World) -> Iterator[Problem]:
    wanted, there = world.content.instance, tx.instance_id()
    if wanted not in (None, there):
        anew = "stop what uses the database, remove it, and begin anew with this file: a new one takes it"
        hint = f"leave it out, or {anew}"
        yield problem(world, f"this database is the instance {there}", "instance", hint=hint)


def _dangling(tx: Tx, world: World, rows: list[_Row]) -> Iterator[Problem]:
    """References to tenants that stand neither in the file nor in the database."""
    named = {tenant.id for tenant in world.content.tenants}
    hints: dict[str, str] = {}
    for row in rows:
        for name, tenant_id in row.refers.items():
            if tenant_id is not None and tenant_id not in named and tx.tenant(tenant_id) is None:
                if tenant_id not in hints:
                    hints[tenant_id] = did_you_mean(tenant_id, [*named, ROOT]) if len(hints) < _GUESSES else ""
                yield problem(world, f"no such tenant: {tenant_id}", *row.path, name, hint=hints[tenant_id])


def _changed(world: World, rows: list[_Row]) -> Iterator[Problem]:
    """Entries that are there and not as the file has them: nothing that runs is changed by a world file."""
    for row in rows:
        for name, attribute in row.same.items() if row.there is not None else ():
            there, wanted = getattr(row.there, attribute), getattr(row.wanted, attribute)
            if there != wanted:
                message = f"{row.wanted.id} is there already, with {name} {there}, not {wanted}"
                yield problem(world, message, *row.path, name, hint="a world file adds and never changes")
