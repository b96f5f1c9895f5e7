"""How much longer what is larger takes: seconds would say more about the machine than about the code."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from fleetctl.machine.collector import paused


def times_as_long(prepared: Callable[[int], Callable[[], object]], few: int, many: int, runs: int = 4) -> float:
    """How many times as long what `prepared` makes of `many` takes as what it makes of `few`: seconds of the processor,
    the least of so many runs, by turns, so that whatever else the machine does meets both."""
    small, large = prepared(few), prepared(many)
    with paused():
        taken = [(_seconds(small), _seconds(large)) for _ in range(runs)]
    return min(after for _, after in taken) / min(before for before, _ in taken)


def _seconds(run: Callable[[], object]) -> float:
    began = process_time()
    run()
    return process_time() - began
