"""What plans break only together, as their report has it: nothing sensitive is left in it."""

from __future__ import annotations

from better_compute.domain.policy.urls import mask_message
from fleetctl.diff import ABSENT, Change
from fleetctl.paths import Path
from fleetctl.plan.operation import ACTIONS
from fleetctl.report import forms, parts, problems
from fleetctl.together.joint import Joint, Party, Together
from fleetctl.together.part import Part


def of_together(together: Together) -> forms.Together:
    alone = {part.ref: _alone(part) for part in together.branches}
    return {
        "revisions": [
            {"ref": mask_message(ref), "commit": commit, "plan": alone.get(ref)}
            for ref, commit in together.asked.items()
        ],
        "findings": [_joint(joint) for joint in together.found],
        "blocked": together.blocked,
    }


def _alone(part: Part) -> forms.RevisionPlan:
    return {
        "operations": part.actions.total(),
        "actions": {action: part.actions[action] for action in ACTIONS.values()},
        "blocked": part.blocked,
    }


def _joint(joint: Joint) -> forms.JointProblem:
    parties = [_party(party, joint.at or ()) for party in joint.parties]
    return {**problems.problem(joint.problem), "parties": parties}


def _party(party: Party, at: Path) -> forms.Party:
    shown: forms.Party = {
        "ref": None if party.ref is None else mask_message(party.ref),
        "source": problems.source(party.source) if party.source else None,
    }
    if party.wish is not ABSENT:
        shown["wish"] = parts.change(Change(at, ABSENT, party.wish)).get("after")
    return shown
