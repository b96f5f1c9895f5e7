"""A real terminal: tmux, with a shell in it, whose screen is read and whose keys are typed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import environment

PATIENCE = 60
"""Seconds until a screen must show what is waited for."""
_SGR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A window of `columns` by `rows`; `socket` is where its tmux listens."""

    def __init__(self, socket: Path, columns: int, rows: int, **environ: str) -> None:
        self._socket, self._runs = socket, 0
        shell = (
            "env",
            "-i",
            *(f"{k}={v}" for k, v in environment(PS1="> ", **environ).items()),
            "bash",
            "--norc",
            "--noprofile",
        )
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, shlex.join(shell))
        self._tmux("set-option", "-g", "window-size", "manual")
        self.wait(lambda screen: screen.rstrip().endswith(">"))

    def run(self, *command: str, piped_to: str = "") -> None:
        """Type a command, and what tells its exit code when it has ended."""
        self._runs += 1
        self._tmux("send-keys", "-R", ";", "clear-history")  # by tmux itself: a shell's own `clear` comes when it comes
        pipe = f" | {piped_to}" if piped_to else ""
        self._tmux("send-keys", "-l", f"{shlex.join(command)}{pipe}; echo ended {self._runs} $?")
        self.press("Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size; done when what runs in it can know."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))
        tty = os.open(self._tmux("display-message", "-p", "#{pane_tty}").strip(), os.O_RDONLY | os.O_NOCTTY)
        try:
            end = time.monotonic() + PATIENCE
            while os.get_terminal_size(tty) != (columns, rows):
                assert time.monotonic() < end, f"{os.get_terminal_size(tty)} after {PATIENCE} s"
                time.sleep(0.02)
        finally:
            os.close(tty)

    def screen(self, *, colours: bool = False) -> str:
        """What is on the screen and above it, in lines; `colours`: with the sequences that colour it."""
        return self._tmux("capture-pane", "-p", "-S", "-", *(("-e",) if colours else ()))

    def wait(self, shown: Callable[[str], bool]) -> str:
        """The screen as soon as it shows what is waited for."""
        end = time.monotonic() + PATIENCE
        while not shown(screen := self.screen()):
            assert time.monotonic() < end, f"not shown in {PATIENCE} s: {screen}"
            time.sleep(0.02)
        return screen

    def ended(self) -> int:
        """The exit code of the command that was run, once it has ended."""
        found: list[str] = []

        def over(screen: str) -> bool:
            found[:] = re.findall(rf"^ended {self._runs} (\d+)$", screen, re.MULTILINE)
            return bool(found)

        self.wait(over)
        return int(found[-1])

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        environ = {**os.environ, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ("tmux", "-S", str(self._socket), *arguments), capture_output=True, text=True, env=environ, check=True
        )
        return done.stdout


@contextmanager
def terminal(folder: Path, columns: int = 100, rows: int = 40, **environ: str) -> Iterator[Terminal]:
    """A terminal for the length of a block. Without tmux the test is left out, but never in CI."""
    if shutil.which("tmux") is None and not os.environ.get("CI"):
        pytest.skip("tmux is not installed")
    window = Terminal(folder / "tmux", columns, rows, TERM="screen-256color", **environ)
    try:
        yield window
    finally:
        window.close()


def is_coloured(screen: str) -> bool:
    return bool(_SGR.search(screen))
