"""What a run takes from this machine and leaves on it: the clock, the commit of the files, files written whole."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

_GIT = ("git", "-c", "core.fsmonitor=false")  # the repository's settings must not start programs
_PATIENCE = 10.0


def clock() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def commit_of(directory: Path) -> str | None:
    """The commit that the fleet files below `directory` are of; None outside git, and where they differ from it."""
    if not any((parent / ".git").exists() for parent in (directory, *directory.parents)):
        return None
    changed = _git(directory, "status", "--porcelain", "--", "*.yaml", "*.yml")
    commit = _git(directory, "rev-parse", "--verify", "HEAD") if changed == "" else None
    return commit or None


def save(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, for its owner alone. Raises OSError.

    What is no file (`/dev/stdout`, a pipe) is written to as it is: nothing may take its place.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # nobody knows the other name
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _git(directory: Path, *arguments: str) -> str | None:
    """What git answers, None when it cannot."""
    import subprocess  # not at the top: most of what imports this has no repository to ask

    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        ran = subprocess.run(
            (*_GIT, *arguments), cwd=directory, env=environ, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.decode(errors="replace").strip() if ran.returncode == 0 else None
