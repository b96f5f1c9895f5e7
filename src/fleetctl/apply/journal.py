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
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.machine import disk
from fleetctl.plan import Operation
from fleetctl.words import count

Stream = IO[bytes]
NOTHING_WRITTEN = "nothing was written"
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
def opened_journal(path: Path | None, clock: Callable[[], int], digest: str) -> Iterator[Journal]:
    """A journal that goes on where `path` ends, on a line of its own; of None one that keeps nothing. Raises Stop."""
    if path is None:
        yield Journal(None, clock, digest)
        return
    try:
        stream = disk.at_once(path)
    except OSError as error:
        raise _refused(str(path), error, NOTHING_WRITTEN) from error
    with stream:
        yield Journal(stream, clock, digest, is_cut=disk.ends_within_a_line(path))


class Journal:
    """JSON lines: one for the run, then one an attempt and one an outcome, each written out before the next call is
    made. Holds no values of fleet files. `clock` gives epoch milliseconds; `stream` keeps nothing back, and where it
    `is_cut` its last line is not whole, and is ended first. Writing raises Stop, after which the next line is tried all
    the same: there may be room by then."""

    def __init__(self, stream: Stream | None, clock: Callable[[], int], digest: str, *, is_cut: bool = False) -> None:
        self._stream, self._clock, self._digest, self._lock = stream, clock, digest, Lock()
        self._is_cut, self._lost = is_cut, 0
        self._name = str(getattr(stream, "name", ""))

    @property
    def remark(self) -> str:
        """What people should know of it: outcomes that it does not hold. An empty text: it is whole."""
        if not self._lost:
            return ""
        lost = count(self._lost, "outcome")
        return f"The journal {self._name} lacks {lost}, for which there was no room: the report has all"

    def begun(self, change: Mapping[str, Any]) -> None:
        """What the run is of, and which guards it lets pass and why, as the events will name it; before any call."""
        self._write(NOTHING_WRITTEN, event="begin", change=dict(change))

    def started(self, operation: Operation) -> None:
        """The first attempt."""
        self._write_of(operation, event="attempt", attempt=1)

    def retried(self, operation: Operation, attempt: int, problem: Problem, wait: float) -> None:
        """Another attempt, after `wait` seconds, because of what became of the one before."""
        self._write_of(operation, event="retry", attempt=attempt, code=problem.code, waitSeconds=round(wait, 3))

    def finished(self, outcome: Outcome) -> None:
        """What became of it. It is done and will be reported, also where this has no room for it: then `remark` says
        so."""
        code = {"code": outcome.problem.code} if outcome.problem else {}
        note = {"note": outcome.note} if outcome.note else {}
        try:
            self._write_of(outcome.operation, event=outcome.status, attempt=outcome.attempts, **code, **note)
        except Stop:
            with self._lock:
                self._lost += 1

    def _write_of(self, operation: Operation, **fields: Any) -> None:
        about = {"n": operation.n, "action": operation.action, "poolId": operation.pool_id}
        self._write(operation=operation.digest, **about, toTenantId=operation.to_tenant_id, **fields)

    def _write(self, left: str = "", /, **fields: Any) -> None:
        if self._stream is None:
            return
        line = json.dumps({"time": self._clock(), "plan": self._digest, **fields}).encode() + b"\n"
        try:
            with self._lock:
                self._append(self._stream, b"\n" + line if self._is_cut else line)
        except OSError as error:
            raise _refused(self._name, error, left) from error

    def _append(self, stream: Stream, data: bytes) -> None:
        """All of it; a disk may take a part. Raises OSError; the next line knows where this ended."""
        written = 0
        try:
            while written < len(data):
                written += stream.write(data[written:])
        finally:
            if written:
                self._is_cut = data[written - 1 : written] != b"\n"


def _refused(name: str, error: OSError, left: str) -> Stop:
    said = ": ".join(filter(None, (f"the journal {name}".rstrip() + " cannot be written", error.strerror)))
    return Stop(EXIT_ERROR, "; ".join(filter(None, (said, left))), rule="apply.journal")
