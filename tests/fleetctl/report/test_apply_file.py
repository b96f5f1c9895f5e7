"""The report of an apply, read to be taken back: what it holds must be what an apply can have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from better_compute.domain.problems import ComputeError
from fleetctl.errors import Stop
from fleetctl.report.apply_file import applied_report
from fleetctl.report.saved import file_bytes
from fleetctl.spelling import checksum
from tests.altered import with_value
from tests.fleetctl.render.reports import a_plan, an_apply, an_undo, outcome


def written(directory: Path, report: Any) -> Path:
    """A file that is whole, whatever it holds."""
    file = directory / "report.json"
    whole: Any = {**report, "checksum": checksum(report)}
    file.write_bytes(file_bytes(whole))
    return file


def refusal(directory: Path, report: Any) -> str:
    with pytest.raises(Stop) as stop:
        applied_report(written(directory, report))
    assert (stop.value.exit_code, stop.value.rule) == (4, "report.file")
    return stop.value.message


def test_what_was_done_and_what_failed_is_told(tmp_path: Path) -> None:
    told = outcome(1), outcome(2, poolId="pool_2"), outcome(3, "failed", poolId="pool_3"), outcome(4, "blocked")
    applied = applied_report(written(tmp_path, an_apply(*told)))
    assert [(one.n, one.is_done) for one in applied.operations] == [(1, True), (2, True), (3, False)]
    assert applied_report(written(tmp_path, an_undo())).sequence == 412


@pytest.mark.parametrize(
    "inverse",
    [
        {"action": None, "after": None, "why": ""},
        {"action": "create", "after": {}, "why": ""},
        {"action": "unoffer", "after": {}, "why": ""},
        {"action": "offer", "after": {"quota": {"gpu": 1}}, "why": ""},
        {"action": "offer", "after": {"quota": {"gpu": "1"}, "priority": 0, "includeDescendants": False}, "why": ""},
        {"action": "setQuota", "after": {"quota": {"gpu": 1}, "more": 1}, "why": ""},
        {"action": "update", "after": {"policy": "(sensitive)"}, "why": ""},
        {"action": "update", "after": {"gpuModel": "H100"}, "why": ""},
        {"action": "archive", "after": {"archived": True}, "why": ""},
    ],
)
def test_an_inverse_that_is_none_of_the_operation_is_refused(tmp_path: Path, inverse: Any) -> None:
    """The operation is of an offer."""
    refusal(tmp_path, with_value(an_undo(), ("done", 0, "inverse"), inverse))


def test_two_operations_of_one_object_are_refused(tmp_path: Path) -> None:
    report = an_undo()
    assert "two operations are of one object" in refusal(tmp_path, {**report, "failed": report["done"]})


def test_a_report_of_an_earlier_build_is_refused_and_it_is_said_what_it_lacks(tmp_path: Path) -> None:
    report = {name: value for name, value in an_undo().items() if name != "seal"}
    assert "missing required field `seal`" in refusal(tmp_path, report)


def test_another_kind_of_report_is_no_altered_one(tmp_path: Path) -> None:
    with pytest.raises(ComputeError) as error:
        applied_report(written(tmp_path, a_plan()))
    assert "is a plan, and the report of an apply is meant" in error.value.problems[0].message


def test_a_journal_is_no_altered_report(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text('{"time": 1, "plan": "a", "event": "begin"}\n{"time": 2, "plan": "a", "event": "done"}\n')
    with pytest.raises(ComputeError) as error:
        applied_report(journal)
    assert "is the journal of an apply, and the report of an apply is meant" in error.value.problems[0].message
