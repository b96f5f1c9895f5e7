"""`fleetctl fmt`: what it says, and its exit codes."""

from __future__ import annotations

import json

import pytest

from fleetctl.formatting.layout import lay_out
from tests.fleetctl.cli.runs import ENTRY, Fleet

LOOSE = ENTRY.replace("fra1-a", "'fra1-b'")


def test_a_fleet_is_formatted_once(fleet: Fleet) -> None:
    (fleet.directory / "more.yaml").write_text(f"pools:\n{LOOSE}")
    ran = fleet.on("fmt")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "  more.yaml  formatted\n1 file formatted; 1 formatted already.\n"
    assert (fleet.directory / "more.yaml").read_text() == f"pools:\n{LOOSE}".replace("'", "")
    again = fleet.on("fmt")
    assert (again.code, again.out) == (0, "2 files formatted already.\n")


def test_a_check_says_which_files_and_ends_with_1(fleet: Fleet) -> None:
    (fleet.directory / "more.yaml").write_text(f"pools:\n{LOOSE}")
    ran = fleet.on("fmt", "--check")
    assert ran.code == 1
    assert ran.out == "  more.yaml:2  would be formatted\n1 file would be formatted; 1 formatted already.\n"
    assert (fleet.directory / "more.yaml").read_text() == f"pools:\n{LOOSE}"


def test_everything_is_told_to_whoever_asks(fleet: Fleet) -> None:
    assert fleet.on("fmt", "--verbose").out == "  fleet.yaml  as it should be\n1 file formatted already.\n"


def test_a_file_that_is_left_is_an_error_that_says_where_and_why(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "fleetctl.formatting.formatted.lay_out"
    monkeypatch.setattr(wrong, lambda text: lay_out(text).replace("text", "test"))
    (fleet.directory / "note.yaml").write_text("x-a: 1\nx-note:   text\n")
    ran = fleet.on("fmt")
    assert ran.code == 1
    assert "note.yaml:2  left as it is" in ran.out
    assert "formatted it would not say the same: a value would differ" in ran.out
    assert "1 file left as found" in ran.out


def test_a_fleet_that_cannot_be_read_is_told_as_ever(fleet: Fleet) -> None:
    fleet.write("  - {idempotencyKey: fra1-a, offers: [}\n")
    ran = fleet.on("fmt")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("fleet.yaml:9:39: ")


def test_the_report_is_the_same_for_programs(fleet: Fleet) -> None:
    (fleet.directory / "more.yaml").write_text(f"pools:\n{LOOSE}")
    document = json.loads(fleet.on("fmt", "--check", "--format", "json").out)
    assert document == {
        "formatVersion": 1,
        "kind": "format",
        "check": True,
        "files": [
            {"file": "fleet.yaml", "line": None, "status": "unchanged", "why": ""},
            {"file": "more.yaml", "line": 2, "status": "unformatted", "why": ""},
        ],
        "summary": {"formatted": 0, "unformatted": 1, "unchanged": 1, "left": 0},
    }


@pytest.mark.parametrize(
    ("form", "holds"),
    [
        ("github", "::error file={directory}/more.yaml,line=2"),
        ("junit", 'name="more.yaml [format.unformatted]"'),
        ("sarif", '"ruleId": "format.unformatted"'),
        ("markdown", "would be formatted"),
    ],
)
def test_a_check_annotates_the_files(fleet: Fleet, form: str, holds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet.directory.parent)
    (fleet.directory / "more.yaml").write_text(f"pools:\n{LOOSE}")
    ran = fleet.on("fmt", "--check", "--format", form)
    assert ran.code == 1
    assert holds.format(directory=fleet.directory.name) in ran.out
