"""The workflow of a starter, run: what a pull request shows and keeps is what is applied once it is merged.

Its scripts run as they are, on a repository and a control plane of the test's own; `gh` is one that writes down what it
is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleetctl.starter import Choices, start
from tests.repository import Repository

CHOICES = Choices(fleet="demo", tenant="root", caller="sa_fleet", server=None, ci=True)
GH = """\
#!/bin/sh
echo "$*" >> "$GH_LOG"
case "$*" in
  *"--paginate "*) echo "$GH_COMMENT" ;;
  *"/pulls "*) echo "$GH_HEAD" ;;
  "run list "*) echo 7 ;;
  "run download 7 --name fleet-plan") cp "$GH_KEPT/plan.json" . ;;
esac
"""
FLEETCTL = f"""\
#!/bin/sh
exec '{sys.executable}' -c 'import sys; from fleetctl.entry import main; sys.exit(main())' "$@"
"""
EVENT = {
    "github.token": "t",
    "github.event.pull_request.number": "12",
    "vars.FLEETCTL_PACKAGE": "fleetctl",
    "secrets.FLEETCTL_READ_TOKEN": "",
    "secrets.FLEETCTL_TOKEN": "",
    "inputs.allow": "",
    "inputs.reason": "",
}


@dataclass
class GitHub:
    """A repository with a starter whose first plan is applied, and what its jobs say and keep."""

    repository: Repository
    home: Path
    said: str = ""
    inputs: dict[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> list[str]:
        """What `gh` was asked."""
        log = self.home / "log"
        return log.read_text().splitlines() if log.exists() else []

    def edit(self, before: str, after: str) -> None:
        for path in (self.repository.path / "fleet").rglob("*.yaml"):
            path.write_text(path.read_text().replace(before, after))
        self.repository.commit()

    def run(self, job: str, comment: str = "", head: str = "f00d", **inputs: str) -> int:
        """The exit code of the job, of the first step that fails; `inputs` are those of a run by hand."""
        workflow = yaml.safe_load((self.repository.path / ".github" / "workflows" / "fleet.yml").read_text())
        self.said = ""
        environ = {"GITHUB_BASE_REF": "main", "GITHUB_REPOSITORY": "o/r", "GITHUB_OUTPUT": str(self.home / "output")}
        environ |= {"GITHUB_SHA": "5ha", "GH_LOG": str(self.home / "log"), "GH_KEPT": str(self.home / "kept")}
        environ |= {"GH_COMMENT": comment, "GH_HEAD": head, "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}
        self.inputs = {f"inputs.{name}": text for name, text in inputs.items()}
        event = "workflow_dispatch" if inputs else "push" if job == "apply" else "pull_request"
        environ |= workflow["env"] | workflow["jobs"][job].get("env", {})
        for step in workflow["jobs"][job]["steps"]:
            if step.get("if", "").startswith("github.event_name ==") and f"'{event}'" not in step["if"]:
                continue
            if step.get("uses", "").startswith("actions/upload-artifact") and step["with"]["name"] == "fleet-plan":
                shutil.move(self.repository.path / step["with"]["path"], self.home / "kept" / "plan.json")
            elif "run" in step and not step["run"].startswith("pip ") and (code := self._step(step, environ)):
                return code
        return 0

    def _step(self, step: dict[str, Any], environ: dict[str, str]) -> int:
        own = {name: re.sub(r"\$\{\{ (\S+) \}\}", self._value, text) for name, text in step.get("env", {}).items()}
        ran = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=self.repository.path,
            env={**os.environ, **environ, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.said += ran.stdout
        return ran.returncode

    def _value(self, found: re.Match[str]) -> str:
        if found[1] == "steps.plan.outputs.code":
            return (self.home / "output").read_text().rpartition("code=")[2].strip()
        return (EVENT | self.inputs)[found[1]]


@pytest.fixture
def github(tmp_path: Path) -> GitHub:
    made = GitHub(Repository(tmp_path / "repository"), tmp_path)
    start(made.repository.path / "fleet", CHOICES, {})
    for name in ("bin", "kept"):
        (tmp_path / name).mkdir()
    for name, script in {"gh": GH, "fleetctl": FLEETCTL}.items():
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    made.edit("maxGpusWithdrawn: 256", "maxGpusWithdrawn: 4")
    subprocess.run([tmp_path / "bin" / "fleetctl", "apply", made.repository.path / "fleet", "--yes"], check=True)
    git = made.repository.git
    git("update-ref", "refs/remotes/origin/main", "main")
    git("checkout", "-q", "-b", "change")
    return made


def pull_request(github: GitHub, **how: str) -> int:
    """The job of a pull request: it works on what the merge would be."""
    git = github.repository.git
    git("checkout", "-q", "--detach", "main")
    git("merge", "-q", "--no-ff", "-m", "x", "change")
    return github.run("plan", **how)


def merged(github: GitHub) -> int:
    """The job after a squash merge."""
    git = github.repository.git
    git("checkout", "-q", "main")
    git("merge", "-q", "--squash", "change")
    github.repository.commit()
    return github.run("apply")


def test_what_was_reviewed_is_applied_after_a_squash_merge(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 24,")
    assert pull_request(github) == 0, github.said
    assert github.asked[-1] == "pr comment 12 --body-file comment.md"
    comment = (github.repository.path / "comment.md").read_text()
    assert comment.startswith("<!-- fleetctl:plan demo -->\n")
    assert "16 -> 24" in comment
    assert merged(github) == 0, github.said
    assert "Applied: 1 operation done." in github.said
    wanted = "run list --workflow fleet.yml --event pull_request --commit f00d --status success --limit 1"
    assert any(asked.startswith(wanted) for asked in github.asked)


def test_a_blocked_plan_takes_the_place_of_the_last_comment_and_fails(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 8,")
    assert pull_request(github, comment="345") == 3, github.said
    assert github.asked[-1] == "api --silent --method PATCH repos/o/r/issues/comments/345 --field body=@comment.md"
    assert "**Blocked" in (github.repository.path / "comment.md").read_text()
    assert (github.home / "kept" / "plan.json").exists()


def test_files_that_cannot_be_planned_are_no_comment(github: GitHub) -> None:
    github.edit("keyPrefix: gpu-", "keyPrefix: cpu-")
    assert pull_request(github) == 1
    assert github.asked == []


def test_where_another_merge_changed_the_files_nothing_is_applied(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 24,")
    assert pull_request(github) == 0, github.said
    github.repository.git("checkout", "-q", "main")
    github.edit("maxPending: 6h", "maxPending: 7h")
    assert merged(github) == 4
    assert "::error title=The plan does not fit::" in github.said
    assert "Plan again: in a new pull request" in github.said


def test_what_no_pull_request_planned_is_not_applied(github: GitHub) -> None:
    github.repository.git("checkout", "-q", "main")
    assert github.run("apply", head="") == 1
    assert "::error title=No plan::" in github.said
    assert "run this workflow with allow and reason" in github.said
    assert not any(asked.startswith("run ") for asked in github.asked)


def test_what_a_guard_blocked_is_applied_by_hand_with_what_may_pass_and_why(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 8,")
    assert pull_request(github) == 3, github.said
    git = github.repository.git
    git("checkout", "-q", "main")
    git("merge", "-q", "--squash", "change")
    github.repository.commit()
    assert github.run("apply", allow="archives=1", reason="x") == 3
    assert github.run("apply", allow="archives=1 gpusWithdrawn=8", reason='acme\'s "half" $HOME closes') == 0, (
        github.said
    )
    assert "Applied: 1 operation done." in github.said
    assert 'acme\'s "half" $HOME closes' in github.said
    assert not any(asked.startswith("run ") for asked in github.asked)
