"""What a file tells that a run wrote and another acts on, as it was read: the plan that it approves, or an apply."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.history import LastEvent, Subject
from fleetctl.plan import Scope
from fleetctl.plan.operation import Action
from fleetctl.request import WHOLE, Frame
from fleetctl.spelling import seal


@dataclass(frozen=True, slots=True)
class SavedOperation:
    """An operation of a file: what it is about, and its digest."""

    action: Action
    key: str | None
    subject: Subject
    digest: str

    @property
    def name(self) -> str:
        """The pool's key where it has one, else its id."""
        return self.key or self.pool_id

    @property
    def pool_id(self) -> str:
        return self.subject[0]

    @property
    def to_tenant_id(self) -> str | None:
        return self.subject[1]


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a kind of file is refused: by its `name`, what was done at its target, the rules, and what to do."""

    name: str
    done: str
    target: str
    file: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A file that is acted on: of the files and the control plane of `scope`, by the digest that events name, on the
    live state of `sequence`. `commit` is that of the files, if they have one, and `report` the file itself, which
    approves the `operations`, or tells what became of them."""

    refusal: ClassVar[Refusal]
    scope: Scope
    digest: str
    sequence: int
    commit: str | None
    operations: tuple[SavedOperation, ...]
    report: Mapping[str, Any] = field(repr=False)

    def check_target(self, now: Scope) -> None:
        """Raises Stop where it is of another target."""
        if wrong := self.scope.unlike(now, self.refusal.done):
            message = f"the {self.refusal.name} was made for another target"
            hint = "use it with the files and at the control plane that it is of"
            raise Stop(EXIT_STALE, message, wrong, hint, self.refusal.target)

    def is_sealed(self, key: bytes) -> bool:
        """Whether it is to the byte what a run wrote that could read the control plane's key; its seal is anybody's
        text. Until that is known nothing that it says may be acted on."""
        return hmac.compare_digest(seal(self.report, key).encode(), self.report["seal"].encode())

    def is_own(self, event: LastEvent) -> bool:
        """Whether an event is of this plan's, or this apply's, doing. Whoever is not its caller may say the same of a
        change, and it is not."""
        return event.via.get("digest") == self.digest and event.actor_id == self.scope.caller

    def done_by(self, event: LastEvent) -> str | None:
        """The digest of the operation that an event is of; None: it is of none of these."""
        operation = event.via.get("operation")
        is_one = isinstance(operation, str) and operation in self._digests
        return operation if is_one and self.is_own(event) else None

    @cached_property
    def _digests(self) -> frozenset[str]:
        return frozenset(one.digest for one in self.operations)

    def unsealed(self) -> Stop:
        """The end of a run that can act on nothing that it says."""
        message = (
            f"the {self.refusal.name} was altered since it was made, or the control plane's database was made anew"
        )
        return Stop(EXIT_STALE, message, hint=self.refusal.hint, rule=self.refusal.file)


@dataclass(frozen=True, kw_only=True)
class SavedPlan(Saved):
    """What a plan file approves. Times are epoch milliseconds. The plan is made again in the same `frame`, whose base
    is a commit, or a directory seen from the fleet's. What it lets pass, by `allow` and for a `reason`, is given again.
    `report` was shown to somebody."""

    refusal: ClassVar = Refusal("plan file", "planned for", "plan.target", "plan.file", "make a new plan")
    inputs: str
    url: str
    expires_at: int | None
    frame: Frame = WHOLE
    allow: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
