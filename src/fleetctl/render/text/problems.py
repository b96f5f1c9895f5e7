"""Problems as compilers write them: place first, so that editors and people find it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fleetctl.render.escape import escape
from fleetctl.render.text.style import Style, count

if TYPE_CHECKING:
    from fleetctl.report.forms import Problem, Source

_LIKE_SHOWN = 2


def place(source: Source) -> str:
    return f"{escape(source['file'])}:{source['line']}"


def lines(problem: Problem, style: Style) -> Iterator[str]:
    """`file:line:column: path: message [rule]`, then its hint; without a place its code comes first."""
    source, severity = problem["source"], problem["severity"]
    where = f"{place(source)}:{source['column']}" if source else escape(problem["code"])
    colour = style.red if severity == "error" else style.yellow
    said = "" if severity == "error" else f"{severity}: "
    path = f"{escape(problem['path'])}: " if problem["path"] else ""
    rule = style.dim(f" [{escape(problem['rule'])}]") if problem["rule"] and source else ""
    yield f"{colour(f'{where}: {said}')}{path}{escape(problem['message'])}{rule}"
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
