"""A control plane in another process, with the fleet's world and a token for its caller."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Served:
    url: str
    token_file: Path


@contextmanager
def serving(programs: Path, database: str, token_file: Path, caller: str) -> Iterator[Served]:
    """Serve a database that exists, by its URL, on a free port of the loopback, until the block ends."""
    command, url = str(programs / "better-compute"), database
    token = subprocess.run([command, "token", caller, "--database", url], check=True, capture_output=True, text=True)
    token_file.touch(mode=0o600)
    token_file.write_text(token.stdout)
    server = subprocess.Popen(
        [command, "serve", "--database", url, "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield Served(_address(server), token_file)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _address(server: subprocess.Popen[str]) -> str:
    said = []
    for line in server.stderr or ():
        said.append(line)
        if found := re.search(r"http://[0-9.]+:\d+", line):
            return found[0]
    raise SystemExit(f"the server did not come up: {''.join(said)[-2000:]}")
