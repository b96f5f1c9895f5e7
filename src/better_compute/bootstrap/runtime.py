"""The time, the waiting and the chance that everything else is given, and who is asked outside."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from better_compute.service.billing import NoBilling
from better_compute.service.ports import Attestor, Billing, Clock, Entropy, Stopwatch


@dataclass(frozen=True, slots=True)
class Runtime:
    """`clock` gives epoch milliseconds, `stopwatch` and `sleep` give and take seconds, `random` gives 0 to 1."""

    clock: Clock
    stopwatch: Stopwatch
    sleep: Callable[[float], None]
    random: Callable[[], float]
    entropy: Entropy


@dataclass(frozen=True, slots=True)
class Outside:
    """`attestors` speak for machines beside join tokens, by name; `billing` for what tenants may spend."""

    attestors: Mapping[str, Attestor] = field(default_factory=dict)
    billing: Billing = field(default_factory=NoBilling)


NOBODY = Outside()
SYSTEM = Runtime(lambda: time.time_ns() // 1_000_000, time.monotonic, time.sleep, random.random, os.urandom)
