"""Asking the server about many operations at once, whatever number of requests that takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import msgspec

from better_compute.client.calls import Calls
from better_compute.domain.commands import Command, CreatePool
from better_compute.domain.problems import Problem, errors
from better_compute.wire import commands, decode, views
from better_compute.wire.message import BODY_LIMIT

MOST = 1000
"""Operations of one request."""

_ROOM = BODY_LIMIT - 4096


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the server would carry out an operation, and everything it has to say about it.

    `in_order`: it was judged after all those of its pool that stand before it. Of a pool with more operations than one
    request holds, only the first ones can be: what the rest meets there is not the state that it will meet.
    """

    ok: bool
    problems: tuple[Problem, ...]
    in_order: bool = True


@dataclass(slots=True)
class _Batch:
    """Operations of one request: places in the caller's list (None for one that is repeated) and their spellings."""

    places: list[int | None] = field(default_factory=list)
    asked: list[bytes] = field(default_factory=list)
    size: int = 0
    in_order: bool = True

    def add(self, place: int | None, spelled: bytes) -> None:
        self.places.append(place)
        self.asked.append(spelled)
        self.size += len(spelled) + 1

    def fits(self, number: int, size: int) -> bool:
        return len(self.asked) + number <= MOST and self.size + size < _ROOM


def check(calls: Calls, operations: Sequence[Command], caller_id: str | None) -> list[Verdict]:
    """The verdicts, in the order of `operations`.

    The server folds one request's operations, so those of one pool are asked together. Those of a pool that no request
    holds are asked in several, each with what begins them in front as far as it makes the pool.
    """
    verdicts: dict[int, Verdict] = {}
    for batch in _batches(operations):
        body: dict[str, Any] = {"operations": [msgspec.Raw(spelled) for spelled in batch.asked]}
        if caller_id is not None:
            body["callerId"] = caller_id
        found = calls.decoded("preflight/check", body, decode.answer(views.VerdictsView, _reader(batch)))
        verdicts |= {place: verdict for place, verdict in zip(batch.places, found, strict=True) if place is not None}
    return [verdicts[place] for place in range(len(operations))]


def _batches(operations: Sequence[Command]) -> Iterator[_Batch]:
    by_pool: dict[str, list[int]] = {}
    for place, command in enumerate(operations):
        by_pool.setdefault(command.pool_id, []).append(place)
    batch = _Batch()
    for places in by_pool.values():
        spelled = [_spelled(operations[place]) for place in places]
        if batch.asked and not batch.fits(len(spelled), sum(map(len, spelled)) + len(spelled)):
            yield batch
            batch = _Batch()
        creations = list(takewhile(lambda place: isinstance(operations[place], CreatePool), places))
        for place, one in zip(places, spelled, strict=True):
            if batch.asked and not batch.fits(1, len(one)):
                yield batch
                batch = _Batch(in_order=False)
                for making in spelled[: len(creations)]:
                    batch.add(None, making)
            batch.add(place, one)
        if not batch.in_order:
            yield batch
            batch = _Batch()
    if batch.asked:
        yield batch


def _spelled(command: Command) -> bytes:
    operation, body = commands.encode(command)
    return msgspec.json.encode({"operation": operation, "input": body})


def _reader(batch: _Batch) -> Any:
    def read(view: views.VerdictsView) -> list[Verdict]:
        if len(view.verdicts) != len(batch.asked):
            raise ValueError(f"{len(view.verdicts)} verdicts about {len(batch.asked)} operations")
        return [_verdict(v, n, batch.in_order) for n, v in enumerate(view.verdicts, 1)]

    return read


def _verdict(view: views.VerdictView, number: int, in_order: bool) -> Verdict:
    """One that says yes and no at once is neither: whoever looks at one half would not see the other."""
    wrong = errors(problems := tuple(map(_problem, view.problems)))
    if view.ok and wrong:
        raise ValueError(f"verdict {number} is ok and names an error, {wrong[0].rule or wrong[0].code}")
    if not view.ok and not wrong:
        raise ValueError(f"verdict {number} is not ok and names no error")
    return Verdict(view.ok, problems, in_order)


def _problem(view: views.ProblemView) -> Problem:
    return Problem(view.code, view.rule, view.message, view.path, view.hint, view.severity)
