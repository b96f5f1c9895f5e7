"""The shape of a comparison of two fleets."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import Change, FormatVersion, Source


class ComparedSide(TypedDict):
    """One of two fleets: `given` as it was asked for, and the commit that was read, null for a directory."""

    given: str
    commit: str | None
    fleet: str
    tenantId: str
    caller: str | None
    entries: int
    offers: int


class ChangedLimit(TypedDict):
    """A guard, or a field of a check, that differs, and what that does to it; `other`: a check says something else."""

    change: Change
    direction: Literal["tighter", "looser", "other"]


class ChangedOffer(TypedDict):
    """An offer that differs."""

    toTenantId: str
    kind: Literal["added", "removed", "changed"]
    changes: list[Change]


class ChangedPool(TypedDict):
    """An entry that differs; `source` is where it stands now, or stood last. `looser`: it was protected, and is no
    more."""

    kind: Literal["added", "removed", "changed"]
    poolId: str
    key: str | None
    changes: list[Change]
    offers: list[ChangedOffer]
    looser: bool
    source: Source


class FleetDiffSummary(TypedDict):
    """Counts of entries, of offers that differ, of fields of the whole fleet, of guards and fields of checks, and of
    those of them, protected pools counted in, that guard less."""

    added: int
    removed: int
    changed: int
    unchanged: int
    offers: int
    fields: int
    limits: int
    looser: int


class FleetDiffReport(TypedDict):
    """What one fleet wishes differently from another."""

    formatVersion: FormatVersion
    kind: Literal["diff"]
    before: ComparedSide
    after: ComparedSide
    fields: list[Change]
    limits: list[ChangedLimit]
    pools: list[ChangedPool]
    summary: FleetDiffSummary
