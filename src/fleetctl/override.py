"""`--allow NAME=N --reason TEXT`: what may pass a guard, by name and number, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Allowable = Literal[
    "archives",
    "withdrawals",
    "gpusWithdrawn",
    "oversell",
    "belowUse",
    "archiveInUse",
    "modelChange",
    "rename",
    "freeze",
]
ALLOWABLE: tuple[Allowable, ...] = get_args(Allowable)
"""What `--allow NAME=N` can name. Nothing lifts `protect`."""


@dataclass(frozen=True, slots=True)
class Override:
    """The numbers that may pass, by name: pools archived, withdrawals, atoms, pools over maxOversell, quota rows below
    use, pools in use, pools that change their model, renamed entries, operations in a freeze. A number takes the place
    of the guard's own limit; 0 lets nothing pass."""

    numbers: Mapping[str, int]
    reason: str | None = None


def to_pass(name: Allowable, number: int) -> str:
    """The flags with which so many pass, and no more."""
    return f'--allow {name}={number} --reason "why"'


def rule(name: str) -> str:
    """The rule that an override lifts."""
    return "fleet.rename" if name == "rename" else f"guard.{name}"
