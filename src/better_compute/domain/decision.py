"""What `decide` answers: what changes, what happened, what to warn of; or why not."""

from __future__ import annotations

from dataclasses import dataclass

from better_compute.domain.events import Event
from better_compute.domain.problems import CONFLICT, NOT_FOUND, VERSION_CONFLICT, Problem, Refused
from better_compute.domain.state import Delta


@dataclass(frozen=True, slots=True)
class Decision:
    """Allowed. No event means that nothing changes: then no version rises (invariant 7: one event per change)."""

    delta: Delta
    event: Event | None = None
    warnings: tuple[Problem, ...] = ()

    @property
    def changed(self) -> bool:
        return self.event is not None


UNCHANGED = Decision(Delta())


def hidden() -> Refused:
    """Rule pool.owner: what a stranger gets for a hidden pool is what it gets for an absent one."""
    return Refused((Problem(NOT_FOUND, "pool.owner", "no such pool"),))


def conflict(rule: str, message: str, path: str) -> Problem:
    return Problem(CONFLICT, rule, message, path)


def version_conflict(what: str, expected: int | None, found: int, path: str = "expectedVersion") -> Refused:
    """The precondition of a write, in the field `path`, does not hold any more; 0 says that there is none."""
    message = f"the {what} version is {found or 'none'}, expected {expected or 'none'}"
    return Refused((Problem(VERSION_CONFLICT, "version", message, path),))
