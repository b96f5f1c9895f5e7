"""The time, the waiting and the chance that everything else is given."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a client of a server has a runtime, and no service
    from better_compute.service.ports import Clock, Entropy, Stopwatch


@dataclass(frozen=True, slots=True)
class Runtime:
    """`clock` gives epoch milliseconds, `stopwatch` and `sleep` give and take seconds, `random` gives 0 to 1."""

    clock: Clock
    stopwatch: Stopwatch
    sleep: Callable[[float], None]
    random: Callable[[], float]
    entropy: Entropy


SYSTEM = Runtime(lambda: time.time_ns() // 1_000_000, time.monotonic, time.sleep, random.random, os.urandom)
