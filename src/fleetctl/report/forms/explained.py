"""The shape of explanations: of a name that messages tell, or of a pool."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion, Json, Source


class Topic(TypedDict):
    """A code, a rule, a check of the fleet's own, or a word of reports: what it says, why it is there, and what to do.
    `source` is where the files have a check; what the project brings stands in none."""

    kind: Literal["code", "rule", "check", "word"]
    name: str
    says: str
    why: str
    act: str
    source: Source | None


class PolicyPart(TypedDict):
    """One field of a policy as it is merged, and where it was written: in the entry, or in a policy that it refers
    to."""

    name: str
    value: Json
    source: Source


class WishedOffer(TypedDict):
    """An offer as the files wish it."""

    toTenantId: str
    quota: dict[str, int]
    priority: int
    includeDescendants: bool
    source: Source


class ExplainedEntry(TypedDict):
    """A pool's entry. `pool` are its terms without policy and quota, null where it holds its key or id alone;
    `ownerQuota` of null: unmanaged. `says` is what the entry asks for besides, in words of the files, such as
    `archived: true`."""

    source: Source
    says: list[str]
    pool: dict[str, Json] | None
    policy: list[PolicyPart]
    ownerQuota: dict[str, int] | None
    offersAre: Literal["stated", "unstated", "unmanaged"]
    offers: list[WishedOffer]


class Row(TypedDict):
    """A quota row, and what of it is in use."""

    resource: str
    max: int
    used: int


class Tenancy(TypedDict):
    """What a tenant has of a live pool. `offered` of false: it owns the pool, or an offer was withdrawn while something
    was in use. Numbers of reservations are by what they do."""

    tenantId: str
    offered: bool
    priority: int | None
    includeDescendants: bool | None
    rows: list[Row]
    pending: int
    placed: int
    active: int


class Machines(TypedDict):
    """The machines of a pool. `schedulable` are the atoms that they make, null where none joined."""

    nodes: int
    hostNodes: int
    tenantOwnedNodes: int
    models: dict[str, int]
    gpus: int
    schedulable: int | None


class ExplainedLive(TypedDict):
    """A pool as it is live. Times are epoch milliseconds; `archivedAt` of null: it is not."""

    pool: dict[str, Json]
    policy: dict[str, Json]
    key: str | None
    createdBy: str
    createdAt: int
    archivedAt: int | None
    version: int
    atom: str
    machines: Machines
    tenants: list[Tenancy]


class ExplainedEvent(TypedDict):
    """A change of the pool, its offers or its quotas. `via` is the change that the request named, null for one that
    named none."""

    type: str
    toTenantId: str | None
    time: int
    actorId: str
    sequence: int
    via: Json


class ExplainedPool(TypedDict):
    """A pool from all sides: in the files, live, and what happened last (newest first). `entry` of null: no entry means
    it; `server` of null: nobody was asked, so that `live` and `events` say nothing."""

    poolId: str
    key: str | None
    server: str | None
    entry: ExplainedEntry | None
    live: ExplainedLive | None
    events: list[ExplainedEvent]


class ExplanationReport(TypedDict):
    """What a name means: one of `topic` and `pool` is there."""

    formatVersion: FormatVersion
    kind: Literal["explanation"]
    what: str
    topic: Topic | None
    pool: ExplainedPool | None
