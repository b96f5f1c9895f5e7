"""The workflow of a starter, run: what a pull request shows and keeps is what is applied once it is merged.

Its scripts run as they are, on a repository with a remote and a control plane of the test's own; `gh` is one that
writes down what it is asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleetctl.starter import Choices, start
from tests import warm
from tests.repository import Repository

pytestmark = pytest.mark.skipif(
    shutil.which("jq") is None and not os.environ.get("CI"), reason="what `gh` selects is selected by jq here"
)

APPLIED = "refs/tags/fleet/applied"
BASE = "${{ vars.FLEET_SERVED == 'true' && 'fleet/applied' || format('origin/{0}', github.base_ref) }}"
CHOICES = Choices(fleet="demo", tenant="root", caller="sa_fleet", server=None, ci=True)
GH = """\
#!/bin/sh
selected() {
  given=$1
  while [ "$1" != --jq ]; do shift; done
  echo "$given" | jq -r "$2"
}
echo "$*" >> "$GH_LOG"
case "$*" in
  *"--paginate "*) echo "$GH_COMMENT" ;;
  *"/pulls "*) selected "$GH_PULLS" "$@" ;;
  "run list "*) selected "$GH_RUNS" "$@" ;;
  "run download 7 --name fleet-plan") cp "$GH_KEPT/plan.json" . ;;
esac
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


def run(number: int, base: str) -> dict[str, Any]:
    """A run of a pull request, as it is listed."""
    return {"databaseId": number, "displayTitle": f"Plan for {base}: Plan for main: more GPUs"}


def pull(base: str, *, merged: bool = True) -> dict[str, Any]:
    """A pull request that a commit is of."""
    return {"merged_at": "2026-01-01" if merged else None, "base": {"ref": base}, "head": {"sha": "f00d"}}


@dataclass
class GitHub:
    """A repository with a starter whose first plan is applied, and what its jobs say and keep. Where it is `served`
    what is merged can be applied."""

    repository: Repository
    home: Path
    served: bool = True
    said: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=lambda: [run(7, "main")])
    pulls: list[dict[str, Any]] = field(default_factory=lambda: [pull("main")])

    @property
    def asked(self) -> list[str]:
        """What `gh` was asked."""
        log = self.home / "log"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def applied(self) -> str:
        """The commit that the tag at the remote names; empty where there is none."""
        return self.repository.git("ls-remote", "origin", APPLIED).partition("\t")[0]

    def set_applied(self, commit: str) -> None:
        """What a person does: an empty `commit` removes the tag."""
        self.repository.git("push", "-q", "--force", "origin", f"{commit}:{APPLIED}")

    def edit(self, before: str, after: str) -> None:
        for path in (self.repository.path / "fleet").rglob("*.yaml"):
            path.write_text(path.read_text().replace(before, after))
        self.repository.commit()

    def run(self, job: str, comment: str = "", **inputs: str) -> int:
        """The exit code of the job, of the first step that fails; `inputs` are those of a run by hand."""
        workflow = yaml.safe_load((self.repository.path / ".github" / "workflows" / "fleet.yml").read_text())
        self.said = ""
        environ = {"GITHUB_REPOSITORY": "o/r", "GITHUB_OUTPUT": str(self.home / "output")}
        environ |= {"GITHUB_SHA": "5ha", "GH_LOG": str(self.home / "log"), "GH_KEPT": str(self.home / "kept")}
        environ |= {"GH_COMMENT": comment, "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}
        environ |= {"GH_PULLS": json.dumps(self.pulls), "GH_RUNS": json.dumps(self.runs), "GITHUB_REF_NAME": "main"}
        self.inputs = {f"inputs.{name}": text for name, text in inputs.items()}
        event = "workflow_dispatch" if inputs else "push" if job == "apply" else "pull_request"
        environ |= workflow["env"] | workflow["jobs"][job].get("env", {})
        assert environ["BASE"] == BASE
        environ["BASE"] = "fleet/applied" if self.served else "origin/main"
        for step in workflow["jobs"][job]["steps"]:
            if step.get("if", "").startswith("github.event_name ==") and f"'{event}'" not in step["if"]:
                continue
            if step.get("if") == "vars.FLEET_SERVED == 'true'" and not self.served:
                continue
            if step.get("uses", "").startswith("actions/checkout"):
                self._fetch(step)
            if step.get("uses", "").startswith("actions/upload-artifact") and step["with"]["name"] == "fleet-plan":
                shutil.move(self.repository.path / step["with"]["path"], self.home / "kept" / "plan.json")
            elif "run" in step and not step["run"].startswith("pip ") and (code := self._step(step, environ)):
                return code
        return 0

    def _fetch(self, step: dict[str, Any]) -> None:
        """What a checkout of the whole history brings: branches and tags as the remote has them."""
        assert step["with"]["fetch-depth"] == 0
        refs = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        self.repository.git("fetch", "-q", "--prune", "origin", *refs)

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


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository, the remote, the control plane and the programs that every test begins with: none knows where it
    is, so each test has copies."""
    home = tmp_path_factory.mktemp("workflow")
    made = GitHub(Repository(home / "repository"), home)
    start(made.repository.path / "fleet", CHOICES, {})
    for name in ("bin", "kept"):
        (home / name).mkdir()
    for name, script in {"gh": GH, "fleetctl": warm.script("fleetctl")}.items():
        (home / "bin" / name).write_text(script)
        (home / "bin" / name).chmod(0o755)
    made.edit("maxGpusWithdrawn: 256", "maxGpusWithdrawn: 4")
    subprocess.run([home / "bin" / "fleetctl", "apply", made.repository.path / "fleet", "--yes"], check=True)
    git = made.repository.git
    git("init", "-q", "--bare", "../remote")
    git("remote", "add", "origin", "../remote")
    git("push", "-q", "origin", "main")
    made.set_applied("main")
    git("checkout", "-q", "-b", "change")
    return home


@pytest.fixture
def github(begun: Path, tmp_path: Path) -> GitHub:
    home = shutil.copytree(begun, tmp_path / "home", symlinks=True)
    return GitHub(Repository(home / "repository"), home)


def pull_request(github: GitHub, **how: str) -> int:
    """The job of a pull request: it works on what the merge would be."""
    git = github.repository.git
    git("checkout", "-q", "--detach", "main")
    git("merge", "-q", "--no-ff", "-m", "x", "change")
    return github.run("plan", **how)


def merge(github: GitHub, *how: str) -> str:
    """A merge to main, squashed unless `how` says otherwise, and the next branch; returns the commit."""
    git = github.repository.git
    git("checkout", "-q", "main")
    git("merge", "-q", *(how or ("--squash",)), "change")
    if not how:
        github.repository.commit()
    git("push", "-q", "origin", "main")
    git("branch", "-f", "change", "main")
    return git("rev-parse", "main")


def merged(github: GitHub) -> int:
    """The job after a squash merge."""
    merge(github)
    return github.run("apply")


def changes(github: GitHub, before: str, after: str) -> None:
    """The next pull request's only commit."""
    github.repository.git("checkout", "-q", "change")
    github.edit(before, after)


LOOSENED = ("maxGpusWithdrawn: 4", "maxGpusWithdrawn: 256")
TAKES = ("quota: {gpu: 16,", "quota: {gpu: 8,")


def test_what_was_reviewed_is_applied_after_a_squash_merge(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 24,")
    assert pull_request(github) == 0, github.said
    assert github.asked[-1] == "pr comment 12 --body-file comment.md"
    comment = (github.repository.path / "comment.md").read_text()
    assert comment.startswith("<!-- fleetctl:plan demo -->\n")
    assert "16 -> 24" in comment
    assert merged(github) == 0, github.said
    assert "Applied: 1 operation done." in github.said
    assert github.applied == github.repository.git("rev-parse", "main")
    wanted = "run list --workflow fleet.yml --event pull_request --commit f00d --status success --json"
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


def test_of_the_plans_of_a_commit_the_one_for_the_branch_it_was_merged_to_is_taken(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 24,")
    assert pull_request(github) == 0, github.said
    github.runs = [run(9, "weak"), run(8, "main-2"), run(7, "main"), run(6, "main")]
    github.pulls = [pull("weak"), pull("main")]
    assert merged(github) == 0, github.said
    assert "run download 7 --name fleet-plan" in github.asked


def test_where_all_plans_are_for_other_branches_there_is_none(github: GitHub) -> None:
    github.edit("quota: {gpu: 16,", "quota: {gpu: 24,")
    assert pull_request(github) == 0, github.said
    github.runs = [run(9, "weak"), run(8, "main-2")]
    assert merged(github) == 1
    assert "::error title=No plan::" in github.said


@pytest.mark.parametrize("pulls", [[], [pull("main", merged=False)], [pull("release")]])
def test_what_no_pull_request_planned_is_not_applied(github: GitHub, pulls: list[dict[str, Any]]) -> None:
    github.repository.git("checkout", "-q", "main")
    github.pulls = pulls
    assert github.run("apply") == 1
    assert "::error title=No plan::" in github.said
    assert "run this workflow with allow and reason" in github.said
    assert not any(asked.startswith("run ") for asked in github.asked)


def test_what_a_guard_blocked_is_applied_by_hand_with_what_may_pass_and_why(github: GitHub) -> None:
    github.edit(*TAKES)
    assert pull_request(github) == 3, github.said
    merge(github)
    assert github.run("apply", allow="archives=1", reason="x") == 3
    assert github.run("apply", allow="archives=1 gpusWithdrawn=8", reason='acme\'s "half" $HOME closes') == 0, (
        github.said
    )
    assert "Applied: 1 operation done." in github.said
    assert 'acme\'s "half" $HOME closes' in github.said
    assert not any(asked.startswith("run ") for asked in github.asked)


class TestGuardsOfWhatWasAppliedLast:
    """They hold until the next apply is done, whatever was merged meanwhile."""

    def held(self, github: GitHub) -> None:
        """By hand, nothing passes but what is named; then all of it does, and is what was applied last."""
        before = github.applied
        assert github.run("apply", allow="withdrawals=1", reason="x") == 3, github.said
        assert "8 GPU atoms lowered or withdrawn, and one apply may take 4" in github.said
        assert github.applied == before
        assert github.run("apply", allow="gpusWithdrawn=8", reason="x") == 0, github.said
        assert github.applied == github.repository.git("rev-parse", "main")

    def test_a_loosened_guard_that_was_blocked_is_not_gone_after_the_next_merge(self, github: GitHub) -> None:
        changes(github, *LOOSENED)
        github.edit(*TAKES)
        assert pull_request(github) == 3, github.said
        assert merged(github) == 3, github.said  # merged all the same
        changes(github, "maxPending: 6h", "maxPending: 7h")
        assert pull_request(github) == 3, github.said
        assert "gpusWithdrawn" in github.said
        assert merged(github) == 3, github.said
        self.held(github)

    def test_commits_of_one_merge_are_no_base_of_each_other(self, github: GitHub) -> None:
        changes(github, *LOOSENED)
        github.edit(*TAKES)
        merge(github, "--ff-only")
        self.held(github)

    def test_they_hold_in_the_next_pull_request_where_the_merge_before_was_not_applied(self, github: GitHub) -> None:
        changes(github, *LOOSENED)
        merge(github)
        changes(github, *TAKES)
        assert pull_request(github) == 3, github.said
        assert merged(github) == 3
        self.held(github)

    def test_a_guard_that_was_loosened_and_applied_is_loosened(self, github: GitHub) -> None:
        changes(github, *LOOSENED)
        assert pull_request(github) == 0, github.said
        assert merged(github) == 0, github.said
        changes(github, *TAKES)
        assert pull_request(github) == 0, github.said
        assert merged(github) == 0, github.said
        assert "Applied: 1 operation done." in github.said

    def test_a_plan_that_was_made_on_another_base_does_not_fit(self, github: GitHub) -> None:
        changes(github, *LOOSENED)
        merge(github)
        changes(github, *TAKES)
        github.served = False
        assert pull_request(github) == 0, github.said  # with the guards of main, before anything could be applied
        github.served = True
        before = github.applied
        assert merged(github) == 64
        assert "--base says otherwise than the plan file does" in github.said
        assert "::error title=The plan does not fit::" in github.said
        assert github.applied == before

    def test_what_changes_nothing_of_the_fleet_leaves_plans_as_good_as_they_were(self, github: GitHub) -> None:
        before = github.applied
        (github.repository.path / "README").write_text("x")
        github.repository.commit()
        assert pull_request(github) == 0, github.said
        merge(github)
        changes(github, "quota: {gpu: 16,", "quota: {gpu: 24,")
        kept = pull_request(github)  # while the job of the merge before still runs
        github.repository.git("checkout", "-q", "main")
        plan = (github.home / "kept" / "plan.json").read_bytes()
        assert github.run("apply", allow="archives=1", reason="x") == 0, github.said
        assert github.applied == before
        (github.home / "kept" / "plan.json").write_bytes(plan)
        assert (kept, merged(github)) == (0, 0), github.said


class TestWithoutBase:
    """Where nobody knows which guards hold nothing is planned, and nothing applied."""

    def refused(self, github: GitHub, job: str, **inputs: str) -> None:
        before = github.applied
        assert github.run(job, **inputs) == 1
        assert "::error title=No base::The tag fleet/applied is not there, or is of no commit before" in github.said
        assert "git push --force origin fleet/applied" in github.said
        assert "fleet demo" not in github.said
        assert github.applied == before

    def test_there_is_none_before_somebody_says_which(self, github: GitHub) -> None:
        github.set_applied("")
        changes(github, *TAKES)
        self.refused(github, "plan")
        merge(github)
        self.refused(github, "apply")
        self.refused(github, "apply", allow="gpusWithdrawn=8", reason="x")
        github.set_applied("main^")
        assert github.run("apply", allow="gpusWithdrawn=8", reason="x") == 0, github.said

    def test_as_long_as_nothing_can_be_applied_none_is_needed(self, github: GitHub) -> None:
        github.set_applied("")
        github.served = False
        changes(github, *TAKES)
        assert pull_request(github) == 3, github.said

    def test_a_history_that_was_rewritten_has_lost_it(self, github: GitHub) -> None:
        changes(github, *TAKES)
        git = github.repository.git
        git("checkout", "-q", "--orphan", "new")
        github.repository.commit()
        git("push", "-q", "--force", "origin", "new:main")
        self.refused(github, "apply", allow="gpusWithdrawn=8", reason="x")

    def test_an_old_run_that_is_run_again_does_not_undo_what_came_later(self, github: GitHub) -> None:
        changes(github, "quota: {gpu: 16,", "quota: {gpu: 24,")
        assert pull_request(github) == 0, github.said
        assert merged(github) == 0, github.said
        github.repository.git("checkout", "-q", "main^")
        self.refused(github, "apply")
        self.refused(github, "apply", allow="gpusWithdrawn=8", reason="x")


def test_a_run_tells_for_which_branch_it_planned_and_another_base_makes_another(github: GitHub) -> None:
    text = (github.repository.path / ".github" / "workflows" / "fleet.yml").read_text()
    title = "format('Plan for {0}: {1}', github.base_ref, github.event.pull_request.title)"
    assert yaml.safe_load(text)["run-name"] == f"${{{{ github.base_ref && {title} || '' }}}}"
    assert "types: [opened, synchronize, reopened, edited]" in text


def test_one_job_may_move_the_tag_and_runs_one_after_the_other(github: GitHub) -> None:
    workflow = yaml.safe_load((github.repository.path / ".github" / "workflows" / "fleet.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    may = {name: job.get("permissions", {}).get("contents") for name, job in workflow["jobs"].items()}
    assert may == {"plan": "read", "apply": "write", "drift": None}
    assert workflow["jobs"]["apply"]["concurrency"] == {"group": "fleet-apply", "cancel-in-progress": False}
    assert "git push" in workflow["jobs"]["apply"]["steps"][-1]["run"]
