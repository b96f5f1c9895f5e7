"""What a report of an apply tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from better_compute.domain.problems import Source
from fleetctl.apply.saved import Refusal, Saved, SavedOperation
from fleetctl.desired import Desired
from fleetctl.live import Live
from fleetctl.plan import Inverse, scope_of

_AS_WRITTEN = "name the report as the apply wrote it: by `--report`, or what `--format json` printed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(SavedOperation):
    """An operation of the report, by its `n` there. Not `is_done`: it failed, and may have been carried out all the
    same, where no answer came. `is_found`: its object was so already, by an attempt of its own or by somebody else.
    `source` is where the files asked for it then."""

    n: int
    is_done: bool
    is_found: bool
    inverse: Inverse
    source: Source


@dataclass(frozen=True, kw_only=True)
class Applied(Saved):
    """An apply: what it did, and what failed."""

    refusal: ClassVar = Refusal("report", "applied to", "report.target", "report.file", _AS_WRITTEN)
    operations: tuple[Done, ...]

    @property
    def is_undo(self) -> bool:
        """Whether it took another apply back, so that to take it back is to do that one again: an undo of such an undo
        is one of the first apply once more."""
        undo = self.report["undo"]
        return undo is not None and not undo["again"]

    def check(self, files: Desired, live: Live) -> None:
        """Raises Stop where it is not of this fleet at this control plane, or was altered."""
        self.check_target(scope_of(files, live))
        if not self.is_sealed(live.instance.digest_key):
            raise self.unsealed()
