"""CPU seconds of commands and of code, so that ratios of two in one run mean something on a noisy machine."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """Of a command: user and system seconds, and the most memory that it held at a time."""

    seconds: float
    mebibytes: float


def cpu_of(command: Sequence[str], *, runs: int, env: Mapping[str, str] | None = None) -> float:
    """The median of user and system seconds of a command, after one run to warm up."""
    return cost_of(command, runs=runs, env=env).seconds


def cost_of(command: Sequence[str], *, runs: int, env: Mapping[str, str] | None = None) -> Cost:
    """The median of each, after one run to warm up."""
    _once(command, env)
    seconds, mebibytes = zip(*(_once(command, env) for _ in range(runs)), strict=True)
    return Cost(statistics.median(seconds), statistics.median(mebibytes))


def _once(command: Sequence[str], env: Mapping[str, str] | None) -> Cost:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
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
