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
from fleetctl.files.walk import shown_name
from fleetctl.history import LastEvent
from fleetctl.machine import disk
from fleetctl.plan import Operation
from fleetctl.words import count

Stream = IO[bytes]
NOTHING_WRITTEN = "nothing was written"
Status = Literal["done", "failed", "blocked", "notStarted"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an operation. `found`, of one that is done: its object was so already, and whose doing that is
    the run does not know. `note` says why one was not started, `problem` why one failed, `moved_by` who changed its
    object since it was planned; a blocked one waited in vain for the operations named in `waits_for`."""

    operation: Operation
    status: Status
    note: str = ""
    found: bool = False
    problem: Problem | None = None
    moved_by: LastEvent | None = None
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
        raise _refused(shown_name(str(path)), error, NOTHING_WRITTEN) from error
    journal = Journal(stream, clock, digest, name=shown_name(str(path)), is_cut=disk.ends_within_a_line(path))
    try:
        yield journal
    finally:
        journal.close()


class Journal:
    """JSON lines: one for the run, then one an attempt and one an outcome, each written out before the next call is
    made, and one whenever fewer calls are made at a time. Holds no values of fleet files. `clock` gives epoch
    milliseconds; `stream`, shown by `name`, keeps nothing back, and where it `is_cut` its last line is not whole, and
    is ended first. Writing raises Stop, after which the next line is tried all the same: there may be room by then."""

    def __init__(
        self,
        stream: Stream | None,
        clock: Callable[[], int],
        digest: str,
        *,
        name: str = "",
        is_cut: bool = False,
    ) -> None:
        self._stream, self._clock, self._digest, self._lock = stream, clock, digest, Lock()
        self._name, self._is_cut = name, is_cut
        self._lost, self._why = 0, ""

    @property
    def remark(self) -> str:
        """What people should know of it: outcomes that it does not hold, or may not. An empty text: it is whole."""
        if not self._why:
            return ""
        lost = f"lacks {count(self._lost, 'outcome')}" if self._lost else "may lack what was written last"
        return f"The journal {self._name} {lost}: {self._why}"

    def begun(self, change: Mapping[str, Any]) -> None:
        """What the run is of, and which guards it lets pass and why, as the events will name it; before any call."""
        self._write(NOTHING_WRITTEN, event="begin", change=dict(change))

    def started(self, operation: Operation) -> None:
        """The first attempt."""
        self._write_of(operation, event="attempt", attempt=1)

    def retried(self, operation: Operation, attempt: int, problem: Problem, wait: float) -> None:
        """Another attempt, after `wait` seconds, because of what became of the one before."""
        self._write_of(operation, event="retry", attempt=attempt, code=problem.code, waitSeconds=round(wait, 3))

    def slowed(self, limit: int) -> None:
        """The control plane had too much to do: from here on at most `limit` calls are under way."""
        self._write(event="slower", limit=limit)

    def finished(self, outcome: Outcome) -> None:
        """What became of it. It is done and will be reported, also where this has no room for it: then `remark` says
        so."""
        code = {"code": outcome.problem.code} if outcome.problem else {}
        found = {"found": True} if outcome.found else {}
        try:
            self._write_of(outcome.operation, event=outcome.status, attempt=outcome.attempts, **code, **found)
        except Stop as stop:
            with self._lock:
                self._lost, self._why = self._lost + 1, _reason(stop.__cause__)

    def close(self) -> None:
        """Some systems say only now that there was no room: all is done by then, and is reported all the same."""
        try:
            if self._stream is not None:
                self._stream.close()
        except OSError as error:
            self._why = self._why or _reason(error)

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
    said = f"{f'the journal {name}'.rstrip()} cannot be written: {_reason(error)}"
    return Stop(EXIT_ERROR, "; ".join(filter(None, (said, left))), rule="apply.journal")


def _reason(error: BaseException | None) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
