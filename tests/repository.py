"""A git repository of a test's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgSign=false")


class Repository:
    """At `path`, made there where there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        if not (path / ".git").exists():
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(("git", *WHO, *arguments), cwd=self.path, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def commit(self, **files: str) -> str:
        """Commit files by name without `.yaml`; returns the commit."""
        for name, text in files.items():
            path = self.path / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")
