"""What is refused before anything is asked of a server: callers that are none, files in the place of others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from fleetctl import entry
from tests.fleetctl.cli.runs import ROOT, Fleet


class TestCaller:
    @pytest.mark.parametrize(("name", "said"), [("", "the files name no caller"), (" ", "no id"), ("a b", "no id")])
    @pytest.mark.parametrize("command", ["plan", "drift", "id"])
    def test_no_id_is_shown_that_derives_from_what_is_no_caller(
        self, command: str, name: str, said: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fleet.write(root=ROOT.replace("caller: sa_fleet\n", ""))
        monkeypatch.setenv("FLEETCTL_CALLER", name)
        ran = fleet("id", "fra1-a", "--fleet", str(fleet.directory)) if command == "id" else fleet.on(command)
        assert (ran.code, ran.out) == (1, "")
        assert said in ran.err


class TestPlaces:
    @pytest.mark.parametrize(
        "flags",
        [("--plan", "p", "--report", "./p"), ("--plan", "p", "--journal", "p"), ("--journal", "j", "--report", "j")],
        ids=str,
    )
    def test_one_file_is_not_written_in_the_place_of_another(
        self, flags: tuple[str, ...], fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        fleet.on("plan", "--out", "p")
        before = Path("p").read_bytes()
        ran = fleet.on("apply", "--yes", *flags)
        assert (ran.code, "name the same file" in ran.err) == (64, True)
        assert Path("p").read_bytes() == before

    def test_what_is_no_file_may_take_both(self, fleet: Fleet) -> None:
        null = os.devnull
        assert fleet.on("apply", "--yes", "--journal", null, "--report", null).code == 0


def test_an_interrupt_before_the_command_line_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("fleetctl.cli.run", interrupted)
    monkeypatch.setattr("sys.argv", ["fleetctl", "schema"])
    monkeypatch.setattr("gc.disable", lambda: None)
    assert entry.main() == 130
