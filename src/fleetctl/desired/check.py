"""The domain's rules on desired state, as far as they need no live state: what `validate` knows offline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from better_compute.domain.atoms import ATOMS, DEFAULT_AGENT, DEFAULT_SHARING
from better_compute.domain.commands import CreatePool, OfferPool
from better_compute.domain.decide import check_command, decide
from better_compute.domain.facts import Facts
from better_compute.domain.problems import Problem, Refused, Source, errors
from better_compute.domain.state import Pool, PoolState, Rollup, Terms
from fleetctl.desired.locate import locate
from fleetctl.desired.model import Desired, PoolEntry
from fleetctl.desired.place import Place

_OFFLINE = Facts(actor_id="", now=0, sites=None, tenants=None, accounts=None, attestors=None)
"""Nothing around the pool is known: what depends on it is left to preflight and the server."""
_WORDS = frozenset({"pool.class", "pool.sharing", "pool.agent", "pool.model"})
"""Rules on one field alone: where the defaults say it, it is wrong there, once for all pools that leave it out."""


def problems(desired: Desired, only: Collection[str] | None = None) -> list[Problem]:
    """Every problem of the rules, with its source, in order of pool ids: errors and warnings. What is written once for
    several pools, in the defaults, a policy or a template, is told once. What cannot be judged without live state is
    not among them. `only`: of the pools with these ids.

    Most pools of a fleet differ in names, sites and numbers alone. `load` has seen to it that numbers are in range, so
    where one pool is sound, so is every other of its shape.
    """
    sound: set[str] = set()
    found: dict[tuple[str, str, Source | None], Problem] = {}
    for entry in desired.entries.values():
        if only is not None and entry.pool_id not in only:
            continue
        if entry.pool is None or (shape := _shape(entry.pool, entry.offers)) in sound:
            continue
        wrong = [*_check_entry(entry, entry.pool, desired.places.get("defaults"))]
        for problem in wrong:
            found.setdefault((problem.rule, problem.message, problem.source), problem)
        if not wrong:
            sound.add(shape)
    return list(found.values())


def _shape(pool: CreatePool, offers: Mapping[str, Terms]) -> str:
    """All that a rule looks at: of a limit, which is in range, whether it is 0."""
    words = (pool.class_, pool.gpu_model, pool.sharing, pool.agent, pool.provider_account_id)
    owner = None if pool.owner_quota is None else _rows(pool.owner_quota)
    return repr((words, pool.policy, owner, [(_rows(t.quota), t.include_descendants) for t in offers.values()]))


def _rows(quota: Mapping[str, int]) -> list[tuple[str, bool]]:
    return [(resource, limit > 0) for resource, limit in quota.items()]


def _check_entry(entry: PoolEntry, pool: CreatePool, defaults: Place | None) -> Iterator[Problem]:
    """Create the pool and make its offers, one after the other, on a model of its own."""
    name = f"pools[{entry.key or entry.pool_id}]"
    for problem in check_command(pool, None):
        if defaults is not None and problem.rule in _WORDS and not entry.place.holds(problem.path):
            yield replace(problem, source=defaults.source("pool", problem.path)).under("defaults.pool")
        else:
            yield from _placed([problem], entry.place, name)
    state = PoolState.whole(_created(pool), {}, {}, Rollup())
    for offer in entry.offer_commands():
        tenant_id = offer.to_tenant_id
        yield from _placed(_offer(state, pool, offer), entry.offer_places[tenant_id], f"{name}.offers[{tenant_id}]")


def _created(pool: CreatePool) -> Pool:
    """The pool as its offers see it, also where the rules refuse it."""
    return Pool(
        id=pool.pool_id,
        owner_id=pool.tenant_id,
        site_id=pool.site_id,
        class_=pool.class_,
        gpu_model=pool.gpu_model,
        sharing=pool.sharing if pool.sharing in ATOMS else DEFAULT_SHARING,
        agent=pool.agent or DEFAULT_AGENT,
        provider_account_id=pool.provider_account_id,
        policy=pool.policy,
        region="",
        idempotency_key=pool.idempotency_key,
        created_by=_OFFLINE.actor_id,
        created_at=_OFFLINE.now,
    )


def _offer(state: PoolState, pool: CreatePool, command: OfferPool) -> list[Problem]:
    """What the rules say of an offer beside those made before it; a refused one is not made. Which rows an offer needs
    is not known where its own rows, or the pool's sharing mode, are wrong."""
    problems = check_command(command, None)
    wrong = bool(errors(problems)) or pool.sharing not in ATOMS
    answer = decide(state, replace(command, quota={}, priority=None) if wrong else command, _OFFLINE)
    if isinstance(answer, Refused):
        return [*problems, *answer.problems]
    state.apply(answer.delta)
    return problems if wrong else list(answer.warnings)


def _placed(problems: Iterable[Problem], place: Place, name: str) -> Iterator[Problem]:
    for problem in problems:
        if problem.severity != "unchecked":
            yield replace(problem, source=locate(place, problem.path)).under(name)
