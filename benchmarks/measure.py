"""CPU seconds of commands and of code, so that ratios of two in one run mean something on a noisy machine."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """Of a command: user and system seconds, and the most memory that it held at a time."""

    seconds: float
    mebibytes: float


class Growth(NamedTuple):
    """What one more object costs among many, over what it costs among few; and the memory of the largest command."""

    ratio: float
    mebibytes: float


def costs_in_turn(*commands: Sequence[str], runs: int) -> list[tuple[Cost, ...]]:
    """Of so many rounds, each of which runs every command once, after one round to warm up.

    A machine that changes its speed within minutes does so to all of a round: compare within rounds.
    """
    return [tuple(map(_once, commands)) for _ in range(runs + 1)][1:]


def ratios_in_turn(bare: Sequence[str], *commands: Sequence[str], runs: int) -> list[float]:
    """How often the CPU seconds of `bare` go into those of each other command: the median over rounds."""
    rounds = costs_in_turn(bare, *commands, runs=runs)
    return [
        statistics.median(costs[number].seconds / costs[0].seconds for costs in rounds)
        for number in range(1, len(commands) + 1)
    ]


def growth_in_turn(small: Sequence[str], middle: Sequence[str], large: Sequence[str], *, runs: int) -> Growth:
    """Of commands of which each has ten times the objects of the one before: the medians over rounds."""
    rounds = costs_in_turn(small, middle, large, runs=runs)
    ratios = ((c.seconds - b.seconds) / 10 / (b.seconds - a.seconds) for a, b, c in rounds)
    return Growth(statistics.median(ratios), statistics.median(large.mebibytes for *_, large in rounds))


def _once(command: Sequence[str]) -> Cost:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    error = process.stderr.read().decode() if process.stderr else ""
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {error[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def cpu_of_call(work: Callable[[], object], *, runs: int) -> float:
    """The median of CPU seconds of a call in this process, the collector off."""
    work()
    taken = []
    gc.disable()
    try:
        for _ in range(runs):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
            gc.collect()
    finally:
        gc.enable()
    return statistics.median(taken)
