"""One operation of a plan: the command it will send, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.problems import Source
from better_compute.domain.values import Json
from fleetctl.desired import Place
from fleetctl.diff import Cause, Change

Action = Literal["create", "update", "offer", "setQuota", "unoffer", "archive"]
ReasonCode = Literal["new", "changed", "unstated", "replaced", "removed", "tombstone", "undo"]
Severity = Literal["safe", "lowers", "withdraws", "irreversible"]

ACTIONS: dict[type[Command], Action] = {
    CreatePool: "create",
    UpdatePool: "update",
    OfferPool: "offer",
    SetQuota: "setQuota",
    UnofferPool: "unoffer",
    ArchivePool: "archive",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an operation is there: a code to branch on, a sentence to read."""

    code: ReasonCode
    sentence: str


@dataclass(frozen=True, slots=True)
class Inverse:
    """What would undo an operation: an action and its `after`, or why nothing does."""

    action: Action | None
    after: Json = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`command` carries the precondition, read at plan time; `place` is where the files ask for it.

    `before` and `after` are JSON, unmasked: whoever shows them masks them. `n` counts from 1 in the plan's order,
    `depends_on` names operations by it. `causes`, where there is a base: what moved since. `meanwhile`: what was given
    up for it, told as an effect, and the number of the operation that ends it. `heir`, of one that archives a pool: the
    id of the pool that takes its place.
    """

    command: Command
    key: str | None
    before: Json
    after: Json
    changes: tuple[Change, ...]
    reason: Reason
    inverse: Inverse
    place: Place
    effects: tuple[str, ...] = ()
    severity: Severity = "safe"
    causes: tuple[Cause, ...] = ()
    n: int = 0
    depends_on: tuple[int, ...] = ()
    meanwhile: tuple[tuple[str, int], ...] = ()
    heir: str | None = None
    digest: str = ""

    @property
    def source(self) -> Source:
        return self.place.source()

    @property
    def action(self) -> Action:
        return ACTIONS[type(self.command)]

    @property
    def pool_id(self) -> str:
        return self.command.pool_id

    @property
    def to_tenant_id(self) -> str | None:
        return getattr(self.command, "to_tenant_id", None)

    @property
    def subject(self) -> tuple[str, str | None]:
        """What it changes: the pool, or the pair of pool and tenant. No two operations of a plan share one."""
        return self.pool_id, self.to_tenant_id

    @property
    def name(self) -> str:
        """The pool's key where it has one, else its id."""
        return self.key or self.pool_id

    @property
    def precondition(self) -> Mapping[str, Json]:
        """What must still hold when it runs; a version of 0 says that there must be none."""
        match self.command:
            case CreatePool(idempotency_key=key):
                return {"version": 0, "idempotencyKey": key}
            case UpdatePool(expected_version=version):
                return {"version": version}
            case OfferPool(expected_version=version) | UnofferPool(expected_version=version):
                return {"offerVersion": version}
            case SetQuota(expected_version=version):
                return {"ownerQuotaVersion": version}
            case ArchivePool(expected_version=version, expected_offers_version=offers_version):
                return {"version": version, "offersVersion": offers_version}
        raise TypeError(f"no precondition of {type(self.command).__name__}")
