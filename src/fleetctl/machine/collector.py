"""The garbage collector of a run. Nearly all that is made before the live state is read stays to the end, so that until
then it is off, and afterwards looks at nothing of that."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No collection inside, or until `resume` is called there; as before outside."""
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if enabled:
            gc.enable()


YOUNG = 10_000
"""So many new objects are looked at together. With the interpreter's few hundred what a large plan makes, and keeps, is
looked at again and again."""


def resume() -> None:
    """Collect again, but leave alone what is there now. Nothing happens where nobody paused: the objects of another
    program are its own."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
        gc.enable()
