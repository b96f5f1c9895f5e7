"""preflight/check: what a list of operations would come to, one after the other, without writing anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from better_compute.domain import nodes
from better_compute.domain.bounds import NO_HOSTS
from better_compute.domain.commands import Command, CreatePool
from better_compute.domain.decide import decide
from better_compute.domain.facts import Facts
from better_compute.domain.ids import derive
from better_compute.domain.nodes import Machine
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem, Refused, did_you_mean
from better_compute.domain.state import PoolState
from better_compute.service.actions import ACTIONS, ROOT
from better_compute.service.core import Arriving, Service, denied, known
from better_compute.service.facts import load_bounds, load_facts
from better_compute.service.ports import Caller, PoolQuery, Tx
from better_compute.wire import inputs, show
from better_compute.wire.commands import OPERATIONS, build
from better_compute.wire.inputs import Asked, PreflightCheck
from better_compute.wire.reading import given, read
from better_compute.wire.views import VerdictsView, VerdictView

INPUTS: dict[str, type[Struct]] = {
    "pools/create": inputs.PoolsCreate,
    "pools/update": inputs.PoolsUpdate,
    "pools/offer": inputs.PoolsOffer,
    "pools/unoffer": inputs.PoolsUnoffer,
    "pools/archive": inputs.PoolsArchive,
    "quotas/set": inputs.QuotasSet,
}
"""What each operation that carries a command is asked with."""

_COMMANDS = {operation: kind for kind, operation in OPERATIONS.items()}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An operation that is no question for the rules."""

    problems: tuple[Problem, ...]


def check(service: Service, caller: Caller, body: PreflightCheck) -> VerdictsView:
    """A verdict for each operation, judged on a model of the pools that the operations before it have changed."""
    service.allow(caller, "preflight/check", body.tenant_id)
    caller_id = body.caller_id if isinstance(body.caller_id, str) else caller.identity_id

    def work(tx: Tx) -> list[VerdictView]:
        rights = _rights(service, tx, caller, caller_id, body.tenant_id)
        asked = [_command(service, op, body.tenant_id, caller_id, rights) for op in body.operations]
        commands = [command for command in asked if isinstance(command, Command)]
        facts = load_facts(tx, commands, actor_id=caller_id, now=service.clock(), attestors=service.attestor_names)
        pools = _pools(tx, body.tenant_id, commands)
        load_bounds(tx, pools, commands)
        arriving = _arriving(service, tx, commands)
        return [_verdict(pools, command, facts, arriving) for command in asked]

    return VerdictsView(service.store.view(work))


def _rights(service: Service, tx: Tx, caller: Caller, identity_id: str, tenant_id: str) -> frozenset[str]:
    """What the identity may do: nothing when it is unknown, or of a tenant that is not the caller's to know."""
    identity = tx.identity(identity_id)
    if identity is None or caller.tenant_id not in (identity.tenant_id, ROOT):
        return frozenset()
    return service.authorizer.rights(Caller(identity_id=identity.id, tenant_id=identity.tenant_id), tenant_id)


def _command(service: Service, op: Asked, tenant_id: str, caller_id: str, rights: frozenset[str]) -> Command | _Refusal:
    """The command that an operation stands for, or what is wrong with it before any rule is asked."""
    if op.operation not in INPUTS:
        message = f"preflight judges {', '.join(INPUTS)}"
        return _Refusal((Problem(INVALID_INPUT, "", message, hint=did_you_mean(op.operation[:100], INPUTS)),))
    try:
        stated = given(read(INPUTS[op.operation], op.input))
    except ComputeError as error:
        return _Refusal(error.problems)
    if stated["tenant_id"] != tenant_id:
        message = f"one request judges the operations of one tenant, {tenant_id}"
        return _Refusal((Problem(INVALID_INPUT, "", message, "tenantId"),))
    if ACTIONS[op.operation] not in rights:
        return _Refusal((denied(),))
    command = _COMMANDS[op.operation]
    if command is not CreatePool:
        return build(command, stated, stated["pool_id"])
    key = stated.get("idempotency_key")
    pool_id = derive("pool", tenant_id, caller_id, key) if key else service.new_id("pool")
    return build(command, stated, pool_id)


def _pools(tx: Tx, tenant_id: str, commands: Sequence[Command]) -> dict[str, PoolState]:
    """The models: every pool that a command names and the tenant sees, with all its offers; the others are empty."""
    ids = {command.pool_id for command in commands}
    found = tx.pool_states(PoolQuery(tenant_id=tenant_id, limit=len(ids), ids=ids, offers=True)) if ids else []
    return {pool_id: PoolState() for pool_id in ids} | {known(state).id: state for state in found}


def _arriving(service: Service, tx: Tx, commands: Sequence[Command]) -> Arriving:
    """What will join the pools that the commands make."""
    keys = {c.idempotency_key for c in commands if isinstance(c, CreatePool) and c.idempotency_key is not None}
    return service.arriving(tx, keys) if keys else lambda _pool, _models: ()


def _verdict(pools: dict[str, PoolState], command: Command | _Refusal, facts: Facts, arriving: Arriving) -> VerdictView:
    if isinstance(command, _Refusal):
        return _view(False, command.problems)
    state = pools[command.pool_id]
    decision = decide(state, command, facts)
    if isinstance(decision, Refused):
        return _view(False, decision.problems)
    state.apply(decision.delta)
    if isinstance(command, CreatePool) and decision.changed:
        _let_in(state, arriving(known(state), pools), facts.now)
    return _view(True, decision.warnings)


def _let_in(state: PoolState, machines: Iterable[tuple[Machine, int]], now: int) -> None:
    """Those that the pool takes join the model, so that what follows is judged as it will be."""
    pool = known(state)
    for machine, count in machines:
        node = nodes.join(state, pool, machine, "", now)
        if not isinstance(node, Refused):
            state.rollup = nodes.count_node(state.rollup, node, count)
            if node.is_schedulable:
                state.bounds = (state.bounds or NO_HOSTS).beside(node.inventory)


def _view(ok: bool, problems: tuple[Problem, ...]) -> VerdictView:
    return VerdictView(ok, [show.problem(problem) for problem in problems])
