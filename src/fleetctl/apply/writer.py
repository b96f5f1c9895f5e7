"""The only writer: runs a plan's operations, as many at a time as it may, each under its own precondition."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from threading import Event
from typing import TYPE_CHECKING, Any

from better_compute.domain.commands import (
    ArchivePool,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.problems import (
    CONFLICT,
    INTERNAL_ERROR,
    NO_ANSWER,
    NOT_REACHED,
    OTHER_INSTANCE,
    STRANGE_ANSWER,
    UNAVAILABLE,
    VERSION_CONFLICT,
    ComputeError,
    Problem,
)
from better_compute.domain.state import Pool, QuotaRow, Terms
from fleetctl.apply.journal import Journal, Outcome
from fleetctl.diff import Change, offer_changes, owner_changes, policy_changes
from fleetctl.errors import STOPPED, Stop
from fleetctl.plan import Operation, Plan

if TYPE_CHECKING:
    from better_compute.client import Attempt, Client, Created

Progress = Callable[[Outcome], None]

_NO_WORD = (NO_ANSWER, STRANGE_ANSWER)
"""Rules of calls that were sent and had no answer of a control plane: they may have been carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """What an apply writes with. `change` is what every event keeps as `via`; the operation's digest is added to it.
    Once `stop` is set nothing new is started.

    Nothing here waits in a way of its own, so that a test may own all time: `wait` is for the first of the futures that
    `executor` gave, at most `timeout` seconds; `stop.wait` lets seconds pass, and is called in the executor alone;
    `monotonic` tells the seconds."""

    client: Client
    executor: Executor
    parallelism: int
    change: Mapping[str, Any]
    journal: Journal
    progress: Progress
    stop: Event
    wait: Callable[..., Any] = wait
    monotonic: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class _Halt:
    """Why nothing new is started, besides a signal; blank while things go on."""

    why: str = ""


def run(plan: Plan, writer: Writer) -> tuple[Outcome, ...]:
    """Run every operation after those it depends on, and say what became of each, in the plan's order.

    A failed operation blocks those that depend on it and nothing else; a server that is gone, or is another, ends the
    run. Never plans anew: a killed apply is repaired by the same command again.
    """
    writer.journal.begun(writer.change)
    halt = _Halt()
    operations = {operation.n: operation for operation in plan.operations}
    sorter = TopologicalSorter({operation.n: operation.depends_on for operation in plan.operations})
    sorter.prepare()
    ready: deque[int] = deque(sorter.get_ready())
    running: dict[Future[Outcome], int] = {}
    outcomes: dict[int, Outcome] = {}
    while ready or running:
        while ready and len(running) < writer.parallelism and not (writer.stop.is_set() or halt.why):
            n = ready.popleft()
            running[writer.executor.submit(_perform, operations[n], writer, halt)] = n
        if not running:
            break
        for future in writer.wait(running, return_when=FIRST_COMPLETED).done:
            n = running.pop(future)
            outcomes[n] = outcome = future.result()
            writer.progress(outcome)
            if outcome.status == "done":
                sorter.done(n)
        ready.extend(sorter.get_ready())
    return _complete(plan, outcomes, halt.why)


def _complete(plan: Plan, outcomes: dict[int, Outcome], why: str) -> tuple[Outcome, ...]:
    """Every operation's outcome: one that did not run is blocked by those it waits for, or was not started."""
    for operation in plan.operations:
        if operation.n not in outcomes:
            failed = tuple(n for n in operation.depends_on if outcomes[n].status in ("failed", "blocked"))
            rest = Outcome(operation, "blocked", waits_for=failed) if failed else Outcome(operation, "notStarted", why)
            outcomes[operation.n] = rest
    return tuple(outcomes[operation.n] for operation in plan.operations)


def _perform(operation: Operation, writer: Writer, halt: _Halt) -> Outcome:
    """One operation, to its end. What a lost answer left done is found done: its precondition no longer holds, and the
    object is as wished."""
    attempts, unknown = 1, False

    def pause(attempt: Attempt) -> bool:
        nonlocal attempts, unknown
        unknown = unknown or _is_unknown(attempt.error.problems[0])
        # What is asked again is a new call, and after a signal there is none: it ends the wait.
        if halt.why or writer.stop.wait(attempt.wait):
            return True
        attempts += 1
        writer.journal.retried(operation, attempts, attempt.error.problems[0], attempt.wait)
        return False

    try:
        client = writer.client.under({**writer.change, "operation": operation.digest}).pausing(pause)
        writer.journal.started(operation)
        outcome = _send(operation, client)
    except ComputeError as error:
        outcome = _failed(operation, error.problems[0], unknown=unknown)
        if error.code == VERSION_CONFLICT and _is_as_wished(operation, writer.client):
            outcome = Outcome(operation, "done", "already as wished")
        if attempts > 1 and not writer.stop.is_set():
            halt.why = halt.why or _silence(error, writer.client)
        if error.problems[0].rule == OTHER_INSTANCE:
            halt.why = "another control plane answers"
    except Stop as error:  # by the journal: what cannot be told there is not begun
        outcome = _failed(operation, Problem(STOPPED, error.rule, error.message), unknown=unknown)
    except Exception as error:  # a call that goes wrong in a way nobody thought of must not lose the report of the rest
        outcome = _failed(operation, Problem(INTERNAL_ERROR, "apply.call", repr(error)), unknown=unknown)
    outcome = replace(outcome, attempts=attempts)
    writer.journal.finished(outcome)
    return outcome


def _failed(operation: Operation, problem: Problem, *, unknown: bool) -> Outcome:
    """A call without an answer, this one or one before, may have been carried out; who reads of it must know."""
    if unknown or _is_unknown(problem):
        remark = "it may have been done all the same: the same command again finds out"
        problem = replace(problem, hint=f"{problem.hint}; {remark}" if problem.hint else remark)
    return Outcome(operation, "failed", problem=problem)


def _is_unknown(problem: Problem) -> bool:
    """Whether nobody can tell if the call was carried out: no control plane answered, or it fell over its own feet."""
    return problem.rule in _NO_WORD or (problem.code == INTERNAL_ERROR and problem.rule != "apply.call")


def _silence(error: ComputeError, client: Client) -> str:
    """Why no other call makes sense after one that gave up: the server is gone, and each would wait as long."""
    if error.problems[0].rule not in (*_NO_WORD, NOT_REACHED):
        return ""
    try:
        client.once().system.info()
    except ComputeError as silence:
        return "the server no longer answers" if silence.code == UNAVAILABLE else ""
    return ""


def _send(operation: Operation, client: Client) -> Outcome:
    """Make the call and hold its answer against the wish: a server that answers with something else did not do it."""
    match operation.command:
        case CreatePool() as command:
            return _judged(operation, _created(client.pools.create(command), command))
        case UpdatePool() as command:
            return _judged(operation, _updated(client.pools.update(command), command))
        case OfferPool() as command:
            granted = client.pools.offer(command)
            terms = Terms(_limits(granted.rows), granted.offer.priority, granted.offer.include_descendants)
            return _judged(operation, _offered(terms, command))
        case UnofferPool() as command:
            return Outcome(operation, "done", "" if client.pools.unoffer(command) else "already gone")
        case SetQuota() as command:
            return _judged(operation, _granted(_limits(client.quotas.set(command)), command))
        case ArchivePool() as command:
            return _judged(operation, "" if client.pools.archive(command).archived else "the pool is not archived")
    raise TypeError(f"no call does {operation.action}")


def _judged(operation: Operation, difference: str) -> Outcome:
    if not difference:
        return Outcome(operation, "done")
    hint = "plan again: what is there now is not what this plan was made for"
    return Outcome(operation, "failed", problem=Problem(CONFLICT, "apply.answer", difference, hint=hint))


def _created(created: Created, wish: CreatePool) -> str:
    """A create answers the pool of its key, whoever made it and however (rule pool.key)."""
    pool = created.pool
    if pool.id != wish.pool_id:
        return f"the server made {pool.id} where {wish.pool_id} was planned"
    if pool.archived:
        return "the pool of this key was archived meanwhile"
    quota = _another("pool", owner_changes(wish, _limits(created.rows)))
    return quota or _as_updated(pool, wish.gpu_model, wish.policy)


def _updated(pool: Pool, wish: UpdatePool) -> str:
    return _as_updated(pool, wish.gpu_model, wish.policy)


def _as_updated(pool: Pool, model: str | None, policy: Mapping[str, Any] | None) -> str:
    if model is not None and pool.gpu_model != model:
        return f"the pool is there with gpuModel {pool.gpu_model}, not {model}"
    return _another("pool", policy_changes(pool.policy, policy) if policy is not None else ())


def _offered(terms: Terms | None, wish: OfferPool) -> str:
    if terms is None:
        return "the offer is not there"
    return _another("offer", offer_changes(terms, _wished_terms(wish)))


def _another(what: str, changes: Sequence[Change]) -> str:
    return f"the {what} is there with another {', '.join(change.path for change in changes)}" if changes else ""


def _granted(limits: Mapping[str, int], wish: SetQuota) -> str:
    """The owner's quota, once written, is kept exact: a row that nobody wished is as wrong as another limit."""
    wrong = sorted(r for r in {**limits, **wish.quota} if limits.get(r, 0) != wish.quota.get(r, 0))
    return f"the quota is there with another {', '.join(wrong)}" if wrong else ""


def _limits(rows: Mapping[str, QuotaRow]) -> dict[str, int]:
    return {resource: row.max for resource, row in rows.items()}


def _wished_terms(wish: OfferPool) -> Terms:
    return Terms(wish.quota, wish.priority or 0, bool(wish.include_descendants))


def _is_as_wished(operation: Operation, client: Client) -> bool:
    """Whether the object already is what the operation would make of it, read afresh. A pool that was archived
    meanwhile is not, whatever it holds: nobody can change it any more."""
    try:
        state = client.pools.get(operation.pool_id)
    except ComputeError:
        return False
    pool = state.pool
    if pool is None:
        return False
    match operation.command:
        case UpdatePool() as command:
            return not pool.archived and not _updated(pool, command)
        case OfferPool() as command:
            return not _offered(state.terms(command.to_tenant_id), command)
        case UnofferPool() as command:
            return command.to_tenant_id not in state.offers
        case SetQuota() as command:
            return not pool.archived and not _granted(state.limits(command.to_tenant_id), command)
        case ArchivePool():
            return pool.archived
    return False
