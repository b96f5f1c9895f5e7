"""The guard of files that lost their end, or all that a document held: what is missing may not be meant to go."""

from __future__ import annotations

from better_compute.domain.problems import INVALID_STATE, Problem, Source
from fleetctl.guards.tally import Case

_CUT = "the file ends inside a line, as one that was cut short does, and this plan takes something away"
_BLANK = "nothing is said here, as in a file or document that was emptied, and this plan takes something away"


def problems(case: Case) -> list[Problem]:
    """Files that end inside a line, rule `files.cut`, or that hold no document or one that says nothing, rule
    `files.blank`: harmless in themselves, but a plan that takes anything away does not stand on them."""
    if case.taking is None:
        return []
    cut, blank = case.desired.cut, case.desired.blank
    remove = "remove it, or write a document, such as `pools: []`"
    return [
        *(_problem("files.cut", _CUT, "end its last line, if it is whole", Source(f, cut[f])) for f in sorted(cut)),
        *(_problem("files.blank", _BLANK, remove, Source(file, blank[file])) for file in sorted(blank)),
    ]


def _problem(rule: str, message: str, hint: str, source: Source) -> Problem:
    return Problem(INVALID_STATE, rule, message, hint=hint, source=source)
