"""The shape of drift."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import Change, Headed, Json, Source


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
