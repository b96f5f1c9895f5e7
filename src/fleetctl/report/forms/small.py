"""The shapes of validation, ids, identities and errors."""

from __future__ import annotations

from typing import Literal, TypedDict

from fleetctl.report.forms.shared import FormatVersion, Problem, Server


class ValidationSummary(TypedDict):
    """Counts of entries, of offers that the files state, and of problems. null: the files could not be read, so that
    nobody knows."""

    entries: int | None
    offers: int | None
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


class DerivedId(TypedDict):
    """A derived id."""

    id: str
    derivedFrom: Derived


class IdReport(TypedDict):
    """The id of the pool that a key stands for: of an entry the pool that it means, by its `id` (`derivedFrom` is null
    then), by the key that it had before, or by its own. `others`: which ones it means where no pool with that id is
    live, in the order in which a plan looks for them."""

    formatVersion: FormatVersion
    kind: Literal["id"]
    id: str
    derivedFrom: Derived | None
    others: list[DerivedId]


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
