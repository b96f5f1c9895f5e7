"""Work in a process of its own: what it makes comes back, and what it takes has an end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

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


PARENT = """
import os, time
from fleetctl.checks.apart import apart
def spin():
    print(os.getpid(), flush=True)  # for nobody
    open(PLACE, "w").write(str(os.getpid()))
    while True:
        pass
apart(spin)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_it_ends_with_the_process_that_wants_it(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    parent = subprocess.Popen(
        [sys.executable, "-c", f"PLACE = {str(place)!r}\n{PARENT}"], stdout=subprocess.PIPE, text=True
    )
    while not place.exists() or not place.read_text():
        assert parent.poll() is None
        time.sleep(0.01)
    parent.kill()
    assert parent.communicate(timeout=10)[0] == ""
    child = Path("/proc") / place.read_text()
    deadline = time.monotonic() + 10
    while child.exists() and child.joinpath("stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "it goes on for nobody"
        time.sleep(0.01)
