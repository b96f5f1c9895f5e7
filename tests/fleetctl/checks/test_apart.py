"""Work in a process of its own: what it makes comes back, and what it takes has an end."""

from __future__ import annotations

import os

import pytest

from fleetctl.checks import apart
from fleetctl.checks.apart import EndedError


def test_what_it_returns_comes_back() -> None:
    assert apart.apart(lambda: ["x" * 1_000_000, 1]) == ["x" * 1_000_000, 1]


def test_it_is_done_in_another_process() -> None:
    assert apart.apart(os.getpid) != os.getpid()


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        apart.apart(lambda: 1 // 0)


def spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("work", [spin, lambda: os.kill(os.getpid(), 9), lambda: os._exit(0)])
def test_what_has_no_end_or_breaks_the_process_has_ended(work: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "SECONDS", 1)
    with pytest.raises(EndedError):
        apart.apart(work)  # type: ignore[arg-type]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux keeps to a limit of memory")
def test_memory_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "MEMORY", 100_000_000)
    assert apart.apart(lambda: len(bytes(50_000_000))) == 50_000_000
    with pytest.raises(EndedError):
        apart.apart(lambda: len(bytes(200_000_000)))
