"""The shape of drift."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import Base, Change, Headed, Json, Selection, Source, UnnamedPool


class Drifted(TypedDict):
    """One pool or offer that is not as the files say: `changed` behind their back, `pending` where the files are ahead,
    `removed` where no entry names it. `since`, `actorId`, `eventType` and `via` are of its last event. `expected`: why
    the files say that it may differ; null where they do not."""

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
    expected: str | None


class DriftSummary(TypedDict):
    """Counts of drifted objects by kind (those that are `expected` apart), of entries and of offers that the files
    state; `waiting` are the names of pools that are replaced, and kept while they are in use."""

    changed: int
    pending: int
    removed: int
    expected: int
    entries: int
    offers: int
    waiting: list[str]


class Coverage(TypedDict):
    """How much of what is live is under code, of the whole fleet whatever part was looked at: the pools that the tenant
    owns and that are not archived, those of them that an entry of the files names, and the GPU atoms of both. `percent`
    is of the pools, in tenths and rounded down: 100 only when all are named; null where none is live. `unnamed` are the
    pools that no entry names, 20 at most."""

    livePools: int
    namedPools: int
    percent: float | None
    liveAtoms: int
    namedAtoms: int
    unnamed: list[UnnamedPool]


class DriftReport(Headed):
    """What differs between files and live state, since when, and by whom."""

    kind: Literal["drift"]
    commit: str | None
    base: Base | None
    selection: Selection | None
    snapshot: bool
    drift: list[Drifted]
    coverage: Coverage
    summary: DriftSummary
