"""What is refused before anything is asked of a server: callers that are none, files in the place of others."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest

from fleetctl import entry
from tests.fleetctl.cli.runs import ENTRY, ROOT, Fleet, process

SINGLE = {
    "apiVersion": "fleet/v1",
    "tenantId": "root",
    "caller": "sa_fleet",
    "server": {"embedded": ".fleet/plane.db"},
    "allowEmpty": True,
    "pools": [],
}
"""A fleet in one file, whatever its name."""


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

    def test_a_plan_file_in_the_place_of_the_fleet_is_told_with_the_flag_that_takes_it(self, fleet: Fleet) -> None:
        plan = fleet.directory / "plan.json"
        fleet.on("plan", "--out", str(plan))
        ran = fleet("apply", str(plan), "--yes")
        assert (ran.code, len(ran.err.splitlines()), "did you mean --plan plan.json?" in ran.err) == (1, 2, True)

    def test_a_plan_file_that_is_not_there_is_told_as_what_it_is(self, fleet: Fleet) -> None:
        ran = fleet.on("apply", "--plan", "nosuch.json")
        assert ran.err == "STOPPED: the plan file nosuch.json cannot be read: No such file or directory\n"
        assert ran.code == 1

    @pytest.mark.parametrize("name", ["fleet.yaml", "new.yaml", "sub/new.yml", "world.yaml", ".fleet/plane.db", "link"])
    @pytest.mark.parametrize(
        "flags", [("plan", "--out"), ("apply", "--yes", "--report"), ("apply", "--yes", "--journal")]
    )
    def test_nothing_is_written_in_the_place_of_the_fleet_its_world_or_its_database(
        self, name: str, flags: tuple[str, ...], fleet: Fleet
    ) -> None:
        fleet.make()
        (fleet.directory / "sub").mkdir()
        (fleet.directory / "link").symlink_to("fleet.yaml")
        before = {file: file.read_bytes() for file in fleet.directory.rglob("*") if file.is_file()}
        ran = fleet.on(*flags, str(fleet.directory / name))
        assert (ran.code, "is a file of the fleet or its base, or would be read as one" in ran.err) == (64, True)
        assert {file: file.read_bytes() for file in before} == before
        assert not (fleet.directory / "new.yaml").exists()

    @pytest.mark.parametrize(
        "flags", [("plan", "--out"), ("apply", "--yes", "--report"), ("apply", "--yes", "--journal")]
    )
    @pytest.mark.parametrize("name", ["fleet.json", "data/entries.txt", ".fleet/plane.db"])
    def test_whatever_its_name_a_file_that_the_fleet_is_made_of_stays(
        self, name: str, flags: tuple[str, ...], fleet: Fleet
    ) -> None:
        fleet.make()
        (fleet.directory / "data").mkdir()
        (fleet.directory / "data" / "entries.txt").write_text("pools:\n" + ENTRY.replace("fra1-a", "fra1-b"))
        (fleet.directory / "entries.yaml").symlink_to("data/entries.txt")
        (fleet.directory / "fleet.json").write_text(json.dumps(SINGLE))
        target = fleet.directory / name
        before = target.read_bytes()
        command, *rest = flags
        path = target if name == "fleet.json" else fleet.directory
        ran = fleet(command, str(path), *rest, str(target))
        assert (ran.code, "is a file of the fleet" in ran.err) == (64, True)
        assert target.read_bytes() == before

    def test_a_plan_and_a_report_may_lie_beside_the_fleet(self, fleet: Fleet) -> None:
        plan, report = (str(fleet.directory / f"{name}.json") for name in ("plan", "report"))
        assert fleet.on("plan", "--out", plan).code == 0
        assert fleet.on("apply", "--plan", plan, "--report", report).code == 0

    def test_what_is_no_file_may_take_both(self, fleet: Fleet) -> None:
        null = os.devnull
        assert fleet.on("apply", "--yes", "--journal", null, "--report", null).code == 0


def test_an_interrupt_before_the_command_line_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("fleetctl.cli.run", interrupted)
    monkeypatch.setattr("sys.argv", ["fleetctl", "schema"])
    assert entry.main() == 130


class TestWorld:
    LOST = "fleet.yaml:6:44: server.world: no such file: wrld.yaml [fleet.world]"
    ROOT = ROOT.replace("world.yaml", "wrld.yaml")

    @pytest.mark.parametrize("command", ["validate", "plan", "whoami"])
    def test_a_slip_in_the_worlds_name_is_told_once_and_makes_no_database(self, command: str, fleet: Fleet) -> None:
        fleet.write(root=self.ROOT)
        ran = fleet.on(command)
        told = f'{self.LOST}\n  Hint: did you mean "world.yaml"?\n'
        verdict = "Not valid: 1 error. More may follow: rules and checks are judged next.\n"
        assert (ran.code, ran.out + ran.err) == (1, told + verdict * (command == "validate"))
        assert not (fleet.directory / ".fleet").exists()

    @pytest.mark.parametrize("command", ["validate", "plan"])
    def test_a_world_file_that_is_nowhere_is_told_where_it_is_named(self, command: str, fleet: Fleet) -> None:
        (fleet.directory / "world.yaml").unlink()
        fleet.write(root=self.ROOT)
        ran = fleet.on(command)
        assert (ran.code, self.LOST in ran.out + ran.err) == (1, True)
        assert not (fleet.directory / ".fleet").exists()

    def test_a_world_that_was_taken_in_may_go(self, fleet: Fleet) -> None:
        assert fleet.on("plan").code == 0
        (fleet.directory / "world.yaml").unlink()
        assert [fleet.on(command).code for command in ("validate", "plan", "whoami")] == [0, 0, 0]

    def test_another_server_needs_no_world_file(self, fleet: Fleet) -> None:
        (fleet.directory / "world.yaml").unlink()
        ran = fleet.on("whoami", "--server", "http://127.0.0.1:1")
        assert (ran.code, "there is no token for http://127.0.0.1:1" in ran.err) == (1, True)
        assert "`better-compute token IDENTITY --database URL`" in ran.err


class TestTarget:
    """Who is told of a URL or a token is told where it comes from."""

    @pytest.mark.parametrize("token", ["", "t0ken-example"])
    def test_a_url_that_is_none_is_told_before_a_token_is_missed(
        self, token: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_TOKEN", token)
        ran = fleet.on("whoami", "--server", "foo")
        assert (ran.code, ran.err.splitlines()) == (
            1,
            [
                "INVALID_INPUT: --server: not the URL of a server: foo [client.server]",
                '  Hint: did you mean "https://foo"?',
            ],
        )

    def test_a_url_of_the_environment_is_told_by_its_variable(
        self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fleet.write(root=ROOT.replace("server: {embedded: .fleet/plane.db, world: world.yaml}\n", ""))
        (fleet.directory / "world.yaml").unlink()
        monkeypatch.setenv("FLEETCTL_SERVER", "foo")
        assert fleet.on("plan").err.startswith("INVALID_INPUT: FLEETCTL_SERVER: not the URL of a server: foo")

    def test_a_token_that_cannot_be_one_is_told_by_its_file(self, fleet: Fleet, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("two words")
        file.chmod(0o600)
        ran = fleet.on("whoami", "--server", "http://127.0.0.1:1", "--token-file", str(file))
        assert ran.err.startswith(f"INVALID_INPUT: {file}: the token is empty or holds characters")
        assert "two words" not in ran.err


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("plan", "--base-dir"),
        ("plan", "--snapshot"),
        ("plan", "--out"),
        ("plan", "--token-file"),
        ("apply", "--plan"),
        ("apply", "--journal"),
        ("apply", "--report"),
        ("drift", "--out"),
        ("snapshot", "--out"),
        ("export", "--out"),
    ],
)
def test_a_variable_that_is_not_set_names_no_file(command: str, flag: str, fleet: Fleet) -> None:
    ran = fleet.on(command, flag, "")
    assert (ran.code, ran.out) == (64, "")
    assert "it is blank: is a variable not set?" in ran.err


@pytest.mark.parametrize("command", ["plan", "apply", "drift", "validate", "fmt", "test", "init", "show"])
def test_nor_is_a_blank_path_the_directory_one_is_in(command: str, fleet: Fleet) -> None:
    assert fleet(command, "").code == 64


@pytest.mark.parametrize(
    "command", ["show /dev/zero", "plan FLEET --snapshot /dev/zero", "apply FLEET --plan /dev/zero",
                "whoami FLEET --server http://127.0.0.1:1 --token-file /dev/zero"]
)  # fmt: skip
def test_a_device_without_an_end_is_not_read_to_it(command: str, fleet: Fleet) -> None:
    fleet.write()
    ran = process([word.replace("FLEET", str(fleet.directory)) for word in command.split()], preexec_fn=_bounded)
    assert (ran.code, ran.out) == (1, "")
    assert "cannot be read: it is a device without an end" in ran.err


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
