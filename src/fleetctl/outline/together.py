"""What plans break only together, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline import problems, values
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Item, Section, Sentence, Tone, Words
from fleetctl.words import joined, listed, short

if TYPE_CHECKING:
    from fleetctl.report.forms import JointProblem, Party, PlanReport, Problem, Revision, Together

_AT_HAND = "these files"
_OTHER_FLEET = "together.fleet"
_ACTIONS = {
    "archive": ("archive", "archives"),
    "unoffer": ("to withdraw", "to withdraw"),
    "create": ("to create", "to create"),
    "update": ("to update", "to update"),
    "offer": ("offer", "offers"),
    "setQuota": ("owner quota", "owner quotas"),
}
"""What operations of each kind are called, one and several, the dangerous first."""


def fact(together: Together) -> str:
    """`more-h100 and site-ams1`."""
    return joined([escape(one["ref"]) for one in together["revisions"]])


def revisions(report: PlanReport) -> Section | None:
    """What each does alone; None where nobody asked."""
    if "together" not in report:
        return None
    strange = {party["ref"] for one in _strange(report["together"]) for party in one["parties"]}
    items = [_revision(one, is_strange=one["ref"] in strange) for one in report["together"]["revisions"]]
    return Section(title="Other revisions", items=tuple(items), is_open=True)


def section(report: PlanReport, *, verbose: bool) -> Section | None:
    """None where nobody asked."""
    if "together" not in report:
        return None
    found = [_placed(_told(problem), problem["parties"]) for problem in report["together"]["findings"]]
    return problems.section(found, "Broken only together", verbose=verbose)


def told(together: Together) -> list[Problem]:
    """The findings as those of one plan, each with the parties in its message; a place is one in the files at hand."""
    return [_told(problem) for problem in together["findings"]]


def closing(together: Together, *, is_blocked: bool) -> Sentence:
    """The sum, and why the command ends as it does: a plan that is free of errors says nothing of what comes with
    others."""
    found = Counter(problem["severity"] for problem in together["findings"])
    refs = listed([escape(one["ref"]) for one in together["revisions"]], "revision")
    alone = "" if is_blocked else ", though this plan alone is not"
    tone: Tone = "bad" if found["error"] else "notice" if found else "plain"
    said = problems.tally(found["error"], found["warning"], found["unchecked"])
    sums = f"{said} that no plan has alone." if said else "nothing breaks only together."
    sums += f" All together would be blocked{alone}: exit code 3." if together["blocked"] else ""
    return Words("Together with ", tone), Words(refs, tone, foreign=True), Words(f": {sums}", tone)


def _strange(together: Together) -> list[JointProblem]:
    """That a revision is of another fleet."""
    return [one for one in together["findings"] if one["rule"] == _OTHER_FLEET]


def _revision(one: Revision, *, is_strange: bool) -> Item:
    """`site-ams1 (0123456789ab): 1 archive, 3 to create`."""
    named, plan = f"{escape(one['ref'])} ({escape(short(one['commit']))})", one["plan"]
    if plan is None:
        return Item(subject=f"{named}: {'another fleet' if is_strange else 'in HEAD, or in another one of these'}")
    sums = [f"{n:,} {names[n > 1]}" for action, names in _ACTIONS.items() if (n := plan["actions"].get(action, 0))]
    blocked = "; blocked by itself" if plan["blocked"] else ""
    return Item(subject=f"{named}: {', '.join(sums) or 'no changes'}{blocked}", tone="bad" if blocked else "plain")


def _told(problem: JointProblem) -> Problem:
    parties, message = problem["parties"], problem["message"]
    if problem["rule"] == "together.wish":
        message = f"{message}: {_wishes(parties)}"
    elif parties and problem["rule"] != _OTHER_FLEET:
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


def _placed(problem: Problem, parties: Sequence[Party]) -> Problem:
    """With a place in the files of another revision, `more-h100:fra1.yaml:9`, where these have no part in it."""
    other = next((party for party in parties if party["ref"] is not None and party["source"] is not None), None)
    if problem["source"] is not None or other is None or other["source"] is None:
        return problem
    return {**problem, "source": {**other["source"], "file": f"{other['ref']}:{other['source']['file']}"}}


def _wishes(parties: Sequence[Party]) -> str:
    """`12h by these files (fra1.yaml:9) and 24h by more-h100 (fra1.yaml:9)`."""
    return joined([f"{values.cut(_wish(party))} by {_party(party)}" for party in parties])


def _wish(party: Party) -> str:
    return values.value(party["wish"]) if "wish" in party else "nothing"


def _party(party: Party) -> str:
    name = _AT_HAND if party["ref"] is None else escape(party["ref"])
    return f"{name} ({place(party['source'])})" if party["source"] else name
