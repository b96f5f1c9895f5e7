"""What git would not see of a starter: then nobody reviews it, and a job has no fleet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from fleetctl.base import git
from fleetctl.errors import Stop


def hidden(files: Sequence[str], lines: Iterable[str], top: Path) -> dict[str, str]:
    """File -> what hides it, of files relative to the `top` of a repository: one of the `lines` that its `.gitignore`
    will have, or what git knows already. The lines are names, those that end in `/` of folders."""
    found = {file: line for line in lines for file in files if _is_hidden(file, line)}
    return {**_known(files, top), **{file: f"{line} in the .gitignore to be" for file, line in found.items()}}


def _is_hidden(file: str, line: str) -> bool:
    parts = file.split("/")
    return any(fnmatchcase(part, line.rstrip("/")) for part in (parts[:-1] if line.endswith("/") else parts))


def _known(files: Sequence[str], top: Path) -> dict[str, str]:
    """What git's own settings and files hide already; nothing where it cannot be asked."""
    given = b"".join(os.fsencode(file) + b"\0" for file in files)
    try:
        ran = git.run(top, "check-ignore", "--no-index", "--verbose", "-z", "--stdin", stdin=given)
    except Stop:
        return {}
    fields = iter(os.fsdecode(ran.stdout).split("\0") if ran.returncode == 0 else [])
    rows = zip(fields, fields, fields, fields, strict=False)
    return {file: f"{line} in {source}" for source, _, line, file in rows if not line.startswith("!")}
