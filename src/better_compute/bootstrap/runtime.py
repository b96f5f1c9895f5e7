"""The time, the waiting and the chance that everything else is given."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from better_compute.service.ports import Clock, Entropy


@dataclass(frozen=True, slots=True)
class Runtime:
    """`clock` gives epoch milliseconds, `sleep` takes seconds, `random` gives 0 to 1."""

    clock: Clock
    sleep: Callable[[float], None]
    random: Callable[[], float]
    entropy: Entropy


SYSTEM = Runtime(lambda: time.time_ns() // 1_000_000, time.sleep, random.random, os.urandom)
