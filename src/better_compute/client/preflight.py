"""Asking the server about many operations at once, whatever number of requests that takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from better_compute.client.calls import Calls
from better_compute.domain.commands import Command, CreatePool
from better_compute.domain.problems import Problem
from better_compute.wire import commands, decode, views
from better_compute.wire.message import BODY_LIMIT

MOST = 1000
"""Operations of one request."""

_ROOM = BODY_LIMIT - 4096


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the server would carry out an operation, and everything it has to say about it."""

    ok: bool
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Batch:
    """Operations of one request: places in the caller's list (None for one that is repeated) and their spellings."""

    places: list[int | None]
    asked: list[bytes]
    size: int = 0

    def add(self, place: int | None, spelled: bytes) -> None:
        self.places.append(place)
        self.asked.append(spelled)
        self.size += len(spelled) + 1

    def fits(self, spelled: bytes) -> bool:
        return len(self.asked) < MOST and self.size + len(spelled) < _ROOM


def check(calls: Calls, operations: Sequence[Command], caller_id: str | None) -> list[Verdict]:
    """The verdicts, in the order of `operations`.

    The server folds one request's operations, so those of one pool are asked together, and where one request does not
    hold them all, the pool's creation is asked again in front of the rest.
    """
    verdicts: dict[int, Verdict] = {}
    for batch in _batches(operations):
        body: dict[str, Any] = {"operations": [msgspec.Raw(spelled) for spelled in batch.asked]}
        if caller_id is not None:
            body["callerId"] = caller_id
        found = calls.decoded("preflight/check", body, decode.answer(views.VerdictsView, _reader(len(batch.asked))))
        verdicts |= {place: verdict for place, verdict in zip(batch.places, found, strict=True) if place is not None}
    return [verdicts[place] for place in range(len(operations))]


def _batches(operations: Sequence[Command]) -> Iterator[_Batch]:
    by_pool: dict[str, list[int]] = {}
    for place, command in enumerate(operations):
        by_pool.setdefault(command.pool_id, []).append(place)
    batch = _Batch([], [])
    for places in by_pool.values():
        creation: bytes | None = None
        for place in places:
            spelled = _spelled(operations[place])
            if batch.asked and not batch.fits(spelled):
                yield batch
                batch = _Batch([], [])
                if creation is not None:
                    batch.add(None, creation)
            if isinstance(operations[place], CreatePool):
                creation = spelled
            batch.add(place, spelled)
    if batch.asked:
        yield batch


def _spelled(command: Command) -> bytes:
    operation, body = commands.encode(command)
    return msgspec.json.encode({"operation": operation, "input": body})


def _reader(count: int) -> Any:
    def read(view: views.VerdictsView) -> list[Verdict]:
        if len(view.verdicts) != count:
            raise ValueError(f"{len(view.verdicts)} verdicts about {count} operations")
        return [Verdict(v.ok, tuple(map(_problem, v.problems))) for v in view.verdicts]

    return read


def _problem(view: views.ProblemView) -> Problem:
    return Problem(view.code, view.rule, view.message, view.path, view.hint, view.severity)
