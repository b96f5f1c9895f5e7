"""Runs of the command, in this process and in one of its own, and a fleet with an embedded control plane."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fleetctl.cli import run

ROOT = """\
apiVersion: fleet/v1
fleet: demo
tenantId: root
caller: sa_fleet
keyPrefix: fra1-
server: {embedded: .fleet/plane.db, world: world.yaml}
defaults: {pool: {siteId: site_fra1, class: metal-host, gpuModel: H100}}
pools:
"""
"""Line 9 is the first entry's."""

WORLD = """\
tenants: [{id: acme}, {id: globex}]
sites: [{id: site_fra1, tenantId: root, kind: shared, region: eu}]
identities: [{id: sa_fleet, tenantId: root, kind: service}]
"""
ENTRY = "  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\n"
COMMAND = (sys.executable, "-c", "import sys; from fleetctl.entry import main; sys.exit(main())")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Fleet:
    """A fleet's directory, and the command in this process."""

    directory: Path
    capture: pytest.CaptureFixture[str]

    def write(self, entries: str = ENTRY, root: str = ROOT) -> None:
        (self.directory / "fleet.yaml").write_text(root + entries, encoding="utf-8")

    def make(self) -> None:
        """The control plane, ahead of a command that is to say nothing: whoever makes it tells so."""
        assert self.on("whoami").code == 0

    def __call__(self, *arguments: str) -> Ran:
        """`fleetctl ARGUMENTS`, in the process of the test; its SIGTERM handler does not outlive it."""
        before = signal.getsignal(signal.SIGTERM)
        self.capture.readouterr()
        try:
            code = run(arguments)
        finally:
            signal.signal(signal.SIGTERM, before)
        out, err = self.capture.readouterr()
        return Ran(code, out, err)

    def on(self, command: str, *arguments: str) -> Ran:
        """The same for a command on this fleet."""
        return self(command, str(self.directory), *arguments)


def process(arguments: Sequence[str], environ: dict[str, str] | None = None, **how: Any) -> Ran:
    """`fleetctl ARGUMENTS` in a process of its own; `environ` is added to this one's."""
    ran = subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
        **how,
    )
    return Ran(ran.returncode, ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace"))
