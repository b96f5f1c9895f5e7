"""The shapes of every report: what `--format json` prints, what files hold, what renderers read.

They are the public contract: `schemas/` is generated from them, docstrings included. Times are epoch milliseconds by
the server's clock. `(sensitive)` stands where a value is that no output may show.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Json = Any
Action = Literal["create", "update", "offer", "setQuota", "unoffer", "archive"]
FormatVersion = Literal[1]


class Source(TypedDict):
    """A place in a fleet file; line and column count from 1."""

    file: str
    line: int
    column: int


class Problem(TypedDict):
    """One thing that is wrong. An `error` blocks, a `warning` only tells, `unchecked` says that a fact needed to judge
    was not known. `path` names the field, `rule` what a reader can look up."""

    code: str
    rule: str
    message: str
    path: str
    hint: str
    severity: Literal["error", "warning", "unchecked"]
    source: Source | None


class Change(TypedDict):
    """One difference. A side that is left out is not there: neither null nor empty nor zero; of a quota it says that
    there is no row, which grants 0. `sensitive`: the values differ and may not be shown."""

    path: str
    before: NotRequired[Json]
    after: NotRequired[Json]
    sensitive: NotRequired[Literal[True]]


class Server(TypedDict):
    """The control plane. `overridden`: the flag `--server` was given against the files' pin."""

    url: str
    instanceId: str
    derivation: str
    overridden: bool


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


class Drifted(TypedDict):
    """One pool or offer that is not as the files say: `changed` behind their back, `pending` where the files are ahead,
    `removed` where no entry names it. `since`, `actorId`, `eventType` and `via` are of its last event."""

    kind: Literal["changed", "pending", "removed"]
    poolId: str
    key: str | None
    toTenantId: str | None
    what: str
    changes: list[Change]
    source: Source | None
    since: int | None
    actorId: str | None
    eventType: str | None
    via: dict[str, Json] | None


class Headed(TypedDict):
    """What a report is of: the fleet, as whom, read by whom, where, and when by the server's clock."""

    formatVersion: FormatVersion
    fleet: str
    tenantId: str
    caller: str
    reader: str
    server: Server
    createdAt: int


class PlanReport(Headed):
    """A plan, and the file that `plan --out` writes. `digest` is of what will be done, `inputs` of what the files wish,
    `checksum` of the whole file without itself. `sequence` is the owner's last event in the live state."""

    kind: Literal["plan"]
    sequence: int
    base: None
    commit: str | None
    selection: None
    inputs: str
    digest: str
    checksum: str
    expiresAt: int | None
    allow: dict[str, int]
    reason: str | None
    operations: list[Operation]
    findings: list[Problem]
    drift: list[Drifted]
    losses: list[Loss]
    capacity: list[Capacity]
    summary: PlanSummary


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


class ApplySummary(TypedDict):
    """Counts of operations."""

    operations: int
    done: int
    failed: int
    blocked: int
    notStarted: int


class ApplyReport(Headed):
    """What an apply did. `interrupted` names the signal that ended it early."""

    kind: Literal["apply"]
    digest: str
    commit: str | None
    allow: dict[str, int]
    reason: str | None
    interrupted: str | None
    done: list[Outcome]
    failed: list[Outcome]
    blocked: list[Outcome]
    notStarted: list[Outcome]
    summary: ApplySummary


class DriftSummary(TypedDict):
    """Counts of drifted objects by kind, of entries and of offers that the files state."""

    changed: int
    pending: int
    removed: int
    entries: int
    offers: int


class DriftReport(Headed):
    """What differs between files and live state, since when, and by whom."""

    kind: Literal["drift"]
    commit: str | None
    drift: list[Drifted]
    summary: DriftSummary


class ValidationSummary(TypedDict):
    """Counts of entries, of offers that the files state, and of problems."""

    entries: int
    offers: int
    errors: int
    warnings: int
    unchecked: int


class ValidationReport(TypedDict):
    """What the files say wrong, judged without a server."""

    formatVersion: FormatVersion
    kind: Literal["validation"]
    valid: bool
    problems: list[Problem]
    summary: ValidationSummary


class Derived(TypedDict):
    """What an id derives from."""

    derivation: str
    kind: str
    tenantId: str
    caller: str
    key: str


class IdReport(TypedDict):
    """A derived id."""

    formatVersion: FormatVersion
    kind: Literal["id"]
    id: str
    derivedFrom: Derived


class Identity(TypedDict):
    """Who the token names."""

    id: str
    tenantId: str


class Pins(TypedDict):
    """What the files pin; null where they pin nothing."""

    server: str | None
    tenantId: str
    caller: str | None


class Missing(TypedDict):
    """The actions that the identity may not do, of those that a command needs."""

    plan: list[str]
    apply: list[str]


class WhoamiReport(TypedDict):
    """The control plane and the identity as they are met. `clockOffsetMs` is the server's clock less this machine's."""

    formatVersion: FormatVersion
    kind: Literal["whoami"]
    server: Server
    identity: Identity
    pins: Pins
    missing: Missing
    clockOffsetMs: int


class ErrorReport(TypedDict):
    """Why there is no other report."""

    formatVersion: FormatVersion
    kind: Literal["error"]
    problems: list[Problem]


Report = PlanReport | ApplyReport | DriftReport | ValidationReport | IdReport | WhoamiReport | ErrorReport
