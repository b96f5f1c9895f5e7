"""What the operations of every group stand on: asking, reading lists, and whether an answer is about what was asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from better_compute.client.calls import Calls
from better_compute.client.walk import pages
from better_compute.domain.commands import Command
from better_compute.domain.problems import CONFLICT, STRANGE_ANSWER, ComputeError, Problem
from better_compute.wire import commands, decode

Named = tuple[str | None, ...]
"""The ids that an object goes by: a pool's, or those of a pool and a tenant. None is one that the server chooses."""


class Identified(Protocol):
    id: str


T = TypeVar("T")
N = TypeVar("N", bound=Identified)


@dataclass(frozen=True, slots=True)
class Group:
    calls: Calls

    def _write(self, command: Command, kind: Any, convert: Callable[[Any], T]) -> T:
        operation, body = commands.encode(command)
        return self.calls.decoded(operation, body, decode.answer(kind, convert))

    def _check(self, asked: Named, *answered: Named) -> None:
        """Raises ComputeError CONFLICT where an answer is about another object: nobody knows whether what was asked
        for was done."""
        for found in answered:
            if any(mine not in (None, theirs) for mine, theirs in zip(asked, found, strict=True)):
                told, wanted = (" for ".join(name or "a pool" for name in names) for names in (found, asked))
                message = self.calls.clean(f"the server answered with {told} where {wanted} was asked for")
                raise ComputeError(Problem(CONFLICT, STRANGE_ANSWER, message))

    def _ask(self, operation: str, kind: type[T], /, **body: Any) -> T:
        """The answer's view. What is None in `body` is left out."""
        read: Callable[[bytes], T] = decode.answer(kind, decode.as_it_is)
        return self.calls.decoded(operation, stated(body), read)

    def _ask_one(self, asked: str | None, operation: str, kind: type[N], /, **body: Any) -> N:
        """The same about the object of an id."""
        view = self._ask(operation, kind, **body)
        self._check((asked,), (view.id,))
        return view

    def _all(
        self, operation: str, kind: type[T], convert: Callable[[T], T] = decode.as_it_is, /, **body: Any
    ) -> list[T]:
        """Every page of a list in one list."""
        read = decode.page(kind, convert)
        return [item for page in pages(self.calls, operation, stated(body), read) for item in page.items]


def stated(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def listed(values: Collection[str] | None) -> list[str] | None:
    return None if values is None else list(values)
