"""The shape of a plan."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from fleetctl.report.forms.applied import Undo
from fleetctl.report.forms.shared import (
    Action,
    Base,
    Cause,
    Change,
    Compared,
    Headed,
    Inverse,
    Json,
    Note,
    Problem,
    Selection,
    Source,
    UnnamedPool,
)


class Reason(TypedDict):
    """Why an operation is there: a code to branch on, a sentence to read."""

    code: Literal["new", "changed", "unstated", "replaced", "removed", "tombstone", "undo"]
    sentence: str


class Operation(TypedDict):
    """One operation of a plan. `dependsOn` names operations by `n`; `before` and `after` of null: there is nothing on
    that side. `gpuModel` is the pool's before the plan, `siteId` its site, `atom` the resource its GPUs are counted in.
    `causes`, where there is a base: what moved, the files (`intent`), the live state (`drift`), or both."""

    n: int
    action: Action
    poolId: str
    key: str | None
    toTenantId: str | None
    siteId: str
    gpuModel: str
    atom: str | None
    before: Json
    after: Json
    changes: list[Change]
    causes: list[Cause]
    reason: Reason
    effects: list[str]
    severity: Literal["safe", "lowers", "withdraws", "irreversible"]
    dependsOn: list[int]
    precondition: dict[str, Json]
    inverse: Inverse
    source: Source
    digest: str


class DriftedOperation(TypedDict):
    """An operation, by `n`, for which live state is not as the base's files say: it was `changed` behind their back, or
    they are `pending`: nobody applied them yet, or what was applied was taken back. `since`, `actorId`, `eventType`,
    `viaFleet`, the fleet whose change it was, and `undoes`, the digest of the apply that it took back, are of the last
    event of its object."""

    n: int
    kind: Literal["changed", "pending"]
    since: int | None
    actorId: str | None
    eventType: str | None
    viaFleet: str | None
    undoes: str | None


class Shift(TypedDict):
    """A tenant that loses or gains something: what, and by which operations."""

    tenantId: str
    sentence: str
    operations: list[int]


class Share(TypedDict):
    """Atoms of a GPU model that a tenant may book at a site, over all pools of the owner, and those it has booked.
    2147483647: unlimited. `frozen` are those in use beyond the limits after the plan, pool by pool: they stay booked,
    and nothing new fits. `costBefore` and `costAfter` are per hour for all that may be booked; null where no price is
    given, or there is no limit."""

    gpuModel: str
    atom: str
    siteId: str
    tenantId: str
    before: int
    after: int
    inUse: int
    frozen: int
    costBefore: float | None
    costAfter: float | None


class Stock(TypedDict):
    """A GPU model at a site: the atoms that the machines make which joined, before and after the plan (null: nobody
    knows, for none did), the sum of what tenants may book of them and what they have booked (the owner left out;
    2147483647: unlimited), and oversell, the ratio of both (null: no machines, or no limit)."""

    gpuModel: str
    atom: str
    siteId: str
    schedulable: int | None
    schedulableAfter: int | None
    before: int
    after: int
    inUse: int
    oversellBefore: float | None
    oversellAfter: float | None


class Capacity(TypedDict):
    """The capacity that a plan touches: what tenants may book, and what there is of it."""

    shares: list[Share]
    stock: list[Stock]


class GuardCount(TypedDict):
    """How much of what a guard counts is in the plan, and its limit, or the number that an override lets pass."""

    guard: Literal["archives", "withdrawals", "gpusWithdrawn"]
    number: int
    limit: int


class Party(TypedDict):
    """One that has a part in what breaks together: a branch by its `ref`, null for the files at hand. `source` is a
    place in its own files, null where there is no single one; `wish` what it asks for, where the wishes are what
    breaks: one that is left out asks for nothing there."""

    ref: str | None
    source: Source | None
    wish: NotRequired[Json]


class JointProblem(Problem):
    """A problem that no plan has alone: an `error` would block the plan of all together. `source` is a place in the
    files at hand, where these have a part in it."""

    parties: list[Party]


class RevisionPlan(TypedDict):
    """What a revision does alone, as a plan of it would count that: on the files of the base where there is one, else
    with its own as they are. `blocked`: by what is wrong with it alone, as far as the live state that was read tells
    that."""

    operations: int
    actions: dict[str, int]
    blocked: bool


class Revision(TypedDict):
    """A revision as it was asked for, and its commit. `plan` of null: it has none of its own, for HEAD or another one
    contains it, or it is of another fleet, which a finding says."""

    ref: str
    commit: str
    plan: RevisionPlan | None


class Together(TypedDict):
    """What the plan, and what revisions changed since they left HEAD, break only together. `blocked`: an error is among
    that: all of them together would be blocked, and the command ends with 3, even where nothing blocks the plan."""

    revisions: list[Revision]
    findings: list[JointProblem]
    blocked: bool


class PlanSummary(Compared):
    """Counts of operations by action, and of findings. `changedPools` are entries, `foreign` live pools that are no
    business of this fleet; `drift` counts the plan's own by kind, null without a base. A blocked plan is not applied,
    not even in part."""

    operations: int
    actions: dict[str, int]
    changedPools: int  # noqa: N815 (JSON is camelCase)
    foreign: int
    drift: dict[str, int] | None
    errors: int
    warnings: int
    unchecked: int
    blocked: bool


class AskedOfPlan(TypedDict, total=False):
    """What stands in a plan only where it was asked for: what it breaks `together` with revisions, which changes
    nothing of the plan, nor of whether it is blocked; and, where it is no plan of the files but of the way back from an
    apply, what it would `undo`. `restOf`: it is the rest of a plan file of that digest, which an earlier run began."""

    together: Together
    undo: Undo
    restOf: str


class PlanReport(Headed, AskedOfPlan):
    """A plan, and the file that `plan --out` writes. `digest` is of what will be done, `inputs` of what the files wish,
    `checksum` of the whole file without itself; `seal` is of the whole file too, under the tenant's key, so that apply
    takes no other. `sequence` is the owner's last event in the live state. `base` of null: the files were compared with
    none, and its guards were not checked; `prune`: removed pools that it names are archived; `selection` of null: the
    plan is of the whole fleet; `notes` tell which pools were found otherwise than by keys; `drift` are the operations
    that are not of this change, or not of it alone, null without a base; `foreign` are the first 100 of those pools.
    `losses` and `gains` are gross, the largest first; `guards` those that count something. `snapshot`: the live state
    was read from a file."""

    kind: Literal["plan"]
    sequence: int
    base: Base | None
    prune: bool
    commit: str | None
    selection: Selection | None
    inputs: str
    digest: str
    checksum: str
    seal: str
    expiresAt: int | None
    allow: dict[str, int]
    reason: str | None
    operations: list[Operation]
    findings: list[Problem]
    notes: list[Note]
    drift: list[DriftedOperation] | None
    foreign: list[UnnamedPool]
    snapshot: bool
    losses: list[Shift]
    gains: list[Shift]
    guards: list[GuardCount]
    capacity: Capacity
    summary: PlanSummary
