"""Preflight: the operations, in order, through the control plane's own rules; every state in between is judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from better_compute.domain.commands import Command, CreatePool, OfferPool, SetQuota
from better_compute.domain.decide import decide
from better_compute.domain.facts import Facts
from better_compute.domain.problems import (
    ACCESS_DENIED,
    INVALID_STATE,
    NOT_FOUND,
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


def _nowhere(_rule: str, _name: str) -> str:
    return ""


def check(
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
    open_questions = any(p.severity == "unchecked" for problems in judged for p in problems)
    if open_questions and client is not None:
        verdicts = client.preflight.check([_housed(o.command, live) for o in plan.operations], plan.scope.caller)
        answers = [_heard(verdict) for verdict in verdicts]
        if plan.scope.caller != live.reader_id and all(any(p.code == ACCESS_DENIED for p in each) for each in answers):
            return [_powerless(plan, live, caller)]
        judged = _answered(judged, answers)
    judged = _without_echoes(plan.operations, judged)
    names = _Names(live, client, declared)
    return [
        names.hinted(_placed(p, o), o) for o, problems in zip(plan.operations, judged, strict=True) for p in problems
    ]


def fold(operations: Sequence[Operation], live: Live, caller: str) -> list[list[Problem]]:
    """Run the operations one after the other on a model of the live state: the problems of each. A pool whose site is
    not there is refused, and made elsewhere for the sake of what follows."""
    facts = Facts(actor_id=caller, now=live.instance.now, sites=live.sites, tenants=None, accounts=None, attestors=None)
    models: dict[str, PoolState] = {}
    judged: list[list[Problem]] = []
    for operation in operations:
        model = models.get(operation.pool_id)
        if model is None:
            known = live.pools.get(operation.pool_id)
            model = models[operation.pool_id] = known.copy() if known else PoolState()
        command, housed = operation.command, _housed(operation.command, live)
        decision = decide(model, housed, facts)
        problems = list(decision.problems if isinstance(decision, Refused) else decision.warnings)
        if housed is not command and isinstance(refusal := decide(model, command, facts), Refused):
            problems = [p for p in problems if p not in refusal.problems] + list(refusal.problems)
        if not isinstance(decision, Refused):
            model.apply(decision.delta)
        judged.append(problems)
    return judged


def _housed(command: Command, live: Live) -> Command:
    """The command, of a pool that is to be made at a site that the tenant has not, at one that it has: nothing but
    the rule pool.site asks for the site. The server cannot tell what follows from a creation that it refuses."""
    if not isinstance(command, CreatePool):
        return command
    site = live.sites.get(command.site_id)
    if site is not None and site.tenant_id == command.tenant_id:
        return command
    own = min((site.id for site in live.sites.values() if site.tenant_id == command.tenant_id), default=None)
    return command if own is None else replace(command, site_id=own)


def _powerless(plan: Plan, live: Live, caller: Place | None) -> Problem:
    """That the files' caller may do nothing of the plan: the wrong name, more often than the wrong rights."""
    name, source = plan.scope.caller, caller.source() if caller else None
    message = f"{name} may do nothing of this plan as {live.tenant_id}, or is no identity there"
    hint = did_you_mean(name, [live.reader_id])
    return Problem(ACCESS_DENIED, "server.rights", message, "caller", hint, source=source)


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
        rules = {p.rule for p in known}
        merged.append(known + [p for p in remote if p.rule not in rules])
    return merged


def _without_echoes(operations: Sequence[Operation], judged: list[list[Problem]]) -> list[list[Problem]]:
    """Without what merely follows: that a pool is not there is no news where its own creation is refused."""
    unborn = {o.pool_id for o, found in zip(operations, judged, strict=True) if o.action == "create" and errors(found)}
    return [
        [p for p in found if p.rule != "pool.owner" or o.pool_id not in unborn]
        for o, found in zip(operations, judged, strict=True)
    ]


@dataclass(slots=True)
class _Names:
    """What there is at the control plane, for who asks for what is not there. What is live is known; the tenants are
    listed once, when the first of them is missed."""

    live: Live
    client: Client | None
    declared: Callable[[str, str], str]
    tenants: frozenset[str] | None = None
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
                return replace(problem, hint=self._near(rule, name))
        return problem

    def _near(self, rule: str, name: str) -> str:
        asked = (rule, name)
        if asked not in self.hints:
            known = self._known(rule)
            brought = "" if name in known else self.declared(rule, name)
            self.hints[asked] = brought or self.nearest.hint(name, known)
        return self.hints[asked]

    def _known(self, rule: str) -> Collection[str]:
        if rule == "pool.site":
            return [site.id for site in self.live.sites.values() if site.tenant_id == self.live.tenant_id]
        if rule == "pool.provider":
            pools = (state.pool for state in self.live.pools.values())
            return {pool.provider_account_id for pool in pools if pool and pool.provider_account_id}
        if self.tenants is None:
            offered = {tenant_id for state in self.live.pools.values() for tenant_id in state.offers}
            self.tenants = frozenset(offered.union(tenant_ids(self.client) if self.client else ()))
        return self.tenants - {self.live.tenant_id}


def _placed(problem: Problem, operation: Operation) -> Problem:
    """The problem with the place in the files that it is about, in their spelling."""
    path = problem.path
    who = f"pools[{operation.name}]" + (f".offers[{operation.to_tenant_id}]" if operation.action == "offer" else "")
    if isinstance(operation.command, SetQuota) and path.partition(".")[0] == "quota":
        who, path = f"{who}.ownerQuota", path.partition(".")[2]
    return replace(problem, path=path, source=locate(operation.place, path)).under(who)
