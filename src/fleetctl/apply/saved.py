"""What a plan file approves, as it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetctl.history import Subject
from fleetctl.plan import Scope
from fleetctl.request import WHOLE, Frame


@dataclass(frozen=True, slots=True)
class SavedOperation:
    """An operation of a plan file: what it is about, and its digest."""

    action: str
    name: str
    subject: Subject
    digest: str

    @property
    def pool_id(self) -> str:
        return self.subject[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """What a plan file approves. Times are epoch milliseconds; `commit` is that of the files, if they have one. The
    plan is made again in the same `frame`, whose base is a commit, or a directory seen from the fleet's. What it lets
    pass, by `allow` and for a `reason`, is given again. `report` is the file itself, that somebody was shown."""

    scope: Scope
    digest: str
    inputs: str
    url: str
    sequence: int
    commit: str | None
    expires_at: int | None
    operations: tuple[SavedOperation, ...]
    report: Mapping[str, Any] = field(repr=False)
    frame: Frame = WHOLE
    allow: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
