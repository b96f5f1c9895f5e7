"""A saved report is read back whole, or it is said that it is not."""

from __future__ import annotations

import json
from typing import Any, cast, get_args, get_type_hints

import pytest

from better_compute.domain.problems import ComputeError
from fleetctl.outline import outline
from fleetctl.report import forms
from fleetctl.report.saved import file_bytes, kind_of, read_report
from fleetctl.spelling import checksum
from tests.fleetctl.render.reports import a_plan, an_apply, every_kind

OTHERS = sorted(set(every_kind()) - {"plan", "apply"})


def refusal(document: Any) -> str:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(ComputeError) as error:
        read_report(data)
    (problem,) = error.value.problems
    assert problem.rule in ("report.file", "plan.file")
    return f"{problem.message} {problem.hint}"


def a_saved_plan() -> Any:
    plan = a_plan()
    plan["checksum"] = checksum(plan)
    return plan


def test_a_plan_is_read_that_was_written() -> None:
    assert read_report(file_bytes(a_saved_plan())) == a_saved_plan()


def test_a_plan_that_was_altered_is_not() -> None:
    data = file_bytes(a_saved_plan())
    assert "does not match its digest" in refusal(data.replace(b"fra1-old", b"fra1-new"))
    assert "does not match its digest" in refusal(data + b"\n")


def a_saved_apply() -> Any:
    report = an_apply()
    report["checksum"] = checksum(report)
    return report


def test_the_report_of_an_apply_is_read_that_was_written() -> None:
    assert read_report(file_bytes(a_saved_apply())) == a_saved_apply()


def test_the_report_of_an_apply_that_was_altered_is_not() -> None:
    data = file_bytes(a_saved_apply())
    assert "not, to the byte, what an apply wrote" in refusal(data.replace(b"fra1-1", b"fra1-9"))
    assert "not, to the byte, what an apply wrote" in refusal(data + b"\n")
    for name in set(a_saved_apply()) - {"kind"}:
        refusal({key: value for key, value in a_saved_apply().items() if key != name})


def test_a_journal_is_no_report_and_is_called_what_it_is() -> None:
    line = json.dumps({"time": 1, "plan": "a" * 64, "event": "begin", "change": {}}).encode() + b"\n"
    for journal in (line, line * 2):  # of a run that tried nothing there is one
        assert refusal(journal).startswith("it is the journal of an apply, and no report ")
        assert kind_of(journal) == "journal"
    for other in (b"{}\n" + line, b"time\n" + line):
        assert "it is no whole report" in refusal(other)
        assert kind_of(other) is None


@pytest.mark.parametrize("kind", OTHERS)
def test_another_report_is_read_in_any_spelling(kind: str) -> None:
    report = every_kind()[kind]
    assert read_report(json.dumps(report).encode()) == report
    assert read_report(file_bytes(report)) == report


@pytest.mark.parametrize("kind", OTHERS)
def test_what_lacks_something_or_has_more_is_none(kind: str) -> None:
    report = every_kind()[kind]
    for name in set(report) - {"kind"}:
        refusal({key: value for key, value in report.items() if key != name})
    assert f"what no report of kind {kind} does" in refusal({**report, "more": 1})


def test_what_is_of_another_version_or_kind_or_no_report_says_so() -> None:
    drift = every_kind()["drift"]
    assert "this build reads 1 alone" in refusal({**drift, "formatVersion": 2})
    assert 'did you mean "drift"?' in refusal({**drift, "kind": "drifts"})
    assert "kind None" in refusal({})
    for data in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"kind": 1}', b'{"kind": "apply", "formatVersion": 1}'):
        refusal(data)


def test_every_kind_can_be_read_and_rendered() -> None:
    kinds = {get_args(get_type_hints(form)["kind"])[0] for form in get_args(forms.Report)}
    for kind in kinds:
        assert "there are" not in refusal({"kind": kind, "formatVersion": 1})
        with pytest.raises(KeyError) as error:
            outline(cast("Any", {"kind": kind}))
        lacks_an_outline = str(error.traceback[-1].path).endswith("__init__.py")
        assert not lacks_an_outline  # but a field
