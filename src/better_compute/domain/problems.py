"""What can be wrong, said once: problems, where they come from, and how a rule refuses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "unchecked"]

# The codes a client branches on. The HTTP status of each stands in `api`.
INVALID_INPUT = "INVALID_INPUT"
UNAUTHENTICATED = "UNAUTHENTICATED"
SPEND_LIMIT_REACHED = "SPEND_LIMIT_REACHED"
ACCESS_DENIED = "ACCESS_DENIED"
TENANT_INACTIVE = "TENANT_INACTIVE"
NOT_FOUND = "NOT_FOUND"
CONFLICT = "CONFLICT"
INVALID_STATE = "INVALID_STATE"
VERSION_CONFLICT = "VERSION_CONFLICT"
LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
RATE_LIMITED = "RATE_LIMITED"
UNAVAILABLE = "UNAVAILABLE"
INTERNAL_ERROR = "INTERNAL_ERROR"
UNCHECKED = "UNCHECKED"
"""No refusal: a fact that a rule needs was not known."""
BLOCKED = "BLOCKED"
"""A limit of the client's own, such as a guard."""

NO_PATH = "api.path"
"""The rule of a request for a path that no control plane has."""

# Rules of calls that have no answer of the control plane that was asked; a client decides by them how to go on.
NOT_REACHED = "client.connect"
NO_ANSWER = "client.network"
STRANGE_ANSWER = "client.answer"
OTHER_INSTANCE = "client.instance"


@dataclass(frozen=True, slots=True)
class Source:
    """A place in a fleet file; line and column count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    `path` names the field in the spelling of the API (`quota.gpu`, `offers[2].priority`); `rule` is the name a
    reader can look up (`pool.class`). An `error` refuses, a `warning` only tells, `unchecked` says that a fact
    needed to judge was not known: never a silent pass.
    """

    code: str
    rule: str
    message: str
    path: str = ""
    hint: str = ""
    severity: Severity = "error"
    source: Source | None = None

    def under(self, prefix: str) -> Problem:
        """The same problem seen from one level further out."""
        if not self.path:
            return replace(self, path=prefix)
        joint = "" if self.path.startswith("[") else "."
        return replace(self, path=f"{prefix}{joint}{self.path}")


@dataclass(frozen=True, slots=True)
class Refused:
    """A command that the rules do not allow: every problem found, the deciding one first."""

    problems: tuple[Problem, ...]

    @property
    def code(self) -> str:
        return self.problems[0].code


class ComputeError(Exception):
    """An operation that did not happen: raised by the service, and by the client when a server answers so.

    `retry_after_ms` is how long to wait before asking again, None when asking again would not help.
    """

    def __init__(self, *problems: Problem, retry_after_ms: int | None = None) -> None:
        super().__init__(problems[0].message)
        self.problems = problems
        self.retry_after_ms = retry_after_ms

    @property
    def code(self) -> str:
        return self.problems[0].code


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Those that refuse."""
    return tuple(p for p in problems if p.severity == "error")


def ask(name: str) -> str:
    """`did you mean "x"?`; an empty string where there is no name."""
    return f'did you mean "{name}"?' if name else ""


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """`did you mean "x"?` for the nearest allowed word, else an empty string."""
    return ask(nearest(word, allowed))


def nearest(word: str, allowed: Iterable[str]) -> str:
    """The nearest allowed word, else an empty string."""
    from difflib import get_close_matches  # not at the top: a mistake is rare, starting is not

    choices = {choice.lower(): choice for choice in allowed}
    near = get_close_matches(word.lower(), choices, n=1, cutoff=0.6)
    return choices[near[0]] if near else ""
