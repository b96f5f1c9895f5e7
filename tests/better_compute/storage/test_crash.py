"""A process that is killed leaves each change with its event, or neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.better_compute.storage.changes import carry_out, events, is_chain, opened, populate
from tests.decisions import create

ROOT = Path(__file__).parents[3]

# Changes a pool until it is killed, and says so after each change.
WRITER = """
import sys
from tests.better_compute.storage.changes import carry_out, opened
from tests.decisions import offer, set_quota, unoffer
with opened(sys.argv[1]) as store:
    for run in range(1000):
        for command in (offer(), set_quota("acme", {"gpu": run}), unoffer()):
            carry_out(store, command, id=f"evt_{sys.argv[2]}_{run}_{type(command).__name__}")
            print(flush=True)
"""


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_killed_writer_leaves_one_event_for_each_change(database_url: str, kills: int) -> None:
    with opened(database_url) as store:
        populate(store)
        carry_out(store, create())
        for run in range(kills):
            before = len(events(store))
            write_and_be_killed(database_url, run, changes=5 + run % 3)
            # Locking the pool waits for a commit that the server may still be about.
            state = store.transact(lambda tx: tx.pool_state("pool_1", None))
            found = events(store)
            assert state.pool is not None
            assert len(found) == state.pool.offers_version > before
            assert is_chain(found)
            assert set(state.offers) == (set() if found[-1].type == "pool.unoffered" else {"acme"})


def write_and_be_killed(url: str, run: int, changes: int) -> None:
    command = [sys.executable, "-c", WRITER, url, str(run)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(changes):
            assert writer.stdout.readline()
        writer.kill()
