"""Who answers: the same control plane from a conversation's first answer to its last, and never an older state."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

from better_compute.domain.problems import INVALID_STATE, OTHER_INSTANCE, ComputeError, Problem


class Told(NamedTuple):
    """The newest event that a tenant's lists told of, and which list it was."""

    sequence: int
    operation: str


class Peer:
    """The control plane that gave the first answer. Once another one answers behind the same URL (a name that moved, a
    balancer before two databases) nothing more is sent to either: what was read is not what would be written to. What
    names itself nowhere is another one than what does."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids: list[str | None] = []
        self._told: dict[str | None, Told] = {}

    @property
    def name(self) -> str | None:
        """The instance that answers; None where nobody did yet, or where none names itself."""
        return self._ids[0] if self._ids else None

    def check(self) -> None:
        """Before a call. Raises ComputeError once two have answered."""
        if len(self._ids) > 1:
            raise self._another("this call was not sent")

    def meet(self, name: str | None, *, is_read: bool, is_success: bool) -> None:
        """Take note of who answered. What fails and names nobody is what stands in between. `is_read`: it was asked for
        nothing that changes anything. Raises ComputeError."""
        if name is None and not is_success:
            return
        with self._lock:
            if name not in self._ids:
                self._ids.append(name)
        if name != self._ids[0]:
            unused = "what it says is not used"
            raise self._another(unused if is_read else "it may have done what this call asked for")

    def newest(self, tenant_id: str | None) -> Told | None:
        """What is known of a tenant's last event before a list is asked for: the list may not be older."""
        return self._told.get(tenant_id)

    def tell(self, tenant_id: str | None, sequence: int, operation: str) -> None:
        """Take note of what a list told."""
        with self._lock:
            known = self._told.get(tenant_id)
            if known is None or known.sequence < sequence:
                self._told[tenant_id] = Told(sequence, operation)

    def _another(self, consequence: str) -> ComputeError:
        first, other = (name or "one that names itself nowhere" for name in self._ids[:2])
        message = (
            f"another control plane answers behind the same URL: {other}, and before it was {first}; {consequence}"
        )
        hint = "find out what stands behind the server's URL, then plan again"
        return ComputeError(Problem(INVALID_STATE, OTHER_INSTANCE, message, hint=hint))
