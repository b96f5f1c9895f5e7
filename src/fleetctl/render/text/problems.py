"""Problems as compilers write them: place first, so that editors and people find it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.render.text.style import Style
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import Problem, Source

_LIKE_SHOWN = 2


def place(source: Source) -> str:
    return f"{escape(source['file'])}:{source['line']}"


def lines(problem: Problem, style: Style) -> Iterator[str]:
    """`file:line:column: path: message [rule]`, then its hint. Without a place an error's code comes first; what is no
    error says so."""
    is_error = problem["severity"] == "error"
    source, message, path = problem["source"], escape(problem["message"]), escape(problem["path"])
    where = f"{place(source)}:{source['column']}: " if source else f"{escape(problem['code'])}: " if is_error else ""
    head = (style.red if is_error else style.yellow)(where + ("" if is_error else f"{problem['severity']}: "))
    field = f"{path}: " if path and not message.startswith(path) else ""
    rule = style.dim(f" [{escape(problem['rule'])}]") if problem["rule"] else ""
    yield f"{head}{field}{message}{rule}"
    if problem["hint"]:
        yield f"  Hint: {escape(problem['hint'])}"


def block(problems: Sequence[Problem], style: Style) -> Iterator[str]:
    """All of them in their order; more than a few that say the same are counted, unless verbose."""
    alike: dict[tuple[str, str, str], int] = {}
    for problem in problems:
        key = problem["severity"], problem["rule"], problem["message"]
        alike[key] = alike.get(key, 0) + 1
        if alike[key] <= _LIKE_SHOWN or style.verbose:
            yield from lines(problem, style)
    for (_, _, message), number in alike.items():
        if number > _LIKE_SHOWN and not style.verbose:
            yield style.dim(f"and {number - _LIKE_SHOWN:,} more (--verbose): {escape(message)}")


def tally(errors: int, warnings: int, unchecked: int) -> str:
    """`2 errors, 1 warning, 3 unchecked`; an empty string where there is nothing."""
    said = [count(errors, "error")] if errors else []
    said += [count(warnings, "warning")] if warnings else []
    said += [f"{unchecked:,} unchecked"] if unchecked else []
    return ", ".join(said)
