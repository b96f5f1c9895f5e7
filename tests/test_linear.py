"""The judge of histories: a register that is read and written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.linear import Done, refutation


def register(state: Any, operation: Any) -> tuple[Any, Any]:
    kind, value = operation
    return (state, state) if kind == "read" else ("ok", value)


def write(asked: float, answered: float, value: int, *, known: bool = True) -> Done:
    return Done(asked, answered, ("write", value), "ok" if known else None, known)


def read(asked: float, answered: float, value: int) -> Done:
    return Done(asked, answered, ("read", None), value)


EXPLAINED = {
    "one after the other": [write(0, 1, 1), read(2, 3, 1)],
    "a read beside a write sees it or not": [write(0, 9, 1), read(1, 2, 0), read(3, 4, 1)],
    "writes at once in either order": [write(0, 9, 1), write(0, 9, 2), read(10, 11, 1)],
    "a lost write that took effect": [write(0, 5, 1, known=False), read(6, 7, 1)],
    "a lost write that did not": [write(0, 5, 1, known=False), read(6, 7, 0)],
    "what is asked in the moment of an answer is beside it": [write(0, 1, 1), read(1, 2, 0), read(3, 4, 1)],
}
REFUTED = {
    "a stale read": [write(0, 1, 1), write(2, 3, 2), read(4, 5, 1)],
    "a write that comes back": [write(0, 9, 1), read(1, 2, 1), read(3, 4, 0)],
    "a read of nothing that was written": [write(0, 1, 1), read(2, 3, 7)],
    "a lost write after it is settled": [write(0, 5, 1, known=False), read(6, 7, 0), read(8, 9, 1)],
    "two readers who disagree": [write(0, 9, 1), write(0, 9, 2), read(10, 11, 1), read(12, 13, 2)],
}


@pytest.mark.parametrize("history", EXPLAINED.values(), ids=EXPLAINED)
def test_what_one_order_explains_stands(history: list[Done]) -> None:
    assert refutation(history, 0, register) is None


@pytest.mark.parametrize("history", REFUTED.values(), ids=REFUTED)
def test_what_no_order_explains_is_refuted(history: list[Done]) -> None:
    found = refutation(history, 0, register)
    assert found is not None
    assert found.done == history[-1]


def test_a_long_history_of_many_clients_is_judged() -> None:
    """Eight at a time, a thousand times: what is judged stays as small as what is open."""
    history = []
    for turn in range(1000):
        history += [write(turn * 10 + n, turn * 10 + 9, turn * 8 + n) for n in range(7)]
        history.append(read(turn * 10 + 8.5, turn * 10 + 9.5, turn * 8 + 6))
    assert refutation(history, 0, register) is None
