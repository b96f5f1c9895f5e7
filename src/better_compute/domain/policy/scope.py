"""A policy and what is known of the pool it is for: what the rules on the whole policy read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from better_compute.domain.atoms import ISOLATING
from better_compute.domain.bounds import NO_HOSTS, HostBounds
from better_compute.domain.policy.paths import below, element
from better_compute.domain.policy.shown import shown
from better_compute.domain.problems import INVALID_INPUT, Problem, Severity


@dataclass(frozen=True, slots=True)
class Scope:
    """None is not known. A rule reads only values of the right type: what the table refuses is reported there.
    `before` is the policy that is replaced, empty where there is none."""

    policy: dict[str, Any]
    sharing: str | None = None
    class_: str | None = None
    attestors: frozenset[str] | None = None
    model: str | None = None
    agent: str | None = None
    bounds: HostBounds | None = NO_HOSTS
    before: Mapping[str, Any] = field(default_factory=dict)

    def get(self, path: str) -> Any:
        """The value at a path of the table; None where there is none."""
        value: Any = self.policy
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def items(self, path: str) -> list[Any]:
        """The list at a path of the table; empty where there is none."""
        value = self.get(path)
        return value if isinstance(value, list) else []

    def may_be_shared(self) -> bool:
        """Whether tenants who do not know each other may work in the pool, as far as that is known."""
        single = self.get("singleTenant")
        return (single is None or single is False) and self.sharing in ISOLATING


def problem(rule: str, message: str, hint: str = "", path: str = "", severity: Severity = "error") -> Problem:
    """A problem of the rule `policy.<rule>`; its path is the rule's own field unless another is given."""
    return Problem(INVALID_INPUT, f"policy.{rule}", message, path or f"policy.{rule}", hint, severity)


def text_of(value: object, name: str) -> str | None:
    """The text that an object holds under a name."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def doubles(rule: str, path: str, words: Sequence[str | None], name: str = "") -> Iterator[Problem]:
    """A problem for each entry of the list at `path` that says again what one before it says; None says nothing."""
    seen: dict[str, int] = {}
    for index, word in enumerate(words):
        if word is None:
            continue
        if word in seen:
            place = element(f"policy.{path}", index)
            said = f"{shown(word)} stands already at {path}[{seen[word]}]"
            yield problem(rule, said, "remove one of them", below(place, name) if name else place)
        seen.setdefault(word, index)
