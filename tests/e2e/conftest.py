"""Real servers: `better-compute serve` as a process of its own, on a loopback port, with tokens for its identities."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, cast

import pytest

from better_compute.bootstrap import SYSTEM, Connection, connect
from better_compute.bootstrap.plane import opened
from better_compute.bootstrap.tokens import new_token
from tests import warm

WORLD = """\
instance: e2e
tenants: [{id: acme}, {id: globex}]
sites:
  - {id: site_fra1, tenantId: root, kind: shared, region: eu-central}
  - {id: site_acme, tenantId: acme, kind: custom, region: eu-west}
identities:
  - {id: sa_fleet, tenantId: root}
  - {id: sa_reader, tenantId: root}
  - {id: sa_acme, tenantId: acme}
machines:
  - {pool: fra1-h100, count: 4, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192, memoryGiB: 2048}
"""

START_SECONDS = 30
STOP_SECONDS = 30


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what would tell a command where to go, or how wide its terminal is."""
    told = ("BETTER_COMPUTE_", "FLEETCTL_", "COLUMNS", "LINES")
    ours = {k: v for k, v in os.environ.items() if not k.startswith(told)}
    return ours | more


def command(name: str, *arguments: str) -> list[str]:
    """The command line of one of the two commands in this interpreter's own environment."""
    return [str(Path(sys.executable).with_name(name)), *arguments]


@dataclass
class Server:
    """A running server. `database` may be opened beside it; `said` is what it wrote to stderr so far."""

    process: warm.Process | subprocess.Popen[str]
    database: str
    url: str
    said: list[str] = field(default_factory=list)

    def token(self, identity: str) -> str:
        """A new token of an identity of the world."""
        with opened(self.database, SYSTEM, create=False) as plane:
            return new_token(plane, identity)

    def connect(self, identity: str = "sa_fleet", tenant_id: str = "root") -> Connection:
        return connect(self.url, tenant_id=tenant_id, token=self.token(identity))

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        self.process.send_signal(with_signal)
        return self.process.wait(STOP_SECONDS)


def _begun(asked: list[str], environ: dict[str, str]) -> warm.Process | subprocess.Popen[str]:
    """Cold where its environment says what it imports."""
    if "PYTHONPATH" in environ:
        return subprocess.Popen(command(*asked), stderr=subprocess.PIPE, text=True, env=environ)
    return warm.Process(asked, environ)


def _errors(process: warm.Process | subprocess.Popen[str]) -> TextIO:
    assert process.stderr is not None
    return cast("TextIO", process.stderr)


@contextmanager
def serving(database: str, *arguments: str, **environ: str) -> Iterator[Server]:
    """`better-compute serve` for the length of a block. A traceback on its stderr fails the test."""
    listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
    process = _begun(["better-compute", "serve", "--database", database, *listen, *arguments], environment(**environ))
    said: list[str] = []
    killer = threading.Timer(START_SECONDS, process.kill)
    killer.start()
    try:
        for line in _errors(process):
            said.append(line)
            if found := re.search(r"listening on (http://\S+)", line):
                break
        else:
            pytest.fail(f"the server did not start: {''.join(said)}")
    finally:
        killer.cancel()
    drain = threading.Thread(target=lambda: said.extend(_errors(process)), daemon=True)
    drain.start()
    try:
        yield Server(process, database, found[1], said)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()
            drain.join(5)
            _errors(process).close()
    assert "Traceback" not in "".join(said)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    return path


@pytest.fixture
def server(tmp_path: Path, world: Path) -> Iterator[Server]:
    """A server on SQLite with the world above."""
    with serving(f"sqlite:///{tmp_path / 'server.db'}", "--world", str(world)) as running:
        yield running


@pytest.fixture
def better_compute() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command as a process: its exit code, stdout and stderr."""

    def run(*arguments: str, given: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command("better-compute", *arguments),
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(**environ),
            check=False,
        )

    return run
