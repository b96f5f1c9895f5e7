"""Preflight: the operations, in order, through the control plane's own rules; every state in between is judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from better_compute.domain.atoms import ATOMS, DEFAULT_SHARING, ISOLATING
from better_compute.domain.commands import Command, CreatePool, OfferPool, SetQuota
from better_compute.domain.decide import decide
from better_compute.domain.facts import Facts
from better_compute.domain.problems import (
    ACCESS_DENIED,
    INVALID_STATE,
    NOT_FOUND,
    UNCHECKED,
    VERSION_CONFLICT,
    Problem,
    Refused,
    did_you_mean,
    errors,
)
from better_compute.domain.state import PoolState
from fleetctl.desired import Place
from fleetctl.desired.locate import locate
from fleetctl.desired.nearest import Nearest
from fleetctl.live import Live, tenant_ids
from fleetctl.plan import Operation, Plan

if TYPE_CHECKING:
    from better_compute.client import Client, Verdict


_PLACES = frozenset({"pool.site", "pool.provider"})
"""Rules that something is there which a pool is made at, or from."""


def _nowhere(_rule: str, _name: str) -> str:
    return ""


def problems(
    plan: Plan,
    live: Live,
    client: Client | None,
    caller: Place | None = None,
    declared: Callable[[str, str], str] = _nowhere,
) -> list[Problem]:
    """Every problem of the plan, with its source. The fold is the proof; the server is asked only where a fact was not
    to be had here (`client` of None: nobody is asked, and what is unchecked stays so). `caller`: where the files name
    it. `declared`: how to bring in what a rule finds nowhere, by rule and name."""
    judged = fold(plan.operations, live, plan.scope.caller)
    open_questions = any(p.severity == "unchecked" for each in judged for p in each)
    if client is not None and (open_questions or any(map(_is_refused, plan.operations, judged))):
        answers = _asked(plan, judged, live, client)
        if plan.scope.caller != live.reader_id and all(any(p.code == ACCESS_DENIED for p in each) for each in answers):
            return [_powerless(plan, live, caller)]
        judged = _answered(judged, answers)
    judged = _without_echoes(plan.operations, judged)
    names = _Names(live, client, declared)
    rights = [_unasked(plan, caller)] if client is None and plan.operations else []
    return rights + [
        names.hinted(_placed(p, o), o) for o, each in zip(plan.operations, judged, strict=True) for p in each
    ]


def joined(found: list[Problem], offline: Iterable[Problem]) -> list[Problem]:
    """Beside what preflight found, what is known offline of the same pools: it is judged by itself there, and hidden
    here by a creation that is refused. What is told already is not told again, also where defaults say it for all."""
    told = {(p.rule, p.source) for p in found}
    rules = {p.rule for p in found}
    return found + [
        p
        for p in offline
        if (p.rule, p.source) not in told and not (p.path.startswith("defaults.") and p.rule in rules)
    ]


def fold(operations: Sequence[Operation], live: Live, caller: str) -> list[list[Problem]]:
    """Run the operations one after the other on a model of the live state: the problems of each."""
    facts = Facts(actor_id=caller, now=live.instance.now, sites=live.sites, tenants=None, accounts=None, attestors=None)
    models: dict[str, PoolState] = {}
    judged: list[list[Problem]] = []
    for operation in operations:
        model = models.get(operation.pool_id)
        if model is None:
            known = live.pools.get(operation.pool_id)
            model = models[operation.pool_id] = known.copy() if known else PoolState()
        judged.append(_advance(model, operation.command, facts))
    return judged


def _is_refused(operation: Operation, problems: Sequence[Problem]) -> bool:
    """Whether a creation is, of which not all may be known that is wrong, nor of what stands on it."""
    return operation.action == "create" and bool(errors(problems))


def _advance(model: PoolState, command: Command, facts: Facts) -> list[Problem]:
    """Every problem of `command`, and the model is as it leaves the pool. A refused one changes nothing, but for a
    creation: a pool that no rule refuses stands in for it, for the sake of what follows, whose own mistakes would be
    hidden."""
    decision = decide(model, command, facts)
    problems = list(decision.problems if isinstance(decision, Refused) else decision.warnings)
    if isinstance(decision, Refused) and isinstance(command, CreatePool):
        decision = decide(model, _sound(command), replace(facts, sites=None))
    if not isinstance(decision, Refused):
        model.apply(decision.delta)
    return problems


def _asked(plan: Plan, judged: Sequence[Sequence[Problem]], live: Live, client: Client) -> list[list[Problem]]:
    """The server's problems of each operation. Of a creation that it refuses it tells what is wrong first, and nothing
    of what follows. So behind one that is refused, or may be for a fact that is not known here, go others that stand
    in for it, under the same key: once one of them is made the next are refused, and change nothing."""
    commands: list[Command] = []
    places: list[int] = []
    home = min((site.id for site in live.sites.values() if site.tenant_id == live.tenant_id), default=None)
    for operation, problems in zip(plan.operations, judged, strict=True):
        places.append(len(commands))
        commands += [operation.command, *_stand_ins(operation, problems, home)]
    heard = [_heard(verdict) for verdict in client.preflight.check(commands, plan.scope.caller)]
    answers = []
    for place, end in pairwise((*places, len(commands))):
        more = heard[place + 1] if end > place + 1 else ()
        answers.append(heard[place] + _news([p for p in more if p.rule in _PLACES], heard[place]))
    return answers


def _stand_ins(operation: Operation, problems: Sequence[Problem], home: str | None) -> Iterator[CreatePool]:
    """One that tells whether site and account are there, whatever else is wrong with the pool; and one that nothing is
    wrong with."""
    wished = operation.command
    if isinstance(wished, CreatePool) and any(problem.severity != "warning" for problem in problems):
        account, sound = wished.provider_account_id, _sound(wished)
        provided: dict[str, Any] = {"class_": "provider", "agent": "none", "provider_account_id": account}
        yield sound if account is None else replace(sound, **provided)
        if home is not None:
            yield replace(sound, site_id=home)


def _sound(command: CreatePool) -> CreatePool:
    """A pool that no rule refuses, if its site is there: like the wished one in all that its offers are judged by."""
    sharing = command.sharing if command.sharing in ATOMS else DEFAULT_SHARING
    policy: dict[str, Any] = {} if sharing in ISOLATING else {"gpu": {"slots": 2}}
    if command.policy.get("singleTenant") is True:
        policy["singleTenant"] = True
    fields: dict[str, Any] = {"agent": None, "provider_account_id": None, "owner_quota": None}
    return replace(command, class_="metal-host", gpu_model="H100", sharing=sharing, policy=policy, **fields)


def _powerless(plan: Plan, live: Live, caller: Place | None) -> Problem:
    """That the files' caller may do nothing of the plan: the wrong name, more often than the wrong rights."""
    name, source = plan.scope.caller, caller.source() if caller else None
    message = f"{name} may do nothing of this plan as {live.tenant_id}, or is no identity there"
    hint = did_you_mean(name, [live.reader_id])
    return Problem(ACCESS_DENIED, "server.rights", message, "caller", hint, source=source)


def _unasked(plan: Plan, caller: Place | None) -> Problem:
    """That nobody was asked whether the files' caller may do any of it."""
    name, source = plan.scope.caller, caller.source() if caller else plan.operations[0].source
    message = f"whether {name} may do this is not known here: apply finds out"
    return Problem(UNCHECKED, "server.rights", message, "caller", severity="unchecked", source=source)


def _heard(verdict: Verdict) -> list[Problem]:
    """What counts of the server's answer.

    Not what it says of versions: they moved since they were read, as they do when calls of a killed apply still land,
    and each write is judged by them at its own moment. Nor what it says of the state before an operation that it could
    not judge in order: there the fold is the proof.
    """
    deaf = {VERSION_CONFLICT} if verdict.in_order else {VERSION_CONFLICT, INVALID_STATE}
    return [problem for problem in verdict.problems if problem.code not in deaf]


def _answered(judged: list[list[Problem]], answers: Iterable[Sequence[Problem]]) -> list[list[Problem]]:
    """Local problems, and of the server's those that were not seen here; its answers close what was open."""
    merged = []
    for local, remote in zip(judged, answers, strict=True):
        known = [p for p in local if p.severity != "unchecked"]
        merged.append(known + _news(remote, known))
    return merged


def _news(problems: Iterable[Problem], told: Iterable[Problem]) -> list[Problem]:
    """Those of which no other says the same of the same field."""
    known = {(p.rule, p.path) for p in told}
    return [p for p in problems if (p.rule, p.path) not in known]


def _without_echoes(operations: Sequence[Operation], judged: list[list[Problem]]) -> list[list[Problem]]:
    """Without what merely follows: that a pool is not there is no news where its own creation is refused, and which
    rows its offers need is not known where it shares its GPUs in no known way."""
    unborn = {o.pool_id for o, found in zip(operations, judged, strict=True) if _is_refused(o, found)}
    odd = {o.pool_id for o in operations if isinstance(o.command, CreatePool) and o.command.sharing not in ATOMS}
    return [
        [
            p
            for p in found
            if not (p.rule == "pool.owner" and o.pool_id in unborn)
            and not (p.rule == "quota.value" and p.severity == "warning" and o.pool_id in odd)
        ]
        for o, found in zip(operations, judged, strict=True)
    ]


@dataclass(slots=True)
class _Names:
    """What there is at the control plane, for who asks for what is not there. What is live is known; the tenants are
    listed once, when the first of them is missed."""

    live: Live
    client: Client | None
    declared: Callable[[str, str], str]
    known: dict[str, Collection[str]] = field(default_factory=dict)
    nearest: Nearest = field(default_factory=Nearest)
    hints: dict[tuple[str, str], str] = field(default_factory=dict)

    def hinted(self, problem: Problem, operation: Operation) -> Problem:
        """The problem with the nearest name that is there."""
        command, rule = operation.command, problem.rule
        if problem.code != NOT_FOUND or problem.hint:
            return problem
        match command:
            case CreatePool(site_id=name) if rule == "pool.site":
                return replace(problem, hint=self._near(rule, name))
            case CreatePool(provider_account_id=str(name)) if rule == "pool.provider":
                return replace(problem, hint=self._near(rule, name))
            case OfferPool(to_tenant_id=name) if rule == "offer.tenant":
                made = f"a world file may bring it in, or `better-compute tenants create --id {name}` makes it"
                return replace(problem, hint=self._near(rule, name) or made)
        return problem

    def _near(self, rule: str, name: str) -> str:
        asked = (rule, name)
        if asked not in self.hints:
            if rule not in self.known:
                self.known[rule] = frozenset(self._known(rule))
            there = name in self.known[rule]
            self.hints[asked] = ("" if there else self.declared(rule, name)) or self.nearest.hint(
                name, self.known[rule]
            )
        return self.hints[asked]

    def _known(self, rule: str) -> Iterable[str]:
        if rule == "pool.site":
            return [site.id for site in self.live.sites.values() if site.tenant_id == self.live.tenant_id]
        if rule == "pool.provider":
            pools = (state.pool for state in self.live.pools.values())
            return {pool.provider_account_id for pool in pools if pool and pool.provider_account_id}
        offered = {tenant_id for state in self.live.pools.values() for tenant_id in state.offers}
        return offered.union(tenant_ids(self.client) if self.client else ()) - {self.live.tenant_id}


def _placed(problem: Problem, operation: Operation) -> Problem:
    """The problem with the place in the files that it is about, in their spelling."""
    path = problem.path
    who = f"pools[{operation.name}]" + (f".offers[{operation.to_tenant_id}]" if operation.action == "offer" else "")
    if isinstance(operation.command, SetQuota) and path.partition(".")[0] == "quota":
        who, path = f"{who}.ownerQuota", path.partition(".")[2]
    return replace(problem, path=path, source=locate(operation.place, path)).under(who)
