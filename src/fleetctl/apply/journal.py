"""What an apply did, as it does it: outcomes, and a journal of every attempt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Any, Literal

from better_compute.domain.problems import Problem
from fleetctl.machine import disk
from fleetctl.plan import Operation

Stream = IO[bytes]
Status = Literal["done", "failed", "blocked", "notStarted"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an operation. `note` says more of one that is done (`already as wished`) or why one was
    not started, `problem` why one failed; a blocked one waited in vain for the operations named in `waits_for`."""

    operation: Operation
    status: Status
    note: str = ""
    problem: Problem | None = None
    waits_for: tuple[int, ...] = ()
    attempts: int = 0


@contextmanager
def opened_journal(path: Path | None) -> Iterator[Stream | None]:
    """Where a journal goes on, if there is to be one. Raises OSError."""
    if path is None:
        yield None
        return
    with disk.at_once(path) as stream:
        yield stream


class Journal:
    """JSON lines: one for the run, then one an attempt and one an outcome, each written out before the next call is
    made. Holds no values of fleet files. `clock` gives epoch milliseconds; `stream` keeps nothing back. Writing raises
    OSError."""

    def __init__(self, stream: Stream | None, clock: Callable[[], int], digest: str) -> None:
        self._stream, self._clock, self._digest, self._lock = stream, clock, digest, Lock()

    def begun(self, change: Mapping[str, Any]) -> None:
        """What the run is of, and which guards it lets pass and why, as the events will name it."""
        self._write(event="begin", change=dict(change))

    def started(self, operation: Operation) -> None:
        """The first attempt."""
        self._write_of(operation, event="attempt", attempt=1)

    def retried(self, operation: Operation, attempt: int, problem: Problem, wait: float) -> None:
        """Another attempt, after `wait` seconds, because of what became of the one before."""
        self._write_of(operation, event="retry", attempt=attempt, code=problem.code, waitSeconds=round(wait, 3))

    def finished(self, outcome: Outcome) -> None:
        code = {"code": outcome.problem.code} if outcome.problem else {}
        note = {"note": outcome.note} if outcome.note else {}
        self._write_of(outcome.operation, event=outcome.status, attempt=outcome.attempts, **code, **note)

    def _write_of(self, operation: Operation, **fields: Any) -> None:
        about = {"n": operation.n, "action": operation.action, "poolId": operation.pool_id}
        self._write(operation=operation.digest, **about, toTenantId=operation.to_tenant_id, **fields)

    def _write(self, **fields: Any) -> None:
        if self._stream is None:
            return
        line = {"time": self._clock(), "plan": self._digest, **fields}
        try:
            with self._lock:
                self._stream.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise OSError(error.errno, error.strerror, getattr(self._stream, "name", None)) from error
