"""The domain's rules on desired state, as far as they need no live state: what `validate` knows offline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from better_compute.domain.atoms import ATOMS, DEFAULT_SHARING
from better_compute.domain.commands import CreatePool, OfferPool
from better_compute.domain.decide import check_command, decide
from better_compute.domain.facts import Facts
from better_compute.domain.problems import Problem, Refused
from better_compute.domain.state import Change, PoolState, Terms
from fleetctl.desired.locate import locate
from fleetctl.desired.model import Desired, Place, PoolEntry

_OFFLINE = Facts(actor_id="", now=0, sites=None, tenants=None, accounts=None, attestors=None)
"""Nothing around the pool is known: what depends on it is left to preflight and the server."""


def check(desired: Desired) -> list[Problem]:
    """Every problem of the rules, with its source, each once, in order of pool ids: errors and warnings. What cannot
    be judged without live state is not among them.

    Most pools of a fleet differ in names, sites and numbers alone. `load` has seen to it that numbers are in range, so
    where one pool is sound, so is every other of its shape.
    """
    sound: set[str] = set()
    found: dict[Problem, None] = {}
    for entry in desired.entries.values():
        if entry.pool is None or (shape := _shape(entry.pool, entry.offers)) in sound:
            continue
        problems = dict.fromkeys(_check_entry(entry, entry.pool))
        found |= problems
        if not problems:
            sound.add(shape)
    return list(found)


def _shape(pool: CreatePool, offers: Mapping[str, Terms]) -> str:
    words = (pool.class_, pool.gpu_model, pool.sharing, pool.agent, pool.provider_account_id)
    owner = None if pool.owner_quota is None else [*pool.owner_quota]
    return repr((words, pool.policy, owner, [(*t.quota, t.include_descendants) for t in offers.values()]))


def _check_entry(entry: PoolEntry, pool: CreatePool) -> Iterator[Problem]:
    """Create the pool and make its offers, one after the other, on a model of its own."""
    name = f"pools[{entry.key or entry.pool_id}]"
    problems, change = _create(pool)
    yield from _placed(problems, entry.place, name)
    state = PoolState()
    state.apply(change)
    for tenant_id, terms in entry.offers.items():
        made = _offer(state, pool, tenant_id, terms)
        yield from _placed(made, entry.offer_places[tenant_id], f"{name}.offers[{tenant_id}]")


def _create(pool: CreatePool) -> tuple[list[Problem], Change]:
    """What the rules say of a new pool, and the pool as its offers see it."""
    answer = decide(PoolState(), pool, _OFFLINE)
    if not isinstance(answer, Refused):
        return list(answer.warnings), answer.change
    sound = replace(
        pool,
        class_="metal-host",
        gpu_model="H100",
        sharing=pool.sharing if pool.sharing in ATOMS else DEFAULT_SHARING,
        agent=None,
        provider_account_id=None,
        policy={"singleTenant": True} if pool.policy.get("singleTenant") is True else {},
        owner_quota=None,
    )
    stand_in = decide(PoolState(), sound, _OFFLINE)
    assert not isinstance(stand_in, Refused), "a plain pool may always be created"
    return check_command(pool, None), stand_in.change


def _offer(state: PoolState, pool: CreatePool, tenant_id: str, terms: Terms) -> Iterable[Problem]:
    """What the rules say of an offer beside those made before it; a refused one is not made."""
    command = OfferPool(
        tenant_id=pool.tenant_id,
        pool_id=pool.pool_id,
        to_tenant_id=tenant_id,
        quota=terms.quota,
        priority=terms.priority,
        include_descendants=terms.include_descendants,
    )
    answer = decide(state, command, _OFFLINE)
    if isinstance(answer, Refused):
        return *answer.problems, *check_command(command, None)
    state.apply(answer.change)
    return answer.warnings


def _placed(problems: Iterable[Problem], place: Place, name: str) -> Iterator[Problem]:
    for problem in problems:
        if problem.severity != "unchecked":
            yield replace(problem, source=locate(place, problem.path)).under(name)
