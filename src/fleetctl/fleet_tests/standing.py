"""The live state that fleet files stand for: what applying them to an empty control plane would leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from better_compute.domain.commands import Command, CreatePool
from better_compute.domain.decide import decide
from better_compute.domain.facts import Facts, Site
from better_compute.domain.ids import DERIVATION
from better_compute.domain.problems import Refused
from better_compute.domain.state import PoolState
from fleetctl.desired import Desired, Place, PoolEntry
from fleetctl.desired.locate import locate
from fleetctl.files import FilesError
from fleetctl.live import ORIGIN, Instance, Live

_NAME = "fleet-test"
_KEY = bytes(32)
"""Digests of such a plan approve nothing."""


def standing(files: Desired | None, wished: Desired, now: int) -> Live:
    """The pools that `files` wish (None: none) as they would be live, for a plan of `wished`. Tombstones and released
    entries make none; pools that are adopted are there under their id. Tenants, sites and accounts are taken as there.
    Raises FilesError for what the rules refuse."""
    pools = _pools(files, now) if files is not None else {}
    return Live(
        instance=Instance(
            url=_NAME, id=_NAME, derivation=DERIVATION, capabilities=frozenset({ORIGIN}), digest_key=_KEY, now=now
        ),
        reader_id=wished.caller or "",
        tenant_id=wished.tenant_id if files is None else files.tenant_id,
        sequence=0,
        pools={pool_id: pools[pool_id] for pool_id in sorted(pools)},
        sites=_sites(wished),
    )


def _pools(files: Desired, now: int) -> dict[str, PoolState]:
    facts = Facts(
        actor_id=files.caller or "",
        now=now,
        sites=_sites(files),
        tenants=dict.fromkeys({t for entry in files.entries.values() for t in entry.offers}, "active"),
        accounts={pool.provider_account_id: files.tenant_id for _, pool in _made(files) if pool.provider_account_id},
        attestors=None,
    )
    pools: dict[str, PoolState] = {}
    problems = []
    for entry, pool in _made(files):
        state = pools[pool.pool_id] = PoolState()
        for command, place in _commands(entry, pool):
            decision = decide(state, command, facts)
            if isinstance(decision, Refused):
                problems += [replace(p, source=locate(place, p.path)) for p in decision.problems]
                break
            state.apply(decision.delta)
    if problems:
        raise FilesError(problems)
    return pools


def _made(files: Desired) -> Iterator[tuple[PoolEntry, CreatePool]]:
    for entry in files.entries.values():
        if entry.pool and not (entry.archived or entry.released):
            yield entry, entry.pool


def _commands(entry: PoolEntry, pool: CreatePool) -> Iterator[tuple[Command, Place]]:
    yield pool, entry.place
    for offer in entry.offer_commands():
        yield offer, entry.offer_places[offer.to_tenant_id]


def _sites(files: Desired) -> dict[str, Site]:
    """Every site that the files name, the tenant's own."""
    named = {entry.pool.site_id for entry in files.entries.values() if entry.pool}
    return {site_id: Site(site_id, files.tenant_id, "shared", "") for site_id in sorted(named)}
