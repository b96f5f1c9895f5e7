"""The shape of a plan."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import Action, Change, Headed, Json, Problem, Source


class Reason(TypedDict):
    """Why an operation is there: a code to branch on, a sentence to read."""

    code: str
    sentence: str


class Inverse(TypedDict):
    """What would undo an operation: an action and its `after`; without an action `why` says why nothing does."""

    action: Action | None
    after: Json
    why: str


class Operation(TypedDict):
    """One operation of a plan. `dependsOn` names operations by `n`; `before` and `after` of null: there is nothing on
    that side. `gpuModel` is the pool's before the plan, `atom` the resource its GPUs are counted in."""

    n: int
    action: Action
    poolId: str
    key: str | None
    toTenantId: str | None
    gpuModel: str
    atom: str | None
    before: Json
    after: Json
    changes: list[Change]
    reason: Reason
    effects: list[str]
    severity: Literal["safe", "lowers", "withdraws", "irreversible"]
    dependsOn: list[int]
    precondition: dict[str, Json]
    inverse: Inverse
    source: Source
    digest: str


class Loss(TypedDict):
    """A tenant that loses something: what, and by which operations."""

    tenantId: str
    sentence: str
    operations: list[int]


class Capacity(TypedDict):
    """Atoms of a GPU model that a tenant may book over all pools of the owner, and those it has booked. 2147483647:
    unlimited."""

    gpuModel: str
    atom: str
    tenantId: str
    before: int
    after: int
    inUse: int


class PlanSummary(TypedDict):
    """Counts of operations by action, of entries, of offers that the files state, and of findings. `unchanged` and
    `changedPools` are entries, `foreign` live pools that are no business of this fleet, `removed` the names of those
    that it made and that no entry names. A blocked plan is not applied, not even in part."""

    operations: int
    actions: dict[str, int]
    entries: int
    offers: int
    changedPools: int
    unchanged: int
    foreign: int
    removed: list[str]
    errors: int
    warnings: int
    unchecked: int
    blocked: bool


class PlanReport(Headed):
    """A plan, and the file that `plan --out` writes. `digest` is of what will be done, `inputs` of what the files wish,
    `checksum` of the whole file without itself. `sequence` is the owner's last event in the live state. `base`,
    `selection` and `drift` are null: the plan is of the whole fleet, and neither a base nor drift was looked at."""

    kind: Literal["plan"]
    sequence: int
    base: None
    commit: str | None
    selection: None
    inputs: str
    digest: str
    checksum: str
    expiresAt: int | None  # noqa: N815 (JSON is camelCase)
    allow: dict[str, int]
    reason: str | None
    operations: list[Operation]
    findings: list[Problem]
    drift: None
    losses: list[Loss]
    capacity: list[Capacity]
    summary: PlanSummary
