"""The shape of an apply."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from fleetctl.report.forms.shared import Action, Compared, Headed, Inverse, Problem, Selection, Source


class Mover(TypedDict):
    """Who changed an object after it was planned to be changed, by its last event: the actor, and the fleet, digest and
    commit of the change that the call named; null where it named none."""

    actorId: str
    fleet: str | None
    digest: str | None
    commit: str | None


class Outcome(TypedDict):
    """What became of an operation. `found`, of one that is done: its object was so already, by an attempt whose answer
    was lost or by somebody else. `note` says why it was not started, `problem` why it failed; a blocked one waited in
    vain for those that `waitsFor` names by `n`. `movedBy`, of one that failed since its object changed: by whom; left
    out where that is not known. `inverse` is what takes it back. `meanwhile`: of one that is done, what was given up
    for it and lasts until others are done too."""

    n: int
    action: Action
    poolId: str
    key: str | None
    toTenantId: str | None
    digest: str
    status: Literal["done", "failed", "blocked", "notStarted"]
    found: bool
    note: str
    problem: Problem | None
    movedBy: NotRequired[Mover]
    waitsFor: list[int]
    attempts: int
    meanwhile: list[str]
    inverse: Inverse
    source: Source


class StandingOperation(TypedDict):
    """An operation of the report, by its `n` there, that still stands."""

    n: int
    action: Action
    poolId: str
    key: str | None
    toTenantId: str | None
    source: Source


class LeftOperation(StandingOperation):
    """One that is not taken back, and why: a code to branch on, a sentence to read. It `failed`, was `found` so, its
    pool is `released` by now, nothing takes it back (`noInverse`), or its pool is the `heir` of one that is archived.
    `otherRun`: another run of the same apply did it, and the report does not tell of it; `n` is 0."""

    code: Literal["failed", "found", "released", "noInverse", "heir", "otherRun"]
    why: str


class Undo(TypedDict):
    """What is taken back: the apply that `digest` stands for in the events, whose files were those of `commit`.
    `again`: that took another one back itself, so that what was wished before is so again. `already` counts operations
    of it whose objects are as before, whoever made them so; `left` are those that are not, and `outside` those that
    still stand and are outside of the part that was looked at."""

    digest: str
    commit: str | None
    again: bool
    already: int
    left: list[LeftOperation]
    outside: list[StandingOperation]


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
    signal that ended it early; `selection` of null: it was of the whole fleet. `before` holds what earlier runs of the
    same plan file did, by its `n` there: no count has it. `refused` says why this run of it may not go on, so that it
    tells of them alone; null for any other. `sequence` is the owner's last event before all of it. `undo`, of one that
    took another back: what, null for any other. `checksum` is of the whole report without itself, and so is `seal`,
    under the tenant's key, so that `--undo` takes no other."""

    kind: Literal["apply"]
    sequence: int
    digest: str
    checksum: str
    seal: str
    commit: str | None
    allow: dict[str, int]
    reason: str | None
    selection: Selection | None
    approvedBy: ApprovedBy  # noqa: N815 (JSON is camelCase)
    interrupted: str | None
    refused: Problem | None
    before: list[Outcome]
    done: list[Outcome]
    failed: list[Outcome]
    blocked: list[Outcome]
    notStarted: list[Outcome]  # noqa: N815 (JSON is camelCase)
    undo: Undo | None
    summary: ApplySummary
