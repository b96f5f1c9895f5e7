"""What a report of an apply tells."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from better_compute.domain.problems import Source
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.history import LastEvent, Subject
from fleetctl.live import Live
from fleetctl.plan import Inverse, Scope, scope_of
from fleetctl.plan.operation import Action
from fleetctl.spelling import seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An operation of the report, by its `n` there. Not `is_done`: it failed, and may have been carried out all the
    same, where no answer came. `is_found`: its object was so already, by an attempt of its own or by somebody else.
    `source` is where the files asked for it then."""

    n: int
    action: Action
    key: str | None
    subject: Subject
    digest: str
    is_done: bool
    is_found: bool
    inverse: Inverse
    source: Source

    @property
    def pool_id(self) -> str:
        return self.subject[0]

    @property
    def to_tenant_id(self) -> str | None:
        return self.subject[1]


@dataclass(frozen=True, kw_only=True)
class Applied:
    """An apply, by the digest that events name, on the live state of `sequence`: what it did, and what failed. `commit`
    is that of its files, `report` the file itself."""

    scope: Scope
    digest: str
    commit: str | None
    sequence: int
    operations: tuple[Done, ...]
    report: Mapping[str, Any] = field(repr=False)

    @cached_property
    def _digests(self) -> frozenset[str]:
        return frozenset(one.digest for one in self.operations)

    def check(self, files: Desired, live: Live) -> None:
        """Whether it was of this fleet at this control plane, and the report is to the byte what a run wrote that could
        read its key. Until that is known nothing that it says may be acted on. Raises Stop."""
        if wrong := self.scope.unlike(scope_of(files, live), "applied to"):
            raise Stop(EXIT_STALE, "the report is of another target", wrong, rule="report.target")
        made = seal(self.report, live.instance.digest_key)
        if not hmac.compare_digest(made.encode(), self.report["seal"].encode()):
            message = "the report was altered since it was made, or the control plane's database was made anew"
            raise Stop(EXIT_STALE, message, rule="report.file")

    def done_by(self, event: LastEvent) -> str | None:
        """The digest of the operation that an event is of; None: it is of none of these."""
        operation = event.via.get("operation")
        if event.via.get("digest") != self.digest or not isinstance(operation, str):
            return None
        return operation if operation in self._digests else None
