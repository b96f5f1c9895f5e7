"""Of two sets of guards the stricter holds, guard by guard, whichever side has it."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from fleetctl.desired import Freeze, Guards

NOON, NIGHT = Freeze(0, 1, "noon"), Freeze(1, 2, "night")
PAIRS: dict[str, list[tuple[Any, Any, Any]]] = {
    "max_archives": [(0, 5, 0)],
    "max_archive_percent": [(0.5, 50, 0.5)],
    "max_withdrawals": [(0, 100, 0)],
    "max_gpus_withdrawn": [(8, 1000, 8)],
    "max_oversell": [(1.5, 2, 1.5), (1.5, None, 1.5)],
    "allow_below_use": [(False, True, False)],
    "allow_archive_in_use": [(False, True, False)],
    "allow_model_change": [(False, True, False)],
    "protect": [(frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"}))],
    "freeze": [((NOON,), (), (NOON,)), ((NOON, NIGHT), (NOON,), (NOON, NIGHT))],
}
"""Guard -> pairs of values, and what holds of both. One that is not here has not been thought about."""


def test_every_guard_has_a_stricter_side() -> None:
    assert {field.name for field in fields(Guards)} == PAIRS.keys()
    assert all(field.default is not MISSING for field in fields(Guards))


@pytest.mark.parametrize("name", PAIRS)
def test_the_stricter_of_two_holds_whichever_side_has_it(name: str) -> None:
    for strict, loose, both in PAIRS[name]:
        one, other = replace(Guards(), **{name: strict}), replace(Guards(), **{name: loose})
        assert {getattr(one.stricter(other), name), getattr(other.stricter(one), name)} == {both}


@pytest.mark.parametrize("name", PAIRS)
def test_what_both_sides_say_stands(name: str) -> None:
    """Also what is looser than the default: that is for files that are silent."""
    for strict, loose, _ in PAIRS[name]:
        for value in (strict, loose):
            guards = replace(Guards(), **{name: value})
            assert guards.stricter(guards) == guards
