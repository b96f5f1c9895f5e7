"""What a store keeps beside its tables of things: the machines that a world declared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from better_compute.service.ports import MachineGroup, Tx
from tests.better_compute.storage.changes import carry_out, opened, populate
from tests.decisions import create

Transact = Callable[[Callable[[Tx], None]], None]

WAIT = 0.2
PATIENCE = 20

GROUP = MachineGroup(digest="k", pool_key="fra1", data="{}", count=1)


def test_groups_wait_while_their_pool_is_there_and_they_are_not_in_it(database_url: str) -> None:
    with opened(database_url) as store:
        populate(store)
        other, gone = replace(GROUP, digest="o", pool_key="other"), replace(GROUP, digest="g", joined="pool_0")
        store.transact(lambda tx: tx.add_machine_groups([GROUP, other, gone]))

        def waiting() -> list[MachineGroup]:
            return store.view(lambda tx: tx.waiting_machines())

        def waiting_for(*keys: str) -> list[MachineGroup]:
            return store.view(lambda tx: tx.machines_for(keys))

        assert waiting() == []
        assert waiting_for("fra1") == [GROUP]
        carry_out(store, create(idempotency_key="fra1"))
        assert waiting() == [GROUP]
        assert waiting_for("other") == [other]
        store.transact(lambda tx: tx.put_machine_groups([replace(GROUP, joined="pool_1")]))
        assert waiting() == waiting_for("fra1") == []
        assert store.view(lambda tx: tx.machine_groups(["k", "o", "none"])) == {
            "k": replace(GROUP, joined="pool_1"),
            "o": other,
        }


def test_what_two_note_at_once_of_a_worlds_machines_is_kept(database_url: str) -> None:
    """Also the first time, when there is no row yet that could be locked."""
    with opened(database_url) as one, opened(database_url) as other:
        for _ in range(2):
            at_once(database_url, one.transact, other.transact)
        assert one.view(lambda tx: tx.machine_groups(["k"]))["k"].count == 4


def noted(tx: Tx) -> MachineGroup | None:
    return tx.machine_groups(["k"]).get("k")


def note_more(tx: Tx, there: MachineGroup | None) -> None:
    """One machine more than there are."""
    if there is None:
        tx.add_machine_groups([GROUP])
    else:
        tx.put_machine_groups([replace(there, count=there.count + 1)])


def at_once(url: str, one: Transact, other: Transact) -> None:
    """Both note one more; the other begins when the one has looked, and has written nothing."""
    begun, waits = threading.Event(), list[Future[object]]()

    def late(tx: Tx) -> None:
        begun.set()
        note_more(tx, noted(tx))

    def early(tx: Tx) -> None:
        there = noted(tx)
        if not waits:
            waits.append(threads.submit(other, late))
            if not url.startswith("sqlite"):
                assert begun.wait(PATIENCE)
                time.sleep(WAIT)
        note_more(tx, there)

    with ThreadPoolExecutor(1) as threads:
        one(early)
        waits[0].result()
