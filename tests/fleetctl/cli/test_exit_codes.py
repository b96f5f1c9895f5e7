"""The frozen exit codes, from real runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import click
import pytest

from better_compute.domain.ids import DERIVATION
from better_compute.domain.problems import ComputeError, Problem, Source
from fleetctl.cli import failure
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.files import FilesError
from tests.fleetctl.cli.runs import ENTRY, ROOT, Fleet

TWO = ENTRY + "  - {idempotencyKey: fra1-b, offers: []}\n"


class TestSuccess:
    def test_a_plan_is_0_with_changes_and_without(self, fleet: Fleet) -> None:
        assert fleet.on("plan").code == 0
        assert fleet.on("apply", "--yes").code == 0
        ran = fleet.on("plan")
        assert ran.code == 0
        assert "No changes. 1 pool, 1 offer as wished." in ran.out

    def test_a_detailed_plan_is_2_with_changes_and_0_without(self, fleet: Fleet) -> None:
        assert fleet.on("plan", "--detailed-exitcode").code == 2
        assert fleet.on("apply", "--yes").code == 0
        assert fleet.on("plan", "--detailed-exitcode").code == 0

    def test_drift_is_2_when_there_is_some(self, fleet: Fleet) -> None:
        fleet.on("apply", "--yes")
        assert fleet.on("drift").code == 0
        fleet.write(TWO)
        ran = fleet.on("drift")
        assert ran.code == 2
        assert "Drift: 1 pending." in ran.out

    def test_others_pools_alone_are_no_drift(self, fleet: Fleet) -> None:
        fleet.write(TWO)
        fleet.on("apply", "--yes")
        fleet.write(root=ROOT_WITHOUT_PREFIX)
        assert fleet.on("drift").code == 0

    def test_valid_files_are_0(self, fleet: Fleet) -> None:
        assert (ran := fleet.on("validate")).code == 0
        assert ran.out == "Valid: 1 pool, 1 offer.\n"


ROOT_WITHOUT_PREFIX = """\
apiVersion: fleet/v1
fleet: demo
tenantId: root
caller: sa_fleet
server: {embedded: .fleet/plane.db, world: world.yaml}
defaults: {pool: {siteId: site_fra1, class: metal-host, gpuModel: H100}}
pools:
"""


class TestErrors:
    def test_a_file_that_cannot_be_read_is_1_with_its_place(self, fleet: Fleet) -> None:
        fleet.write("  - {idempotencyKey: fra1-a, idempotencyKey: fra1-b}\n")
        for command in ("plan", "drift", "apply"):
            ran = fleet.on(command, *(["--yes"] if command == "apply" else []))
            assert (ran.code, ran.out) == (1, "")
            assert ran.err.startswith("fleet.yaml:9:")
            assert "Traceback" not in ran.err

    @pytest.mark.parametrize("entry", ["{idempotencyKey: fra1-a", "{idempotencyKey: fra1-a, gpumodel: H100}"])
    def test_what_validate_finds_is_its_result_whatever_is_wrong(self, entry: str, fleet: Fleet) -> None:
        fleet.write(f"  - {entry}\n")
        ran = fleet.on("validate")
        assert (ran.code, ran.err) == (1, "")
        assert ran.out.startswith("fleet.yaml:9:")
        assert ran.out.endswith("\nNot valid: 1 error. More may follow: rules and checks are judged next.\n")

    @pytest.mark.parametrize("command", ["validate", "plan", "drift", "apply"])
    def test_many_faults_that_say_the_same_are_counted_unless_verbose(self, command: str, fleet: Fleet) -> None:
        fleet.write("".join(f"  - {{idempotencyKey: fra1-{k}, gpumodel: H100}}\n" for k in "abcde"))
        more = ["--yes"] if command == "apply" else []
        short, whole = fleet.on(command, *more), fleet.on(command, *more, "--verbose")
        shown, all_of_it = (ran.out if command == "validate" else ran.err for ran in (short, whole))
        assert (short.code, whole.code, short.out == "") == (1, 1, command != "validate")
        assert "and 3 more (--verbose): " in shown
        assert [f"fleet.yaml:{n}:" in all_of_it for n in range(9, 14)] == [True] * 5
        assert "more (--verbose)" not in all_of_it

    @pytest.mark.parametrize("command", [("whoami",), ("snapshot",), ("export",), ("id", "fra1-a", "--fleet")])
    def test_none_is_left_out_where_no_flag_shows_the_rest(self, command: tuple[str, ...], fleet: Fleet) -> None:
        fleet.write("".join(f"  - {{idempotencyKey: fra1-{k}, gpumodel: H100}}\n" for k in "abcde"))
        ran = fleet(*command, str(fleet.directory))
        assert ran.code == 1
        assert [f"fleet.yaml:{n}:" in ran.err for n in range(9, 14)] == [True] * 5
        assert "--verbose" not in ran.err

    def test_a_directory_that_is_not_there_is_1(self, fleet: Fleet) -> None:
        ran = fleet("plan", str(fleet.directory / "none"))
        assert (ran.code, ran.out) == (1, "")
        assert "none" in ran.err

    def test_a_refusal_is_1_and_an_answer_that_repeats_the_token_is_not_repeated(
        self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_TOKEN", "t0ken-example")
        with refusing() as url:
            ran = fleet.on("plan", "--server", url)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("UNAUTHENTICATED: ")
        assert f"Hint: {url} was asked with the token of FLEETCTL_TOKEN\n" in ran.err
        assert "t0ken-example" not in ran.err

    @pytest.mark.parametrize("key", ["", "zz" * 32, "ab", "a" * 33, "é" * 32])
    def test_a_server_whose_key_is_none_is_1_and_no_digest_is_made_under_it(
        self, key: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_TOKEN", "tok")
        info = {"instanceId": "i", "derivation": DERIVATION, "time": 0, "version": "1", "capabilities": []}
        with refusing(info | {"digestKey": key}) as url:
            ran = fleet.on("plan", "--server", url)
        assert (ran.code, ran.err.partition(" is not ")[0]) == (1, "UNAVAILABLE: the server's digestKey")

    def test_a_rule_broken_by_the_files_is_1_in_validate_and_3_in_plan(self, fleet: Fleet) -> None:
        fleet.write("  - {idempotencyKey: fra1-a, class: metal, offers: []}\n")
        ran = fleet.on("validate")
        assert ran.code == 1
        assert "fleet.yaml:9:" in ran.out
        assert ran.out.endswith("\nNot valid: 1 error.\n")
        assert fleet.on("plan").code == 3

    def test_checks_are_judged_where_the_files_keep_to_the_rules(self, fleet: Fleet) -> None:
        """Elsewhere they would ask for what is wrong already."""
        check = "checks: [{name: none, severity: deny, each: pool, expr: 'false', message: none}]\n"
        for class_, rules in (("metal", ["pool.class"]), ("metal-host", ["check.none"])):
            fleet.write(f"  - {{idempotencyKey: fra1-a, class: {class_}, offers: []}}\n{check}")
            found = json.loads(fleet.on("plan", "--format", "json").out)["findings"]
            assert [problem["rule"] for problem in found if problem["severity"] == "error"] == rules

    def test_what_is_wrong_is_told_in_the_files_order(self, fleet: Fleet) -> None:
        """Pools are kept by their ids, which nobody can follow."""
        names = ["fra1-c", "fra1-a", "fra1-e", "fra1-b", "fra1-d"]
        fleet.write("".join(f"  - {{idempotencyKey: {name}, class: metal, offers: []}}\n" for name in names))
        for command, code in (("validate", 1), ("plan", 3)):
            report = json.loads((ran := fleet.on(command, "--format", "json")).out)
            found = report["problems" if command == "validate" else "findings"]
            assert (ran.code, [problem["source"]["line"] for problem in found]) == (code, [9, 10, 11, 12, 13])

    def test_a_limit_on_the_whole_plan_comes_after_what_is_wrong_in_one_place(self, fleet: Fleet) -> None:
        fleet.write(TWO)
        assert fleet.on("apply", "--yes").code == 0
        wrong = "  - {idempotencyKey: fra1-c, class: metal, offers: []}\n"
        fleet.write("".join(f"  - {{idempotencyKey: fra1-{k}, archived: true}}\n" for k in "ab") + wrong)
        findings = json.loads(fleet.on("plan", "--format", "json").out)["findings"]
        assert [finding["rule"] for finding in findings] == ["pool.class", "guard.archives"]

    def test_what_cannot_be_written_is_1_and_named(self, fleet: Fleet) -> None:
        fleet.make()
        path = fleet.directory / "no" / "plan.json"
        ran = fleet.on("plan", "--out", str(path))
        assert ran.code == 1
        assert ran.err == f"STOPPED: {path} cannot be written: No such file or directory; nothing was done\n"


@contextmanager
def refusing(info: dict[str, Any] | None = None) -> Iterator[str]:
    """The URL of a server that knows nobody, and says so with what it was sent; or that answers with `info`."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            error = {"code": "UNAUTHENTICATED", "message": f"unknown: {self.headers['Authorization']}"}
            self.send_response(200 if info else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"data": info} if info else {"error": error}).encode())

        def log_message(self, *_: object) -> None:
            """A test's server keeps silent."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class TestBlocked:
    def test_a_guard_blocks_plan_and_apply_and_writes_nothing(self, fleet: Fleet) -> None:
        fleet.write(TWO)
        fleet.on("apply", "--yes")
        fleet.write("".join(f"  - {{idempotencyKey: fra1-{k}, archived: true}}\n" for k in "ab"))
        assert fleet.on("plan").code == 3
        ran = fleet.on("apply", "--yes")
        assert ran.code == 3
        assert "Blocked: 1 error (first: fleet.yaml:" in ran.out
        assert fleet.on("apply", "--yes", "--allow", "archives=2", "--reason", "site closes").code == 0


class TestMismatch:
    def test_an_environment_against_the_pins_is_4(self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLEETCTL_TENANT", "acme")
        ran = fleet.on("plan")
        assert (ran.code, ran.out) == (4, "")
        assert ran.err.startswith("MISMATCH: ")
        assert "FLEETCTL_TENANT is acme, and the files say root" in ran.err

    @pytest.mark.parametrize(("name", "said"), [("TENANT", "root"), ("CALLER", "sa_fleet")])
    def test_an_id_of_another_than_the_environment_means_is_4(
        self, name: str, said: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(f"FLEETCTL_{name}", "other")
        ran = fleet("id", "fra1-a", "--fleet", str(fleet.directory))
        assert (ran.code, ran.out) == (4, "")
        assert f"FLEETCTL_{name} is other, and the files say {said}" in ran.err

    def test_an_id_comes_from_no_server_and_a_flag_beats_the_environment(
        self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there, ours = ("--fleet", str(fleet.directory)), ("--tenant", "root", "--caller", "sa_fleet")
        expected = fleet("id", "fra1-a", *ours).out
        monkeypatch.setenv("FLEETCTL_SERVER", "https://other.example.com")
        assert fleet("id", "fra1-a", *there).out == expected
        monkeypatch.setenv("FLEETCTL_CALLER", "other")
        assert fleet("id", "fra1-a", *there, "--caller", "sa_fleet").out == expected
        assert fleet("id", "fra1-a", *there, "--tenant", "root").code == 4
        assert fleet("id", "fra1-a", *ours).out == expected

    def test_an_altered_plan_is_4(self, fleet: Fleet) -> None:
        path = fleet.directory / "plan.json"
        fleet.on("plan", "--out", str(path))
        path.write_bytes(path.read_bytes().replace(b'"gpu": 8', b'"gpu": 80'))
        ran = fleet.on("apply", "--plan", str(path))
        assert (ran.code, ran.out) == (4, "")
        assert "the plan does not match its digest" in ran.err
        assert "Hint: make a new plan" in ran.err

    def test_a_stale_plan_and_another_digest_are_4(self, fleet: Fleet) -> None:
        path = fleet.directory / "plan.json"
        fleet.on("plan", "--out", str(path))
        fleet.write(TWO)
        assert fleet.on("apply", "--plan", str(path)).code == 4
        assert fleet.on("apply", "--expect", "0" * 64).code == 4

    def test_the_approved_plan_runs_and_runs_again(self, fleet: Fleet) -> None:
        path = fleet.directory / "plan.json"
        digest = json.loads(fleet.on("plan", "--format", "json", "--out", str(path)).out)["digest"]
        ran = fleet.on("apply", "--plan", str(path), "--expect", digest)
        assert ran.code == 0
        assert "Applied: 2 operations done." in ran.out
        assert fleet.on("apply", "--plan", str(path)).code == 0


NO_DURATIONS = ("24", "0h", "-1h", "1.5h", "soon", "9999d", "")


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["apply"], "without a terminal to ask on, one of --yes, --plan and --expect is needed"),
            (["apply", "--undo", "report.json"], "without a terminal to ask on, one of --yes and --expect is needed"),
            (["plan", "--allow", "archives=1"], "--allow needs --reason"),
            (["plan", "--allow", "archive=1", "--reason", "x"], 'did you mean "archives"?'),
            (["plan", "--allow", "archives", "--reason", "x"], "such as archives=3"),
            (["plan", "--allow", "archives=-1", "--reason", "x"], "such as archives=3"),
            (["plan", "--allow", "archives=\u0663", "--reason", "x"], "such as archives=3"),
            (["plan", "--allow", "archives=1", "--allow", "archives=2", "--reason", "x"], "given twice"),
            (["plan", "--reason", "x" * 201], "201 characters"),
            (["plan", "--reason", " "], "blank"),
            (["plan", "--reason", "a\x9bb"], "control characters"),
            (["plan", "--reason", "\U0001f600" * 101], "202 characters"),
            (["plan", "--reason", "\udcff"], "no Unicode text"),
            (["plan", "--format", "yaml"], "'yaml'"),
            (["plan", "--timeout", "0"], "0"),
            (["plan", "--timeout", "nan"], "no number"),
            *((["plan", "--expires", bad], "--expires takes a duration") for bad in NO_DURATIONS),
            (["apply", "--yes", "--parallelism", "65"], "65"),
            (["plan", "more", "paths"], "unexpected extra argument"),
        ],
        ids=lambda it: " ".join(it) if isinstance(it, list) else "",
    )
    def test_is_64_and_says_what_is_allowed(self, arguments: Sequence[str], said: str, fleet: Fleet) -> None:
        command, *rest = arguments
        ran = fleet.on(command, *rest)
        assert (ran.code, ran.out) == (64, "")
        assert ran.err.startswith("USAGE: ")
        assert said in ran.err
        assert not (fleet.directory / ".fleet").exists()

    @pytest.mark.parametrize("name", ["", "a b", "zażółć", "\udcff"])
    def test_an_id_derives_from_names_alone(self, name: str, fleet: Fleet) -> None:
        for arguments in ((name,), ("fra1-a", "--tenant", name), ("fra1-a", "--caller", name)):
            ran = fleet("id", *arguments, "--fleet", str(fleet.directory))
            assert (ran.code, ran.out) == (64, "")
            assert "no pool has this one" in ran.err

    def test_a_blank_server_is_none(self, fleet: Fleet) -> None:
        ran = fleet.on("plan", "--server", "")
        assert (ran.code, ran.out) == (1, "")
        assert "not the URL of a server" in ran.err


class TestFailure:
    def test_every_problem_of_files_is_told_with_its_place(self, capsys: pytest.CaptureFixture[str]) -> None:
        problems = [Problem("INVALID_INPUT", "r", m, hint="h", source=Source("a.yaml", 1, 2)) for m in ("one", "two")]
        assert failure.tell(FilesError(problems)) == 1
        assert capsys.readouterr().err == ("a.yaml:1:2: one [r]\n  Hint: h\na.yaml:1:2: two [r]\n  Hint: h\n")

    def test_where_no_flag_shows_more_nothing_is_left_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        problems = [Problem("INVALID_INPUT", "r", "no", source=Source("a.yaml", n, 2)) for n in range(1, 6)]
        assert failure.tell(FilesError(problems)) == 1
        assert capsys.readouterr().err == "".join(f"a.yaml:{n}:2: no [r]\n" for n in range(1, 6))

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (Stop(EXIT_STALE, "stale"), 4),
            (ComputeError(Problem("UNAUTHENTICATED", "", "who?")), 1),
            (click.UsageError("no"), 64),
            (KeyboardInterrupt(), 130),
            (BrokenPipeError(), 1),
            (OSError(28, "No space left on device"), 1),
            (ZeroDivisionError("oops"), 1),
        ],
        ids=lambda it: type(it).__name__,
    )
    def test_each_error_has_its_code(self, error: BaseException, code: int) -> None:
        assert failure.exit_code(error) == code

    def test_the_unexpected_is_one_calm_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        failure.tell(ZeroDivisionError("o\nops"))
        assert capsys.readouterr().err.splitlines() == [
            "INTERNAL_ERROR: this should not have happened (ZeroDivisionError: o\\nops)",
            "Hint: FLEETCTL_DEBUG=1 shows where; please report it with that",
        ]

    def test_a_traceback_is_for_those_who_ask(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_DEBUG", "1")
        failure.tell(ZeroDivisionError("oops"))
        assert "ZeroDivisionError: oops" in capsys.readouterr().err.splitlines()[0]

    def test_a_traceback_acts_on_no_terminal_and_shows_no_password(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_DEBUG", "1")
        failure.tell(ComputeError(Problem("X", "", "\x1b[2Jhttps://u:pw@host\u202e")))
        first = capsys.readouterr().err.splitlines()[0]
        assert "\\x1b[2Jhttps://(sensitive)@host\\u202e" in first

    def test_a_server_that_asks_for_patience_is_quoted(self, capsys: pytest.CaptureFixture[str]) -> None:
        failure.tell(ComputeError(Problem("RATE_LIMITED", "", "slow down"), retry_after_ms=5000))
        assert capsys.readouterr().err == "RATE_LIMITED: slow down\nHint: ask again in 5 s\n"

    def test_a_hostile_answer_stays_on_its_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        failure.tell(Stop(EXIT_STALE, "a\nb", ["c\x1b[2K"], "d\re"))
        assert capsys.readouterr().err == "MISMATCH: a\\nb\n  c\\x1b[2K\nHint: d\\re\n"


def test_a_plan_expires_so_long_after_the_live_state_was_read(fleet: Fleet) -> None:
    report = json.loads(fleet.on("plan", "--format", "json", "--expires", "24h").out)
    assert report["expiresAt"] - report["createdAt"] == 24 * 3600 * 1000
    assert json.loads(fleet.on("plan", "--format", "json").out)["expiresAt"] is None


def test_a_plan_file_is_for_its_owner_alone(fleet: Fleet, tmp_path: Path) -> None:
    fleet.make()
    path = tmp_path / "plan.json"
    ran = fleet.on("plan", "--out", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert ran.err == f"The plan is in {path}\n"


@pytest.mark.parametrize("command", ["validate", "plan", "drift"])
def test_a_slip_in_what_is_expected_is_told_and_blocks_nothing(fleet: Fleet, command: str) -> None:
    expected = "expected: [{key: fra1-aa, reason: trial}, {key: fra1-a, path: policy.maxPendng, reason: trial}]\n"
    fleet.write(root=ROOT.replace("pools:\n", f"{expected}pools:\n"))
    ran = fleet.on(command)
    assert ran.code == (2 if command == "drift" else 0)
    said = ran.out + ran.err
    assert 'did you mean "fra1-a"?' in said
    assert "fra1-a is expected to differ at policy.maxPendng, and nothing of a pool is called maxPendng" in said
    assert "fleet.yaml:8:" in said
