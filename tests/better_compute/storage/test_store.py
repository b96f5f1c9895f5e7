"""What a store keeps beside its tables of things: the machines that a world declared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from better_compute.service.ports import Tx
from tests.better_compute.storage.changes import opened

WAIT = 0.2
PATIENCE = 20


def test_what_two_note_at_once_of_a_worlds_machines_is_kept(database_url: str) -> None:
    """Also the first time, when there is no row yet that could be locked."""
    with opened(database_url) as one, opened(database_url) as other:
        begun = threading.Event()

        def note(name: str) -> Callable[[Tx], None]:
            def work(tx: Tx) -> None:
                begun.set()
                tx.put_world_machines({**tx.world_machines(), name: {}})

            return work

        def hold(tx: Tx) -> Future[None]:
            noted = tx.world_machines()
            begun.clear()
            late = threads.submit(other.transact, note("late"))
            if other_begins_at_once:
                assert begun.wait(PATIENCE)
                time.sleep(WAIT)
            tx.put_world_machines({**noted, "early": {}})
            return late

        other_begins_at_once = not database_url.startswith("sqlite")
        with ThreadPoolExecutor(1) as threads:
            one.transact(hold).result()
        assert set(one.view(lambda tx: tx.world_machines())) == {"early", "late"}
