"""Who answers: the same control plane from a conversation's first answer to its last."""

from __future__ import annotations

from threading import Lock

from better_compute.domain.problems import INVALID_STATE, OTHER_INSTANCE, ComputeError, Problem


class Peer:
    """The control plane that gave the first answer. Once another one answers behind the same URL (a name that moved, a
    balancer before two databases) nothing more is sent to either: what was read is not what would be written to."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids: list[str] = []

    def check(self) -> None:
        """Before a call. Raises ComputeError once two have answered."""
        if len(self._ids) > 1:
            raise self._another("this call was not sent")

    def meet(self, name: str | None, *, is_read: bool) -> None:
        """Take note of who answered; None is what stands in between and names nobody. `is_read`: it was asked for
        nothing that changes anything. Raises ComputeError."""
        if name is None:
            return
        with self._lock:
            if name not in self._ids:
                self._ids.append(name)
        if name != self._ids[0]:
            unused = "what it says is not used"
            raise self._another(unused if is_read else "it may have done what this call asked for")

    def _another(self, consequence: str) -> ComputeError:
        first, other = self._ids[:2]
        message = (
            f"another control plane answers behind the same URL: {other}, and before it was {first}; {consequence}"
        )
        hint = "find out what stands behind the server's URL, then plan again"
        return ComputeError(Problem(INVALID_STATE, OTHER_INSTANCE, message, hint=hint))
