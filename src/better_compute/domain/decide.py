"""The one decision function. The server calls it in a transaction, preflight folds it over a plan."""

from __future__ import annotations

from better_compute.domain import offers, pools
from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.decision import Decision, hidden
from better_compute.domain.facts import Facts
from better_compute.domain.problems import Problem, Refused, errors
from better_compute.domain.quotas import check_quota
from better_compute.domain.state import PoolState


def decide(state: PoolState, command: Command, facts: Facts) -> Decision | Refused:
    """What `command` does to the pool in `state`, or why it may not. Pure: the state is not changed.

    In this order, the first that fails deciding the code: the command by itself (INVALID_INPUT), whether the pool is
    there for the acting tenant (NOT_FOUND), its precondition (VERSION_CONFLICT), the rules. Two wait for
    the pool: a create is judged by itself only where it makes a new one (rule pool.key), and the policy of an update
    only where it changes, between NOT_FOUND and the precondition.
    """
    if isinstance(command, CreatePool):
        return pools.create(state, command, facts)
    problems = check_command(command, facts.attestors)
    if refusing := errors(problems):
        return Refused(refusing)
    pool = state.pool
    if pool is None or pool.owner_id != command.tenant_id:
        return hidden()
    match command:
        case UpdatePool():
            return pools.update(state, pool, command, facts, problems)
        case ArchivePool():
            return pools.archive(state, pool, command, facts)
        case OfferPool():
            return _warned(offers.offer(state, pool, command, facts), problems)
        case UnofferPool():
            return offers.unoffer(state, pool, command)
        case SetQuota():
            return _warned(offers.set_quota(state, pool, command), problems)
    raise TypeError(f"no rule decides {type(command).__name__}")


def check_command(command: Command, attestors: frozenset[str] | None) -> list[Problem]:
    """Every rule that the command can break by itself: what `validate` knows offline. The policy of an update is not
    judged here (see `pools.check_update`)."""
    match command:
        case CreatePool():
            return pools.check_create(command, attestors)
        case UpdatePool():
            return pools.check_update(command)
        case OfferPool():
            return offers.check_offer(command)
        case UnofferPool():
            return offers.check_unoffer(command)
        case SetQuota():
            return check_quota(command.quota)
    return []


def _warned(answer: Decision | Refused, problems: list[Problem]) -> Decision | Refused:
    if isinstance(answer, Refused) or not problems:
        return answer
    return Decision(answer.delta, answer.event, (*problems, *answer.warnings))
