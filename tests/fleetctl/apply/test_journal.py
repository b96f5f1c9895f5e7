"""The journal: a line for every attempt and every outcome, none of them with a value of the files."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from fleetctl.apply.journal import Journal, Outcome, opened_journal
from fleetctl.errors import Stop
from fleetctl.machine import disk
from tests.e2e.edge import apply_over, planned, straight
from tests.e2e.homes import Home, entry, pool_id, served, unchanged
from tests.e2e.proxy import Exchange, once_each
from tests.fleetctl.machine.test_disk import small_files


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.wish(entry("a", {"acme": 8}, policy={"note": "value-example", "password": "hunter2-example"}))
    return home


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_attempt_and_every_outcome_has_a_line(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    report = home.apply("--journal", path).report
    begin, *found = lines(path)
    assert (begin["event"], begin["change"]["digest"], begin["plan"]) == ("begin", report["digest"], report["digest"])
    assert [(line["n"], line["event"], line["attempt"]) for line in found] == [
        (1, "attempt", 1),
        (1, "done", 1),
        (2, "attempt", 1),
        (2, "done", 1),
    ]
    assert {line["plan"] for line in found} == {report["digest"]}
    assert {line["operation"] for line in found} == {o["digest"] for o in report["done"]}
    assert {(line["action"], line["poolId"], line["toTenantId"]) for line in found} == {
        ("create", pool_id("a"), None),
        ("offer", pool_id("a"), "acme"),
    }
    assert all(line["time"] > 1_700_000_000_000 for line in found)
    assert "example" not in path.read_text()


def test_a_second_run_writes_on(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    home.apply("--journal", path)
    home.wish(entry("a", {"acme": 9}))
    home.apply("--journal", path)
    found = lines(path)
    assert [line["event"] for line in found].count("begin") == 2
    assert len(found) == 10
    assert len({line["plan"] for line in found}) == 2


def test_retries_and_failures_say_their_code(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with served(home) as (_, proxy):

        def rule(exchange: Exchange) -> None:
            if exchange.operation == "pools/offer":
                exchange.refuse(409, "INVALID_STATE", "no, value-example")
            else:
                once_each(Exchange.drop)(exchange) if exchange.write == 1 else exchange.pass_on()

        proxy.reset(rule)
        home.apply("--journal", path, code=5)
    found = [(line["event"], line["attempt"], line.get("code")) for line in lines(path)[1:]]
    assert found == [
        ("attempt", 1, None),
        ("retry", 2, "UNAVAILABLE"),
        ("done", 2, None),
        ("attempt", 1, None),
        ("failed", 1, "INVALID_STATE"),
    ]
    assert "waitSeconds" in lines(path)[2]
    assert "example" not in path.read_text()


def test_a_line_is_out_before_its_call_is_made(home: Home, tmp_path: Path) -> None:
    """What a killed apply was about is in its journal."""
    path = tmp_path / "journal.jsonl"
    with served(home) as (_, proxy):

        def rule(exchange: Exchange) -> None:
            if exchange.write == 2:
                process.kill()
                exchange.drop()
            else:
                exchange.pass_on()

        proxy.reset(rule)
        process = home.start("apply", "--yes", "--journal", str(path))
        process.communicate(timeout=60)
    assert [(line["n"], line["event"]) for line in lines(path)[1:]] == [(1, "attempt"), (1, "done"), (2, "attempt")]


def test_what_the_guards_let_pass_is_written_with_its_reason(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    home.apply("--journal", path, "--allow", "archives=3", "--reason", "the site closes")
    change = lines(path)[0]["change"]
    assert (change["allow"], change["reason"], change["fleet"]) == ({"archives": 3}, "the site closes", "default")


def test_a_journal_that_cannot_be_written_ends_the_run_before_the_first_call(home: Home, tmp_path: Path) -> None:
    with unchanged(home):
        ran = home.run("apply", "--yes", "--journal", tmp_path / "nowhere" / "journal.jsonl")
    assert (ran.code, "Traceback" in ran.err) == (1, False)
    assert "journal.jsonl" in ran.err


def test_a_report_that_cannot_be_written_ends_the_run_before_the_first_call(home: Home, tmp_path: Path) -> None:
    with unchanged(home):
        ran = home.run("apply", "--yes", "--report", tmp_path / "nowhere" / "report.json")
    assert ran.code == 1
    assert "nowhere" in ran.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_run_that_cannot_be_journalled_is_not_begun(home: Home) -> None:
    with unchanged(home):
        ran = home.run("apply", "--yes", "--journal", "/dev/full")
    said = "STOPPED: the journal /dev/full cannot be written: No space left on device; nothing was written"
    assert (ran.code, said in ran.err) == (1, True)


def test_an_operation_that_cannot_be_journalled_is_not_begun_and_is_reported(home: Home) -> None:
    with unchanged(home):
        outcomes = apply_over(home, straight, planned(home), journal=Filling(1))
    problems = [(o.problem.code, o.problem.rule, o.problem.message) for o in outcomes if o.problem]
    assert problems == [("STOPPED", "apply.journal", "the journal cannot be written: No space left on device")]
    assert [o.status for o in outcomes] == ["failed", "blocked"]


class Filling(BytesIO):
    """A disk with room for so many lines."""

    def __init__(self, lines: int, name: str = "") -> None:
        super().__init__()
        self.lines, self.name = lines, name

    def write(self, data: Any) -> int:
        self.lines -= 1
        if self.lines < 0:
            raise OSError(28, "No space left on device")
        return super().write(data)


def test_what_was_done_is_reported_where_the_journal_has_no_room_for_it(home: Home) -> None:
    outcomes = apply_over(home, straight, planned(home), journal=Filling(2))
    assert [outcome.status for outcome in outcomes] == ["done", "failed"]


def test_what_was_found_done_is_told_so_and_nothing_of_what_a_call_did(home: Home) -> None:
    operation, stream = planned(home).operations[0], BytesIO()
    journal = Journal(stream, lambda: 1, "digest")
    for found in (True, False):
        journal.finished(Outcome(operation, "done", found=found))
    assert [json.loads(line).get("found") for line in stream.getvalue().splitlines()] == [True, None]


def test_outcomes_that_the_journal_lacks_are_counted_for_people(home: Home) -> None:
    operation = planned(home).operations[0]
    journal = Journal(Filling(2), lambda: 1, "digest")
    journal.begun({})
    journal.started(operation)
    assert journal.remark == ""
    journal.finished(Outcome(operation, "done"))
    assert journal.remark.endswith("lacks 1 outcome: No space left on device")


class FullAtTheEnd(BytesIO):
    """A disk that says only when a file is closed that there was no room for it."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            raise OSError(28, "No space left on device")


def test_a_journal_that_cannot_be_closed_is_told_of_and_costs_no_report(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    monkeypatch.setattr(disk, "at_once", lambda _: FullAtTheEnd())
    ran = home.run("apply", "--yes", "--journal", path)
    assert (ran.code, "2 operations done" in ran.out) == (1, True)
    assert f"The journal {path} may lack what was written last: No space left on device" in ran.err


def test_a_journal_whose_name_is_no_text_is_told_of_in_a_report(tmp_path: Path) -> None:
    path = Path(os.fsdecode(b"%s/j\xff" % os.fsencode(tmp_path)))
    path.write_bytes(b"x" * 1000 + b"\n")
    with opened_journal(path, lambda: 1, "digest") as journal, small_files(), pytest.raises(Stop) as stop:
        journal.begun({})
    assert stop.value.message.encode().endswith(rb"j\xff cannot be written: File too large; nothing was written")


def test_a_journal_on_a_stream_that_is_open_goes_on_where_that_is(home: Home, tmp_path: Path) -> None:
    """Both are written to in turn, and neither overwrites what the other has written."""
    with (tmp_path / "all.txt").open("w") as both:
        command = home.start("apply", "--yes", "--journal", "/dev/stderr", stderr=both)
        command.communicate(timeout=60)
    assert command.returncode == 0
    said = (tmp_path / "all.txt").read_text().splitlines()
    told = [json.loads(line)["event"] for line in said if line.startswith("{")]
    assert told == ["begin", "attempt", "done", "attempt", "done"]
    assert [line for line in said if line.startswith("[")] == [
        "[1/2] done    create a",
        "[2/2] done    offer a to acme",
    ]


def test_an_apply_whose_journal_lacks_an_outcome_says_so_and_is_no_success(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up with the last outcome."""
    path = tmp_path / "journal.jsonl"
    monkeypatch.setattr(disk, "at_once", lambda _: Filling(4, str(path)))
    ran = home.run("apply", "--yes", "--journal", path)
    assert (ran.code, "2 operations done" in ran.out) == (1, True)
    assert f"The journal {path} lacks 1 outcome" in ran.err


def test_a_line_that_a_full_disk_cut_is_told_and_the_next_one_stands_apart(home: Home, tmp_path: Path) -> None:
    """A disk takes what it has room for, and says so in a number alone."""
    path, (operation, *_) = tmp_path / "journal.jsonl", planned(home).operations
    path.write_bytes(b"x" * 899 + b"\n")
    with opened_journal(path, lambda: 1, "digest") as journal:
        with small_files(), pytest.raises(Stop, match=r"journal\.jsonl cannot be written: File too large"):
            journal.started(operation)
        with small_files(), pytest.raises(Stop):
            journal.started(operation)
        journal.started(operation)
    _, cut, whole, end = path.read_text().split("\n")
    assert (len(cut), json.loads(whole)["event"], end) == (100, "attempt", "")


def test_a_journal_that_ends_within_a_line_goes_on_in_the_next(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"time": 1, "ev')
    home.apply("--journal", path)
    first, *found = path.read_text().splitlines()
    assert (first, json.loads(found[0])["event"]) == ('{"time": 1, "ev', "begin")
