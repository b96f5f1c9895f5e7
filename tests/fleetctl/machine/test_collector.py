"""The garbage collector is off while a run reads, on while it acts, and as it was when it ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from fleetctl import cli, entry
from fleetctl.machine import collector


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.freeze()  # a run of tests keeps what it collected


def test_it_is_paused_and_comes_back() -> None:
    with collector.paused():
        assert not gc.isenabled()
        with collector.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), collector.paused():
        raise KeyError
    assert gc.isenabled()


def test_once_resumed_it_collects_what_is_made_from_then_on() -> None:
    with collector.paused():
        collector.resume()
        assert (gc.isenabled(), gc.get_freeze_count() > 0) == (True, True)


def test_what_a_large_plan_makes_is_not_looked_at_again_and_again_and_others_have_their_thresholds_back() -> None:
    before = gc.get_threshold()
    with collector.paused():
        collector.resume()
        assert gc.get_threshold() == (collector.YOUNG, *before[1:])
        kept = [[n] for n in range(20 * before[0])]
        assert gc.get_count()[2] == 0
    assert gc.get_threshold() == before
    assert len(kept) == 20 * before[0]


def test_it_leaves_the_objects_of_a_program_alone_that_did_not_pause_it() -> None:
    collector.resume()
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_the_command_pauses_it_and_leaves_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def run(_: object) -> int:
        seen.append(gc.isenabled())
        return 0

    monkeypatch.setattr(cli, "run", run)
    monkeypatch.setattr("sys.argv", ["fleetctl", "schema"])
    assert entry.main() == 0
    assert (seen, gc.isenabled()) == ([False], True)
