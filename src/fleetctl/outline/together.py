"""What plans break only together, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline import problems, values
from fleetctl.outline.head import commit
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Section, Sentence, Tone, Words
from fleetctl.words import joined, listed

if TYPE_CHECKING:
    from fleetctl.report.forms import JointProblem, Party, PlanReport, Problem, Together

_AT_HAND = "these files"


def fact(together: Together) -> str:
    """`site-ams1, commit 0123456789ab; more-h100, commit ba9876543210`."""
    return "; ".join(f"{escape(one['ref'])}{commit(one['commit'])}" for one in together["revisions"])


def section(report: PlanReport, *, verbose: bool) -> Section | None:
    """None where nobody asked."""
    if "together" not in report:
        return None
    return problems.section(told(report["together"]), "Broken only together", verbose=verbose)


def told(together: Together) -> list[Problem]:
    """The findings as those of one plan, each with the parties in its message."""
    return [_told(problem) for problem in together["findings"]]


def closing(together: Together) -> Sentence:
    """The sum: a plan that is free of errors says nothing of what comes with others."""
    found = Counter(problem["severity"] for problem in together["findings"])
    refs = listed([escape(one["ref"]) for one in together["revisions"]], "revision")
    tone: Tone = "bad" if found["error"] else "notice" if found else "plain"
    said = problems.tally(found["error"], found["warning"], found["unchecked"])
    sums = f"{said} that no plan has alone." if said else "nothing breaks only together."
    return Words("Together with ", tone), Words(refs, tone, foreign=True), Words(f": {sums}", tone)


def _told(problem: JointProblem) -> Problem:
    parties, message = problem["parties"], problem["message"]
    if problem["rule"] == "together.wish":
        message = f"{message}: {_wishes(parties)}"
    elif parties and problem["rule"] != "together.fleet":
        message = f"{message}; by {joined(list(dict.fromkeys(map(_party, parties))))}"
    return {
        "code": problem["code"],
        "rule": problem["rule"],
        "message": message,
        "path": problem["path"],
        "hint": problem["hint"],
        "severity": problem["severity"],
        "source": problem["source"],
    }


def _wishes(parties: Sequence[Party]) -> str:
    """`12h by these files (fra1.yaml:9) and 24h by more-h100 (fra1.yaml:9)`."""
    return joined([f"{values.cut(_wish(party))} by {_party(party)}" for party in parties])


def _wish(party: Party) -> str:
    return values.value(party["wish"]) if "wish" in party else "nothing"


def _party(party: Party) -> str:
    name = _AT_HAND if party["ref"] is None else escape(party["ref"])
    return f"{name} ({place(party['source'])})" if party["source"] else name
