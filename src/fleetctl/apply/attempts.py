"""One attempt at an operation: its call, and what follows from an answer, or from none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any

from better_compute.domain.problems import (
    INTERNAL_ERROR,
    NO_ANSWER,
    NOT_FOUND,
    NOT_REACHED,
    OTHER_INSTANCE,
    RATE_LIMITED,
    STRANGE_ANSWER,
    UNAVAILABLE,
    VERSION_CONFLICT,
    ComputeError,
    Problem,
)
from fleetctl.apply import answers, mover
from fleetctl.apply.journal import Journal, Outcome
from fleetctl.errors import STOPPED, Stop
from fleetctl.plan import Operation

if TYPE_CHECKING:
    from better_compute.client import Attempt, Client

UNSEEN = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Seconds to wait, one after the other, for a pool that was just made and is not there yet: a copy of the database that
lags behind may have answered."""

_NO_WORD = (NO_ANSWER, STRANGE_ANSWER)
"""Rules of calls that were sent and had no answer of a control plane: they may have been carried out."""
_BUSY = (429, 503)


@dataclass(slots=True, eq=False)
class Task:
    """An operation on its way to its outcome, from attempt to attempt. `is_new`: this run made its pool.

    `attempts` counts the calls that ask for the change, `made` those of the call that is made again, since its last
    answer, and `unseen` how often the pool was not there. `unknown`: one of them may have been carried out. `problem`
    is of the attempt before, after which it `waited`. `conflict`: the precondition no longer holds, and what is there
    has to be looked at. It goes on at the moment `due`; `burst` is the pace's.
    """

    operation: Operation
    is_new: bool
    attempts: int = 0
    made: int = 0
    unseen: int = 0
    unknown: bool = False
    problem: Problem | None = None
    waited: float = 0.0
    conflict: Problem | None = None
    due: float = 0.0
    burst: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """How an attempt ended: with an outcome, or without one: then another is to follow after `wait` seconds.

    `is_busy`: the control plane had too much to do; None: there is no telling. For `hold` seconds it wants no call at
    all. `halt` is why no other operation is to begin."""

    outcome: Outcome | None = None
    wait: float = 0.0
    is_busy: bool | None = None
    hold: float = 0.0
    halt: str = ""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Makes them, each in whatever thread, and waits for nothing but answers: the fields are those of the writer."""

    client: Client
    change: Mapping[str, Any]
    journal: Journal
    stop: Event

    def make(self, task: Task) -> Tried:
        """The next one. Raises nothing."""
        note = _Note()
        try:
            tried = self._call(task, note) if task.conflict is None else self._look(task, task.conflict, note)
        except ComputeError as error:
            tried = self._ended(task, error) if note.last is None else _again(task, note.last)
        except Stop as error:  # by the journal: what cannot be told there is not begun
            tried = Tried(outcome=_failed(task, Problem(STOPPED, error.rule, error.message)))
        except Exception as error:  # what nobody thought of must not lose the report of the rest
            tried = Tried(outcome=_failed(task, Problem(INTERNAL_ERROR, "apply.call", repr(error))))
        return tried if tried.outcome is None else replace(tried, outcome=self._told(task, tried.outcome))

    def give_up(self, task: Task) -> Outcome:
        """The end of one that waits for another attempt, and is to get none."""
        problem = task.conflict or task.problem
        assert problem is not None
        return self._told(task, _failed(task, problem))

    def _told(self, task: Task, outcome: Outcome) -> Outcome:
        outcome = replace(outcome, attempts=task.attempts)
        self.journal.finished(outcome)
        return outcome

    def _call(self, task: Task, note: _Note) -> Tried:
        operation = task.operation
        task.attempts += 1
        client = self.client.under(_named(self.change, operation)).pausing(note, made=task.made)
        if task.problem is None:
            self.journal.started(operation)
        else:
            self.journal.retried(operation, task.attempts, task.problem, task.waited)
        try:
            outcome = answers.send(operation, client)
        except ComputeError as error:
            if _is_unseen(task, error):
                return _look_again(task, error.problems[0]) or _failed_unseen(task)
            if error.code != VERSION_CONFLICT:
                raise
            task.conflict, task.made = error.problems[0], 0
            return self._look(task, task.conflict, note)
        if outcome.problem:
            outcome = self._moved(task, outcome.problem)
        return Tried(outcome=outcome, is_busy=False)

    def _look(self, task: Task, conflict: Problem, note: _Note) -> Tried:
        """What a lost answer left done is found done: the precondition no longer holds, and the object is as wished."""
        operation, is_done = task.operation, False
        try:
            state = self.client.pausing(note, made=task.made).pools.get(operation.pool_id)
            is_done = answers.is_as_wished(operation.command, state)
        except ComputeError as error:
            if note.last is not None:
                raise
            if _is_unseen(task, error) and (tried := _look_again(task, error.problems[0])):
                return tried
        if is_done:
            return Tried(outcome=Outcome(operation, "done", found=True), is_busy=False)
        return Tried(outcome=self._moved(task, conflict), is_busy=False)

    def _moved(self, task: Task, problem: Problem) -> Outcome:
        """The end of one whose object is not as it was planned from, and who changed it."""
        event = mover.last_change(task.operation, self.client)
        return replace(_failed(task, mover.told(problem, event)), moved_by=event)

    def _ended(self, task: Task, error: ComputeError) -> Tried:
        problem, is_busy, halt = error.problems[0], _is_busy(error), ""
        hold = (error.retry_after_ms or 0) / 1000 if is_busy else 0.0
        if problem.rule == OTHER_INSTANCE:
            halt = "another control plane answers"
        elif hold > self.client.calls.retry.patience:
            halt = f"the server asks to wait {hold:.0f} s"
        elif task.attempts > 1 and not self.stop.is_set():
            halt = self._silence(problem)
        return Tried(outcome=_failed(task, problem), is_busy=is_busy, hold=hold, halt=halt)

    def _silence(self, problem: Problem) -> str:
        """Why no other call makes sense after one that gave up: the server is gone, and each would wait as long."""
        if problem.rule not in (*_NO_WORD, NOT_REACHED):
            return ""
        try:
            self.client.once().system.info()
        except ComputeError as silence:
            return "the server no longer answers" if silence.code == UNAVAILABLE else ""
        return ""


def _named(change: Mapping[str, Any], operation: Operation) -> dict[str, Any]:
    """What an operation's call names, and its event keeps: without the heir of an archived pool, an undo of whichever
    apply made that one would leave tenants with neither."""
    heir = {} if operation.heir is None else {"heir": operation.heir}
    return {**change, "operation": operation.digest, **heir}


class _Note:
    """Takes note of an attempt that is to be made again, and leaves the waiting to others."""

    last: Attempt | None = None

    def __call__(self, attempt: Attempt) -> bool:
        self.last = attempt
        return True


def _again(task: Task, attempt: Attempt) -> Tried:
    problem = attempt.error.problems[0]
    if task.conflict is None:
        task.unknown = task.unknown or _is_unknown(problem)
    task.made, task.problem, task.waited = attempt.number, problem, attempt.wait
    hold = attempt.wait if attempt.is_asked else 0.0
    return Tried(wait=attempt.wait, is_busy=attempt.status in _BUSY or None, hold=hold)


def _is_unseen(task: Task, error: ComputeError) -> bool:
    """Whether a pool that this run made is said not to be there."""
    return task.is_new and error.code == NOT_FOUND and error.problems[0].rule in ("pool.owner", "")


def _look_again(task: Task, problem: Problem) -> Tried | None:
    """None: it was waited for long enough."""
    if task.unseen == len(UNSEEN):
        return None
    wait = UNSEEN[task.unseen]
    task.unseen, task.made, task.problem, task.waited = task.unseen + 1, 0, problem, wait
    return Tried(wait=wait, is_busy=False)


def _failed_unseen(task: Task) -> Tried:
    message = f"the pool is created but not visible: {sum(UNSEEN):g} s later the control plane knows no such pool"
    hint = "the same command again goes on where this ended: the pool's key makes no second one"
    return Tried(outcome=_failed(task, Problem(NOT_FOUND, "apply.unseen", message, hint=hint)), is_busy=False)


def _failed(task: Task, problem: Problem) -> Outcome:
    """A call without an answer, this one or one before, may have been carried out; who reads of it must know."""
    if task.unknown or _is_unknown(problem):
        remark = "it may have been done all the same: the same command again finds out"
        problem = replace(problem, hint=f"{problem.hint}; {remark}" if problem.hint else remark)
    return Outcome(task.operation, "failed", problem=problem)


def _is_unknown(problem: Problem) -> bool:
    """Whether nobody can tell if the call was carried out: no control plane answered, or it fell over its own feet."""
    return problem.rule in _NO_WORD or (problem.code == INTERNAL_ERROR and problem.rule != "apply.call")


def _is_busy(error: ComputeError) -> bool | None:
    """Whether the control plane, or what stands before it, had too much to do for a call that gets no other attempt;
    None: there is no telling."""
    problem = error.problems[0]
    if problem.code in (RATE_LIMITED, UNAVAILABLE) and error.retry_after_ms is not None:
        return True
    if problem.rule.startswith("client.") or problem.code == INTERNAL_ERROR:
        return None
    return problem.code in (RATE_LIMITED, UNAVAILABLE)
