"""Whether what concurrent clients saw can be explained by one operation after the other.

A history is checked as it happened in time: whenever an answer came, the operation must have taken effect at some
moment since it was asked. All explanations that are left are carried along; a history without any is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

Step = Callable[[Any, Any], tuple[Any, Any]]
"""What a model answers in a state to an operation, and the state after it. States are hashable."""

MOST = 200_000
"""More explanations than this at one moment are not searched: the history is then too crowded to be judged."""


@dataclass(frozen=True, slots=True)
class Done:
    """An operation that was asked at `asked` and answered at `answered`. One whose answer was lost (`known` is False)
    took effect before `answered` or never."""

    asked: float
    answered: float
    operation: Hashable
    answer: Hashable = None
    known: bool = True


@dataclass(frozen=True, slots=True)
class Refuted:
    """The first answer that nothing explains, and the states that the object may have been in before."""

    done: Done
    states: tuple[Any, ...]


def refutation(history: Iterable[Done], start: Hashable, step: Step) -> Refuted | None:
    """Why a history of one object cannot be explained; None where it can."""
    moments = []
    for number, done in enumerate(history):
        moments += [(done.asked, 0, number, done), (done.answered, 1, number, done)]
    # Of what happens at the same time, what is asked comes first: that leaves the most ways to explain it.
    moments.sort(key=lambda moment: moment[:3])
    open_: dict[int, Done] = {}
    explained: set[tuple[Any, frozenset[int]]] = {(start, frozenset())}
    for _, ends, number, done in moments:
        if not ends:
            open_[number] = done
            continue
        before = explained
        explained = _until(before, open_, number, step)
        del open_[number]
        if not explained:
            return Refuted(done, tuple({state for state, _ in before}))
    return None


def _until(
    explained: set[tuple[Any, frozenset[int]]], open_: dict[int, Done], number: int, step: Step
) -> set[tuple[Any, frozenset[int]]]:
    """The explanations in which an operation has taken effect by now, or need not have."""
    after: set[tuple[Any, frozenset[int]]] = set()
    seen = set(explained)
    waiting = list(explained)
    while waiting:
        state, effective = waiting.pop()
        if number in effective or not open_[number].known:
            after.add((state, effective - {number}))
        if number in effective:
            continue
        for other, done in open_.items():
            if other not in effective:
                answer, changed = step(state, done.operation)
                found = (changed, effective | {other})
                if (not done.known or answer == done.answer) and found not in seen:
                    seen.add(found)
                    waiting.append(found)
        assert len(seen) < MOST, f"more than {MOST} explanations of {len(open_)} operations at once"
    return after
