"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 60.0
"""Seconds that nothing takes on a machine that does other things besides."""


def until(holds: Callable[[], object]) -> None:
    """Return once it holds."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, f"not after {LONG} s"
        time.sleep(0.005)
