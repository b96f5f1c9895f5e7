"""The two commands as processes that begin at once: what they import is there already.

Run as a program this file is the warm process, `python warm.py SOCKET`: it imports both commands and forks for each
that is asked for. Such a command is a process of its own, with arguments, directory, environment and streams as given,
that can be signalled and killed; only how it is loaded differs. Tests of that, and some of each command, start it cold.

It ends when its standard input does, so it never outlives the tests.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NoReturn

COMMANDS = {"better-compute": "better_compute", "fleetctl": "fleetctl"}
"""The package of each command."""
LATE = (
    "psycopg",
    "ruamel.yaml",
    "sqlalchemy.dialects.postgresql.psycopg",
    "uvicorn.lifespan.off",
    "uvicorn.loops.asyncio",
)
"""What else they load as they go."""
_CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as warm:
    warm.connect(sys.argv[1])
    asked = {"arguments": sys.argv[2:], "directory": os.getcwd(), "environ": dict(os.environ)}
    text = json.dumps(asked).encode()
    socket.send_fds(warm, [len(text).to_bytes(4, "big")], [0, 1, 2])
    warm.sendall(text)
    sys.exit(int(warm.makefile().read().split()[1]))
"""


class Process:
    """A command under way, with what tests need of subprocess.Popen."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str], out: int = 1) -> None:
        """`arguments` begin with the name of the command. It has nothing to read, prints to the file `out`, which is
        this process's output where none is given, and what it says on stderr is read from `stderr`."""
        reading, writing = os.pipe()
        self.stderr = os.fdopen(reading, encoding="utf-8")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(_started()))
        asked = {"arguments": [*arguments], "directory": os.getcwd(), "environ": dict(environ)}
        with open(writing, "wb") as error, open(os.devnull, "rb") as nothing:
            _send(self._socket, asked, [nothing.fileno(), out, error.fileno()])
        self._told = self._socket.makefile()
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, the negative number of the signal that killed it, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The same once it has ended. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._socket], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self.returncode = int(self._told.readline())
            self._told.close()
            self._socket.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since, and nobody told that yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def script(name: str) -> str:
    """A program for shells that runs a command warm, with their streams and environment. No signal reaches it."""
    return f"#!/bin/sh\nexec '{sys.executable}' -IS -c '{_CLIENT}' '{_started()}' {name} \"$@\"\n"


def _send(connection: socket.socket, asked: dict[str, Any], streams: list[int]) -> None:
    text = json.dumps(asked).encode()
    socket.send_fds(connection, [len(text).to_bytes(4, "big")], streams)
    connection.sendall(text)


@cache
def _started() -> Path:
    """The socket of this process's warm one."""
    path = Path(mkdtemp(prefix="warm-")) / "socket"
    # A session of its own: an interrupt from the keyboard ends the tests first.
    warm = subprocess.Popen(
        [sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert warm.stdin is not None
    assert warm.stdout is not None
    assert warm.stdout.readline() == b"warm\n"
    for end in (warm.wait, warm.stdout.close, warm.stdin.close):  # the last one first
        atexit.register(end)
    return path


def main(path: str) -> None:
    """The warm process."""
    for package in COMMANDS.values():
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if ".migrations." not in module.name:  # alembic runs these
                importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)
    gc.freeze()  # what is shared with all commands is written by none
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(100)
        print("warm", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _attend(connection)
            connection.close()
            with suppress(ChildProcessError):  # those that have ended since
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    shutil.rmtree(Path(path).parent)


def _attend(connection: socket.socket) -> NoReturn:
    """Start one command, tell its number, wait for it, and tell how it ended."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as reader:
        asked = json.loads(reader.read(int.from_bytes(size, "big")))
    if (pid := os.fork()) == 0:
        connection.close()
        _become(asked, streams)
    connection.sendall(f"{pid}\n".encode())
    for stream in streams:
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):  # nobody wants to know any more
        connection.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    """What the script of a command does where this process has its streams, directory and environment."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    sys.argv = asked["arguments"]
    code: Any
    try:
        code = importlib.import_module(f"{COMMANDS[sys.argv[0]]}.entry").main()
    except SystemExit as ended:
        code = ended.code
    # As at the end of any process, but for taking apart all that was imported, whose pages would be copied for that.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    main(sys.argv[1])
