"""The shape of an apply."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import Action, Compared, Headed, Problem, Selection, Source


class Outcome(TypedDict):
    """What became of an operation. `problem` says why it failed; a blocked one waited in vain for those that `waitsFor`
    names by `n`."""

    n: int
    action: Action
    poolId: str
    key: str | None
    toTenantId: str | None
    digest: str
    status: Literal["done", "failed", "blocked", "notStarted"]
    note: str
    problem: Problem | None
    waitsFor: list[int]
    attempts: int
    source: Source


class ApplySummary(Compared):
    """Counts of operations, and how files and live state compared when they were planned."""

    operations: int
    done: int
    failed: int
    blocked: int
    notStarted: int  # noqa: N815 (JSON is camelCase)


ApprovedBy = Literal["plan", "digest", "hand"]


class ApplyReport(Headed):
    """What an apply did. `approvedBy`: a plan file, an expected digest, or whoever ran it. `interrupted` names the
    signal that ended it early; `selection` of null: it was of the whole fleet."""

    kind: Literal["apply"]
    digest: str
    commit: str | None
    allow: dict[str, int]
    reason: str | None
    selection: Selection | None
    approvedBy: ApprovedBy  # noqa: N815 (JSON is camelCase)
    interrupted: str | None
    done: list[Outcome]
    failed: list[Outcome]
    blocked: list[Outcome]
    notStarted: list[Outcome]  # noqa: N815 (JSON is camelCase)
    summary: ApplySummary
