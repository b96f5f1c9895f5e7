"""Results on stdout, all else on stderr, in whatever encoding, to readers that stay or go."""

from __future__ import annotations

import codecs
import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

from fleetctl import render
from fleetctl.cli import streams
from fleetctl.cli.group import COMMANDS, fleetctl
from fleetctl.render import graph
from fleetctl.report import schemas
from tests.fleetctl.cli.runs import COMMAND, ROOT, Fleet, Ran, process

POLISH = "  - {idempotencyKey: fra1-a, policy: {note: zażółć, word: gęś}, offers: []}\n"
OFFERED = {
    **dict.fromkeys(("validate", "fmt", "plan", "apply", "diff", "test"), streams.REVIEWS),
    **dict.fromkeys(("drift", "show"), streams.METRICS),
    "graph": tuple(streams.GRAPHS),
}
WITHOUT = ("schema", "completion")
NAMES = {"plan": "plan.v1", "drift": "drift.v1", "validate": "validation.v1", "whoami": "whoami.v1"}


class TestEncodings:
    @pytest.mark.parametrize(
        "environ", [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii:strict"}], ids=str
    )
    def test_what_a_stream_cannot_print_is_escaped(self, environ: dict[str, str], fleet: Fleet) -> None:
        fleet.write(POLISH)
        ran = process(["apply", str(fleet.directory), "--yes"], environ)
        assert ran.code == 0, ran.err
        assert "Applied: 1 operation done." in ran.out
        assert ("za\\u017c" in ran.out) == ("PYTHONIOENCODING" in environ)
        assert "[1/1] done    create fra1-a" in ran.err

    def test_files_are_utf_8_whatever_the_locale(self, fleet: Fleet) -> None:
        fleet.write(POLISH)
        ran = process(["plan", str(fleet.directory), "--format", "json"], {"LC_ALL": "C", "PYTHONUTF8": "0"})
        (operation,) = json.loads(ran.out)["operations"]
        assert operation["after"]["policy"]["note"] == "zażółć"


class TestFormats:
    def test_every_renderer_has_its_name_and_none_stands_for_another(self) -> None:
        there = {module.name.strip("_") for module in iter_modules(render.__path__)} - {"graph"}
        assert set(streams.FORMATS) == there
        drawings = {module.name for module in iter_modules(graph.__path__)} - {"layout", "palette"}
        assert set(streams.GRAPHS.values()) == {f"graph.{name}" for name in drawings}
        assert len(set(streams.RENDERERS.values())) == len(there)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_command_offers_those_that_hold_for_its_result(self, name: str) -> None:
        command = fleetctl.get_command(click.Context(fleetctl), name)
        assert command is not None
        kinds = [parameter.type for parameter in command.params if parameter.name == "format"]
        offered = [tuple(kind.choices) for kind in kinds if isinstance(kind, click.Choice)]
        assert offered == ([] if name in WITHOUT else [OFFERED.get(name, streams.FACTS)])


class TestJson:
    @pytest.mark.parametrize("command", NAMES)
    def test_is_the_report_and_nothing_else(self, command: str, fleet: Fleet) -> None:
        fleet.make()
        ran = fleet.on(command, "--format", "json")
        schema = schemas.schema(NAMES[command])
        assert list(Draft202012Validator(schema).iter_errors(json.loads(ran.out))) == []
        assert ran.err == ""

    @pytest.mark.parametrize(
        "entry",
        [
            "{idempotencyKey: fra1-a, gpumodel: H100}",
            "{idempotencyKey: fra1-a",
            "{idempotencyKey: fra1-a, class: metal}",
        ],
    )
    def test_of_validate_is_its_report_whatever_is_wrong(self, entry: str, fleet: Fleet) -> None:
        fleet.write(f"  - {entry}\n")
        ran = fleet.on("validate", "--format", "json")
        document = json.loads(ran.out)
        assert (ran.code, ran.err, document["valid"], document["summary"]["errors"]) == (1, "", False, 1)
        assert list(Draft202012Validator(schemas.schema("validation.v1")).iter_errors(document)) == []
        assert document["problems"][0]["source"]["line"] == 9
        assert document["summary"]["entries"] == (1 if "metal" in entry else None)

    @pytest.mark.parametrize("command", ["plan", "drift", "apply", "whoami"])
    @pytest.mark.parametrize(
        ("wrong", "right", "tenant", "code", "said"),
        [
            ("flet: demo", "fleet: demo", "root", 1, "INVALID_INPUT"),
            ("caller: nobody", "caller: sa_fleet", "root", 1, "UNAUTHENTICATED"),
            ("fleet: demo", "fleet: demo", "acme", 4, "MISMATCH"),
        ],
    )
    def test_of_a_command_that_fails_says_why(
        self,
        command: str,
        wrong: str,
        right: str,
        tenant: str,
        code: int,
        said: str,
        fleet: Fleet,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        fleet.write(root=ROOT.replace(right, wrong))
        monkeypatch.setenv("FLEETCTL_TENANT", tenant)
        ran = fleet.on(command, *(["--yes"] if command == "apply" else []), "--format", "json")
        self.check_error(ran, code, said)

    def test_of_an_id_that_nobody_can_derive_says_why(self, fleet: Fleet) -> None:
        self.check_error(
            fleet("id", "a", "--fleet", str(fleet.directory / "no"), "--format", "json"), 1, "INVALID_INPUT"
        )
        self.check_error(fleet("id", "a b", "--tenant", "t", "--caller", "c", "--format", "json"), 64, "USAGE")

    @staticmethod
    def check_error(ran: Ran, code: int, said: str) -> None:
        document = json.loads(ran.out)
        assert (ran.code, [problem["code"] for problem in document["problems"]]) == (code, [said])
        assert list(Draft202012Validator(schemas.schema("error.v1")).iter_errors(document)) == []
        assert document["problems"][0]["message"].partition(": ")[0] in ran.err

    def test_of_a_usage_error_is_none(self, fleet: Fleet) -> None:
        ran = fleet.on("plan", "--format", "json", "--allow", "archives=1")
        assert (ran.code, ran.out) == (64, "")

    def test_of_an_apply_is_its_report_and_the_plan_stands_beside_it(self, fleet: Fleet) -> None:
        kept = fleet.directory / "report.json"
        ran = fleet.on("apply", "--yes", "--format", "json", "--report", str(kept))
        assert [outcome["n"] for outcome in json.loads(ran.out)["done"]] == [1, 2]
        assert kept.read_text() == ran.out
        assert "Plan of fleet demo" in ran.err
        assert "[2/2] done    offer fra1-a to acme" in ran.err

    def test_of_an_id_adds_what_it_derives_from(self, fleet: Fleet) -> None:
        with_flags = ("id", "pool-fra1-h100", "--tenant", "root", "--caller", "sa_fleet")
        assert fleet(*with_flags).out == "pool_41ajr0h7xph5z9bavercrty41f\n"
        derived = json.loads(fleet(*with_flags, "--format", "json").out)
        assert derived["derivedFrom"]["caller"] == "sa_fleet"
        assert list(Draft202012Validator(schemas.schema("id.v1")).iter_errors(derived)) == []
        assert fleet("id", "pool-fra1-h100", "--fleet", str(fleet.directory)).out == fleet(*with_flags).out


class TestSchema:
    def test_every_file_is_printed_as_it_is(self, fleet: Fleet) -> None:
        directory = Path(__file__).parents[3] / "schemas"
        names = fleet("schema").out.split()
        here = {str(path.relative_to(directory))[:-5] for path in directory.rglob("*.json")} - {"openapi"}
        assert set(names) == here
        for name in names:
            printed = fleet("schema", name).out
            assert printed == (directory / f"{name}.json").read_text(), (
                f"run fleetctl schema {name} > schemas/{name}.json"
            )

    def test_an_unknown_name_is_met_with_the_nearest(self, fleet: Fleet) -> None:
        ran = fleet("schema", "plan.v2")
        assert ran.code == 64
        assert 'did you mean "plan.v1"?' in ran.err


class TestPipes:
    def test_a_reader_that_went_away_is_an_error_without_words(self, fleet: Fleet) -> None:
        fleet.make()
        code, err = into_a_broken_pipe("plan", str(fleet.directory))
        assert (code, err) == (1, "")

    def test_what_an_apply_did_is_told_by_its_code_all_the_same(self, fleet: Fleet) -> None:
        code, err = into_a_broken_pipe("apply", str(fleet.directory), "--yes", "--format", "json")
        assert code == 0
        assert "Traceback" not in err
        assert "No changes" in fleet.on("plan").out

    def test_progress_that_nobody_reads_does_not_stop_an_apply(self, fleet: Fleet) -> None:
        with closed_pipe() as pipe:
            arguments = [*COMMAND, "apply", str(fleet.directory), "--yes"]
            ran = subprocess.run(arguments, stderr=pipe, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        assert ran.returncode == 0
        assert b"Applied: 2 operations done." in ran.stdout


class TestStreamsThatTakeNothing:
    """As a shell leaves them: `>&-`, and `> /dev/full` for a disk without room."""

    def into(self, redirections: str, *arguments: str) -> Ran:
        script = f'exec "$@" {redirections}'
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        ran = subprocess.run(
            ["sh", "-c", script, "sh", *COMMAND, *arguments],
            env=buffered,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    @pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
    @pytest.mark.parametrize(
        ("command", "code"),
        [("validate FLEET", 0), ("plan FLEET --format json", 0), ("--help", 0), ("--version", 0), ("nope", 64)],
    )
    def test_a_closed_one_takes_what_it_is_given(self, command: str, code: int, closed: str, fleet: Fleet) -> None:
        arguments = [str(fleet.directory) if word == "FLEET" else word for word in command.split()]
        ran = self.into(closed, *arguments)
        assert (ran.code, "Error" in ran.err) == (code, False)

    def test_without_any_there_is_nobody_to_ask(self, fleet: Fleet) -> None:
        assert self.into("<&- >&- 2>&-", "apply", str(fleet.directory)).code == 64

    def test_an_apply_needs_none(self, fleet: Fleet) -> None:
        assert self.into("<&- >&- 2>&-", "apply", str(fleet.directory), "--yes").code == 0
        assert "No changes" in fleet.on("plan").out

    @pytest.mark.parametrize(
        "command",
        [
            *("validate FLEET", "plan FLEET", "plan FLEET --format json", "diff FLEET FLEET"),
            *("export FLEET", "export FLEET --format json", "snapshot FLEET", "snapshot FLEET --format json"),
            *("schema", "schema fleet.v1", "completion bash", "--help", "--version"),
        ],
    )
    def test_a_result_that_a_full_disk_does_not_take_is_an_error_and_told_once(
        self, command: str, fleet: Fleet
    ) -> None:
        arguments = [str(fleet.directory) if word == "FLEET" else word for word in command.split()]
        ran = self.into("> /dev/full", *arguments)
        assert (ran.code, "Exception ignored" in ran.err) == (1, False)
        told = [line for line in ran.err.splitlines() if line.startswith("STOPPED")]
        assert told == ["STOPPED: the result cannot be written: No space left on device"]

    def test_so_is_an_error_that_is_a_document(self, fleet: Fleet) -> None:
        fleet.write("  - {idempotencyKey: fra1-a, nope: 1}\n")
        ran = self.into("> /dev/full", "plan", str(fleet.directory), "--format", "json")
        assert (ran.code, ran.err.count("STOPPED"), "fleet.yaml:9" in ran.err) == (1, 1, True)

    def test_what_an_apply_did_is_told_by_its_code_all_the_same(self, fleet: Fleet) -> None:
        ran = self.into("> /dev/full", "apply", str(fleet.directory), "--yes", "--format", "json")
        assert ran.code == 0
        assert "STOPPED: the result cannot be written: No space left on device\n" in ran.err

    def test_a_plan_that_cannot_be_shown_is_not_applied(self, fleet: Fleet) -> None:
        ran = self.into("> /dev/full", "apply", str(fleet.directory), "--yes")
        assert (ran.code, "Exception ignored" in ran.err) == (1, False)
        assert ran.err.endswith("No space left on device\nSTOPPED: not approved: nothing was written\n")
        assert "Plan: 1 to create" in fleet.on("plan").out


@contextmanager
def closed_pipe() -> Iterator[int]:
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def into_a_broken_pipe(*arguments: str) -> tuple[int, str]:
    with closed_pipe() as pipe:
        ran = subprocess.run(
            [*COMMAND, *arguments],
            stdout=pipe,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )
    return ran.returncode, ran.stderr


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, arguments: list[str], **environ: str) -> None:
        self._ours, theirs = pty.openpty()
        streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        env = {**os.environ, "TERM": "xterm", **environ}
        self.process = subprocess.Popen([*COMMAND, *arguments], env=env, start_new_session=True, **streams)
        os.close(theirs)
        self.shown = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end inside a letter

    def until(self, text: str) -> None:
        while text not in self.shown:
            self._read()

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        with suppress(OSError):  # what it wrote last is read before it is waited for: a terminal holds little
            while True:
                self._read()
        os.close(self._ours)
        return self.process.wait(timeout=60)

    def _read(self) -> None:
        data = os.read(self._ours, 65536)
        if not data:
            raise OSError("the terminal ended")
        self.shown += self._decoder.decode(data)


ASKS = 'Type "yes" to apply this plan: '


class TestTerminal:
    def test_an_apply_shows_asks_and_runs(self, fleet: Fleet) -> None:
        terminal = Terminal(["apply", str(fleet.directory)])
        terminal.until(ASKS)
        assert "\x1b[32m+ create" in terminal.shown
        terminal.type("yes\n")
        assert terminal.end() == 0
        assert "Applied: 2 operations done." in terminal.shown

    @pytest.mark.parametrize("answer", ["y\n", "\x04"])
    def test_another_answer_writes_nothing_and_leaves_no_earlier_report(self, answer: str, fleet: Fleet) -> None:
        (report := fleet.directory / "report.json").write_text('{"formatVersion": 1, "kind": "apply"}')
        terminal = Terminal(["apply", str(fleet.directory), "--report", str(report)])
        terminal.until(ASKS)
        terminal.type(answer)
        assert terminal.end() == 1
        assert "not approved: nothing was written" in terminal.shown
        assert not report.exists()
        assert fleet.on("plan", "--detailed-exitcode").code == 2

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_while_it_asks_ends_it_quietly(self, number: signal.Signals, code: int, fleet: Fleet) -> None:
        terminal = Terminal(["apply", str(fleet.directory)])
        terminal.until(ASKS)
        time.sleep(0.2)
        terminal.process.send_signal(number)
        assert terminal.end() == code
        assert "Traceback" not in terminal.shown
        assert fleet.on("plan", "--detailed-exitcode").code == 2

    def test_no_color_is_heeded(self, fleet: Fleet) -> None:
        terminal = Terminal(["plan", str(fleet.directory)], NO_COLOR="1")
        assert terminal.end() == 0
        assert "+ create" in terminal.shown
        assert "\x1b" not in terminal.shown


class TestWindow:
    @pytest.mark.parametrize(("columns", "window"), [(47, 47), (0, None)])
    def test_of_a_terminal_is_what_it_says(self, columns: int, window: int | None) -> None:
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        with open(theirs, "w") as stream:
            assert streams.window(stream) == window
        os.close(ours)

    def test_of_a_file_is_none(self, tmp_path: Path) -> None:
        with open(tmp_path / "file", "w") as stream:
            assert streams.window(stream) is None


def test_results_are_on_stdout_and_a_file_is_never_coloured(fleet: Fleet) -> None:
    fleet.make()
    ran = fleet.on("plan")
    assert ran.out.startswith("Plan of fleet demo\n")
    assert "\x1b" not in ran.out
    assert ran.err == ""
