"""One way to run a transaction: every one goes through `Database.run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from better_compute.domain.policy.urls import mask_database
from better_compute.service.ports import Entropy
from better_compute.storage.engines import STATEMENT_SECONDS, make_engine, readers, writers
from better_compute.storage.errors import BUSY, Trouble, damaged, shortage, trouble_of, unavailable
from better_compute.storage.fair_lock import FairLock

T = TypeVar("T")
Work = Callable[[Connection], T]
Sleep = Callable[[float], None]
"""Wait so many seconds."""

_TRIES = 10
_TRIES_TO_FIND = 3
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.25


class Database:
    """The connections to one database. Safe to use from many threads."""

    def __init__(
        self,
        url: str,
        wait_seconds: float,
        sleep: Sleep,
        entropy: Entropy,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self.shown = mask_database(url)
        """The URL as it may be printed."""
        self.engine = make_engine(url, wait_seconds, statement_seconds)
        self.dialect = self.engine.dialect.name
        self._readers, self._writers = readers(self.engine), writers(self.engine)
        self._sleep, self._entropy = sleep, entropy
        self.wait_seconds = wait_seconds
        self._write_lock = FairLock()

    def read(self, work: Work[T]) -> T:
        """Run `work` on one snapshot of the database."""
        return self.run(self._readers, work)

    def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction that writes all or nothing."""
        if self.dialect != "sqlite":
            return self.run(self._writers, work)
        # SQLite has one write lock, and lets who waits for it sleep longer and longer: of many threads some would
        # starve. So those of one process wait before it, in the order in which they came.
        if not self._write_lock.acquire(timeout=self.wait_seconds):
            raise unavailable(f"{BUSY}: nothing was written")
        try:
            return self.run(self._writers, work)
        finally:
            self._write_lock.release()

    def run(self, engine: Engine, work: Work[T]) -> T:
        """Run `work` and commit; after a conflict or a lost connection again, a bounded number of times.

        Raises ComputeError UNAVAILABLE when the database cannot be had; then nothing was written, save where the
        message says that this is not known. What `work` raises comes out as it is, and rolls back.
        """
        for attempt in range(_TRIES):
            committing = False
            try:
                with engine.connect() as connection, connection.begin() as transaction:
                    result = work(connection)
                    committing = engine is self._writers
                    transaction.commit()
                    return result
            except SQLAlchemyError as error:
                if not _again(error, attempt, committing):
                    raise
                last = error
            except UnicodeDecodeError as error:
                raise damaged(error) from error
            self.pause(attempt)
        lost = trouble_of(last) is Trouble.LOST
        what = (
            "the connection to the database is lost again and again" if lost else "the database had too many conflicts"
        )
        raise unavailable(f"{what}: nothing was written", last) from last

    def pause(self, attempt: int) -> float:
        """Wait longer after each try, and not as long as those who collided with us; how many seconds it was."""
        longest = min(_FIRST_PAUSE * 2.0**attempt, _LONGEST_PAUSE)
        seconds = longest * (1 + self._entropy(1)[0] / 256) / 2
        self._sleep(seconds)
        return seconds

    def close(self) -> None:
        self.engine.dispose()


def _again(error: SQLAlchemyError, attempt: int, committing: bool) -> bool:
    """Whether the work may be done again: nothing of it stays. False for a mistake of ours."""
    match trouble_of(error):
        case Trouble.BUSY:
            raise unavailable(f"{shortage(error)}: nothing was written", error) from error
        case Trouble.DAMAGED:
            raise damaged(error) from error
        case Trouble.LOST if committing:
            message = "the connection to the database was lost: whether the change was written is not known"
            raise unavailable(message, error) from error
        case Trouble.EXISTS:
            return attempt < _TRIES_TO_FIND
        case trouble:
            return trouble is not None
