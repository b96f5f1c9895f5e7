"""A lock that is given in the order in which it was asked for."""

from __future__ import annotations

from collections import deque
from threading import Lock


class FairLock:
    """One thread at a time has it, and who asked first has it next: one that takes it again and again lets every other
    thread that waits have it in between."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: deque[Lock] = deque()
        self._held = False

    def acquire(self, timeout: float) -> bool:
        """Whether it was given within so many seconds."""
        with self._lock:
            if not self._held:
                self._held = True
                return True
            mine = Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            return mine.acquire(timeout=timeout) or not self._left(mine)
        except BaseException:  # a signal ends the wait
            if not self._left(mine):
                self.release()
            raise

    def release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False

    def _left(self, mine: Lock) -> bool:
        """Wait no more; False where it was given in the meantime."""
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return True
        return False
