"""Problems and places in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.shape import Finding, Section, Words
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import Problem, Source

_LIKE_SHOWN = 2


def place(source: Source) -> str:
    """`fleet.yaml:8`."""
    return f"{escape(source['file'])}:{source['line']}"


def places(sources: Iterable[Source]) -> str:
    """`fleet.yaml:8 and 3 more`: each place once. An empty text where there is none."""
    first, *rest = dict.fromkeys(map(place, sources)) or [""]
    return first + (f" and {len(rest):,} more" if rest else "")


def finding(problem: Problem) -> Finding:
    """A problem by its place; an error that has none by its code."""
    source, message, path = problem["source"], escape(problem["message"]), escape(problem["path"])
    return Finding(
        severity=problem["severity"],
        place=f"{place(source)}:{source['column']}" if source else "",
        lead=escape(problem["code"]) if problem["severity"] == "error" else "",
        text=f"{path}: {message}" if path and not message.startswith(path) else message,
        rule=escape(problem["rule"]),
        hint=escape(problem["hint"]),
    )


def section(problems: Sequence[Problem], title: str = "Findings", *, verbose: bool) -> Section:
    """All of them in their order; more than a few that say the same are counted, unless verbose."""
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    shown = []
    for problem in problems:
        found = finding(problem)
        like = alike.setdefault((problem["severity"], problem["rule"], problem["message"]), [])
        like.append(found)
        if len(like) <= _LIKE_SHOWN or verbose:
            shown.append(found)
    rest = {key: like[_LIKE_SHOWN:] for key, like in alike.items() if len(like) > _LIKE_SHOWN and not verbose}
    return Section(
        title=title,
        findings=tuple(shown),
        more=tuple(
            Words(f"and {len(left):,} more (--verbose): {escape(message)}", "quiet", foreign=True)
            for (_, _, message), left in rest.items()
        ),
        hidden=tuple(map(tuple, rest.values())),
    )


def tally(errors: int, warnings: int, unchecked: int) -> str:
    """`2 errors, 1 warning, 3 unchecked`; an empty string where there is nothing."""
    said = [count(errors, "error")] if errors else []
    said += [count(warnings, "warning")] if warnings else []
    said += [f"{unchecked:,} unchecked"] if unchecked else []
    return ", ".join(said)
