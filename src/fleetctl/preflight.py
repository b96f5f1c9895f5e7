"""Preflight: the operations, in order, through the control plane's own rules; every state in between is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from better_compute.domain.commands import SetQuota
from better_compute.domain.decide import decide
from better_compute.domain.facts import Facts
from better_compute.domain.problems import VERSION_CONFLICT, Problem, Refused, errors
from better_compute.domain.state import PoolState
from fleetctl.desired.locate import locate
from fleetctl.live import Live
from fleetctl.plan import Operation, Plan

if TYPE_CHECKING:
    from better_compute.client import Client


def check(plan: Plan, live: Live, client: Client | None) -> list[Problem]:
    """Every problem of the plan, with its source. The fold is the proof; the server is asked only where a fact was not
    to be had here (`client` of None: nobody is asked, and what is unchecked stays so)."""
    judged = fold(plan.operations, live, plan.scope.caller)
    open_questions = any(p.severity == "unchecked" for problems in judged for p in problems)
    if open_questions and client is not None:
        verdicts = client.preflight.check([o.command for o in plan.operations], plan.scope.caller)
        judged = _answered(judged, [verdict.problems for verdict in verdicts])
    judged = _without_echoes(plan.operations, judged)
    return [_placed(p, o) for o, problems in zip(plan.operations, judged, strict=True) for p in problems]


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
        decision = decide(model, operation.command, facts)
        if isinstance(decision, Refused):
            judged.append(list(decision.problems))
        else:
            model.apply(decision.delta)
            judged.append(list(decision.warnings))
    return judged


def _answered(judged: list[list[Problem]], answers: Iterable[Sequence[Problem]]) -> list[list[Problem]]:
    """Local problems, and of the server's those that were not seen here; its answers close what was open.

    What it says of versions is left out: they moved since they were read, as they do when calls of a killed apply
    still land, and each write is judged by them at its own moment.
    """
    merged = []
    for local, remote in zip(judged, answers, strict=True):
        known = [p for p in local if p.severity != "unchecked"]
        rules = {p.rule for p in known}
        merged.append(known + [p for p in remote if p.rule not in rules and p.code != VERSION_CONFLICT])
    return merged


def _without_echoes(operations: Sequence[Operation], judged: list[list[Problem]]) -> list[list[Problem]]:
    """Without what merely follows: that a pool is not there is no news where its own creation is refused."""
    unborn = {o.pool_id for o, found in zip(operations, judged, strict=True) if o.action == "create" and errors(found)}
    return [
        [p for p in found if p.rule != "pool.owner" or o.pool_id not in unborn]
        for o, found in zip(operations, judged, strict=True)
    ]


def _placed(problem: Problem, operation: Operation) -> Problem:
    """The problem with the place in the files that it is about, in their spelling."""
    path = problem.path
    who = f"pools[{operation.name}]" + (f".offers[{operation.to_tenant_id}]" if operation.action == "offer" else "")
    if isinstance(operation.command, SetQuota) and path.partition(".")[0] == "quota":
        who, path = f"{who}.ownerQuota", path.partition(".")[2]
    return replace(problem, path=path, source=locate(operation.place, path)).under(who)
