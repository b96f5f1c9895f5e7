"""Work of which nobody knows before how much it asks of the machine, done in a process of its own that has an end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

SECONDS = 30
"""So much of a processor's time the work may take."""
MEMORY = 1024**3
"""So many bytes it may add to those that are in use."""

_PR_SET_PDEATHSIG = 1
"""Of Linux's prctl."""

Result = TypeVar("Result")


class EndedError(Exception):
    """The work came to its limit, or broke the process."""


def apart(work: Callable[[], Result]) -> Result:
    """What `work` returns, which is pickled; what it does to objects of this process is lost. Raises EndedError, and
    what `work` does. Without fork it is done here, and has no end."""
    if not hasattr(os, "fork"):
        return work()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, there), daemon=True)
    child.start()
    there.close()
    try:
        result, error = here.recv()
    except EOFError:
        raise EndedError from None
    finally:
        child.kill()
        child.join()
        here.close()
    if error is not None:
        raise error
    made: Result = result
    return made


def _child(work: Callable[[], Any], there: Connection) -> None:
    gc.disable()  # it would touch, and so copy, all that the two processes share
    _end_with_parent()
    _limit()
    try:
        there.send((work(), None))
    except MemoryError:
        return
    except Exception as error:
        there.send((None, error))


def _end_with_parent() -> None:
    """A parent that is killed has no time to end this process; on Linux the kernel does it then, elsewhere the limit.
    Neither is one that reads what the parent printed kept waiting."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for printed in (1, 2):  # what a library says when it breaks is for nobody
        os.dup2(nowhere, printed)
    if sys.platform == "linux":
        import ctypes  # not at the top: for this process alone

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = multiprocessing.parent_process()
        if parent is not None and os.getppid() != parent.pid:
            os._exit(1)  # it was gone before


def _limit() -> None:
    import resource  # not at the top: where there is no fork there is none of it

    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_CPU, SECONDS)
    with suppress(OSError):  # Linux alone tells what is in use, and keeps to this limit
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _set(resource.RLIMIT_AS, used + MEMORY)


def _set(kind: int, most: int) -> None:
    """A stricter limit that holds already stays."""
    import resource

    _, hard = resource.getrlimit(kind)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (least, least))
