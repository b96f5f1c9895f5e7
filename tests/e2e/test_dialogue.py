"""An apply that asks: on a terminal, with the plan before people's eyes."""

from __future__ import annotations

import os
import pty
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import command, environment
from tests.e2e.homes import Home, entry, unchanged

PROMPT = b'Type "yes" to apply this plan: '


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.wish(entry("fra1-a", {"acme": 8}))
    return home


def ask(home: Home, answer: bytes) -> tuple[int, str, bytes]:
    """Run an apply on a terminal and answer its question; the exit code, stdout, and what the terminal showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("fleetctl", "apply", str(home.directory)),
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(TERM="xterm"),
    )
    os.close(theirs)
    killer = threading.Timer(60, process.kill)
    killer.start()
    shown = b""
    with suppress(OSError):  # what a terminal's end says once nobody has the other one open any more
        while data := os.read(ours, 4096):
            if PROMPT in (shown := shown + data) and answer:
                os.write(ours, answer)
                answer = b""
    out, _ = process.communicate()
    killer.cancel()
    os.close(ours)
    return process.returncode, out, shown


def test_yes_applies_the_plan_that_was_shown(home: Home) -> None:
    code, out, terminal = ask(home, b"yes\n")
    assert code == 0
    assert out.index("+ create") < out.index("Applied: 2 operations done.")
    assert terminal.index(PROMPT) < terminal.index(b"[1/2]")
    assert home.is_settled()


@pytest.mark.parametrize("answer", [b"no\n", b"yes please\n", b"\x04"])
def test_anything_else_writes_nothing(home: Home, answer: bytes) -> None:
    with unchanged(home):
        code, out, terminal = ask(home, answer)
    assert code == 1
    assert "Applied" not in out
    assert b"not approved: nothing was written" in terminal


def test_nothing_to_do_asks_nothing(home: Home) -> None:
    home.apply()
    code, out, terminal = ask(home, b"")
    assert (code, PROMPT in terminal) == (0, False)
    assert "as the files say" in out
