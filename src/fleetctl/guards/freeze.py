"""The guard of time: windows in which nothing is done."""

from __future__ import annotations

from collections.abc import Iterator

from fleetctl.desired import Freeze
from fleetctl.guards.tally import Case, Tally
from fleetctl.words import count, listed, time


def tallies(case: Case) -> Iterator[Tally]:
    """Every operation, while the server's clock is in a window."""
    operations = case.plan.operations
    windows = sorted(
        {window for window in case.guards.freeze if window.start <= case.now < window.end}, key=_last_first
    )
    if operations and windows:
        told = listed([f"until {time(window.end)}: {window.reason}" for window in windows], "freeze")
        yield Tally(
            name="freeze",
            number=len(operations),
            limit=0,
            says=f"{count(len(operations), 'operation')} in a freeze {told}",
            may="none may run in it",
            first=operations[0],
        )


def _last_first(window: Freeze) -> tuple[int, str]:
    return -window.end, window.reason
