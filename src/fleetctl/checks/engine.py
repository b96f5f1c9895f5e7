"""CEL: expressions compiled once, and run on what they see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fleetctl.desired.variables import LISTS

if TYPE_CHECKING:
    from cel_expr_python import cel

STEPS = 9_999
"""So many steps the engine takes for one result."""
LOOPS = ("all", "exists", "exists_one", "filter", "map")
"""What goes through a list or a map, binding a name: all that the engine has."""
MEMORY = "std::bad_alloc"
"""The failure of an expression that has no more memory."""

_MISTAKE = re.compile(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with an expression, in the words of the compiler, and where: line and column count from 1."""

    message: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """An expression that came to no result, in the words of the engine: these may hold values, and so secrets."""

    message: str


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; `kind` is what it yields, as far as that is known before it runs."""

    program: cel.Expression
    kind: str

    def result(self, seen: Seen) -> bool | str | Failure:
        """What it comes to; the name of its type where that is no boolean."""
        try:
            value = self.program.eval(seen.activation)
        except (RuntimeError, ValueError, TypeError) as error:
            return Failure(str(error))
        except MemoryError:
            return Failure(MEMORY)
        kind: str = value.type().name()
        if kind == "BOOL":
            return bool(value.value())
        return Failure(str(value.value())) if kind == "ERROR" else kind


class Seen:
    """Values of variables, brought to the engine once for all expressions that see them. They are JSON: dicts and
    lists."""

    def __init__(self, variables: Mapping[str, Any], each: str | None) -> None:
        self.activation = _env(each).Activation(dict(variables))


def compiled(text: str, each: str | None) -> Expression | Mistake:
    """An expression that sees one object of the kind `each`, or else the lists."""
    try:
        program = _env(each).compile(text)
    except RuntimeError as error:
        # The first mistake that the compiler names: those that follow are often its echoes.
        found = _MISTAKE.search(str(error))
        if found is None:
            return Mistake(str(error))
        return Mistake(found[3].removesuffix(" [INVALID_ARGUMENT]"), int(found[1]), int(found[2]))
    return Expression(program, program.return_type().name())


@cache
def _env(each: str | None) -> cel.Env:
    """Fields are looked up when they are asked for: a missing one is a failure then, and `has` tells."""
    from cel_expr_python import cel  # not at the top: few fleets have checks

    one = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    return cel.NewEnv(variables={name: cel.Type.List(one) for name in LISTS} if each is None else {each: one})
