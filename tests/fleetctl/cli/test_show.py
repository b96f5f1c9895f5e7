"""`fleetctl show`: a saved report in any format, without a server; and formats that a command does not take."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fleetctl.cli import streams
from tests.fleetctl.cli.runs import Fleet


@pytest.fixture
def plan(fleet: Fleet, tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    assert fleet.on("plan", "--out", str(file)).code == 0
    return file


@pytest.mark.parametrize(
    "name", [name for name in streams.FORMATS if name not in ("prometheus", "github", "junit", "sarif")]
)
def test_a_plan_is_shown_as_the_command_that_made_it_would(name: str, fleet: Fleet, plan: Path) -> None:
    shown = fleet("show", str(plan), "--format", name)
    assert (shown.code, shown.err) == (0, "")
    made = fleet.on("plan", "--format", name)
    assert len(shown.out.splitlines()) == len(made.out.splitlines())
    assert (json.loads(shown.out)["kind"] if name == "json" else "fra1-a") in ("plan", "fra1-a")


def test_a_plan_is_shown_that_is_stale(fleet: Fleet, plan: Path) -> None:
    assert fleet.on("apply", "--yes").code == 0
    assert fleet.on("apply", "--plan", str(plan)).code == 0  # all of it was done by another plan
    shown = fleet("show", str(plan))
    assert (shown.code, "create    fra1-a" in shown.out) == (0, True)


def test_a_report_and_a_drift_are_shown(fleet: Fleet, tmp_path: Path) -> None:
    report, drift = tmp_path / "report.json", tmp_path / "drift.json"
    drift.write_text(fleet.on("drift", "--format", "json").out)
    assert fleet("show", str(drift)).out.splitlines()[-1] == "Drift: 1 pending."
    assert 'kind="pending"} 1\n' in fleet("show", str(drift), "--format", "prometheus").out
    assert fleet.on("apply", "--yes", "--report", str(report)).code == 0
    assert "Applied: 2 operations done." in fleet("show", str(report)).out


def test_stdin_is_a_file_named_dash(fleet: Fleet, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with plan.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert fleet("show", "-").out == fleet("show", str(plan)).out


def test_what_was_altered_or_is_not_there_is_an_error(fleet: Fleet, plan: Path) -> None:
    plan.write_text(plan.read_text().replace("fra1-a", "fra1-b"))
    ran = fleet("show", str(plan))
    assert (ran.code, ran.out) == (1, "")
    assert "the plan does not match its digest" in ran.err
    ran = fleet("show", str(plan.parent / "no.json"))
    assert (ran.code, "cannot be read: No such file" in ran.err) == (1, True)


def test_what_is_no_report_is_named(fleet: Fleet, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = plan.parent / "journal.jsonl"
    assert fleet.on("apply", "--yes", "--journal", str(journal)).code == 0
    assert f"{journal}: it is the journal of an apply, and no report" in fleet("show", str(journal)).err
    plan.write_text("{")
    assert f"{plan}: it is no whole report" in fleet("show", str(plan)).err
    with plan.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert "stdin: it is no whole report" in fleet("show", "-").err


def test_what_an_apply_did_is_told_when_its_report_is_shown(fleet: Fleet, tmp_path: Path) -> None:
    """While it runs each operation has its line; nobody has those any more who asks what to take back."""
    report = tmp_path / "report.json"
    ran = fleet.on("apply", "--yes", "--report", str(report))
    assert (ran.code, "\nDone\n" in ran.out) == (0, False)
    shown = fleet("show", str(report)).out
    assert "\nDone\n  create fra1-a\n" in shown


class TestMaxBytes:
    def test_goes_with_markdown_alone(self, fleet: Fleet) -> None:
        for flags in ((), ("--format", "json")):
            ran = fleet.on("plan", "--max-bytes", "5000", *flags)
            assert ran.code == 64
            assert "--max-bytes is about a comment" in ran.err
        assert fleet.on("plan", "--format", "markdown", "--max-bytes", "5000").code == 0
        assert fleet.on("plan", "--format", "markdown", "--max-bytes", "10").code == 64

    def test_is_heeded(self, fleet: Fleet) -> None:
        fleet.write(
            "".join(f"  - {{idempotencyKey: fra1-{n}, offers: [], policy: {{note: '{n}'}}}}\n" for n in range(99))
        )
        made = fleet.on("plan", "--format", "markdown", "--max-bytes", "6000").out
        assert len(made.encode()) <= 6000 < len(fleet.on("plan", "--format", "markdown").out.encode())
        assert "lines are left out.** The whole: `fleetctl show plan.json`" in made


def test_files_are_named_from_where_the_command_runs(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet.directory.parent)
    fleet.write("  - {idempotencyKey: fra1-a, gpumodel: H100}\n")
    name = fleet.directory.name
    assert f"::error file={name}/fleet.yaml,line=9," in fleet("validate", name, "--format", "github").out
    assert f'"uri": "{name}/fleet.yaml"' in fleet("validate", name, "--format", "sarif").out
    assert f'file="{name}/fleet.yaml"' in fleet("validate", f"{name}/fleet.yaml", "--format", "junit").out
    monkeypatch.chdir(fleet.directory)
    assert "::error file=fleet.yaml,line=9," in fleet("validate", "--format", "github").out


@pytest.mark.parametrize("name", [name for name in streams.REVIEWS if name != "text"])
def test_an_error_has_its_place_in_every_format(name: str, fleet: Fleet) -> None:
    fleet.write("  - {idempotencyKey: fra1-a, gpumodel: H100}\n")
    ran = fleet.on("plan", "--format", name)
    assert ran.code == 1
    assert "gpumodel" in ran.out
    assert "gpumodel" in ran.err
