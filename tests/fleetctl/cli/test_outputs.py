"""What a command writes: known to be possible before anything is asked, and never an earlier run's."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.fleetctl.cli.runs import ENTRY, Fleet

RESULTS = [("plan", "--out"), ("apply", "--yes", "--report"), ("drift", "--out"), ("snapshot", "--out")]
OUTPUTS = [*RESULTS, ("apply", "--yes", "--journal")]
BROKEN = "  - {idempotencyKey: fra1-a, class: metal, offers: []}\n"


def files(fleet: Fleet) -> set[str]:
    return {str(path.relative_to(fleet.directory)) for path in fleet.directory.rglob("*")}


@pytest.mark.parametrize("flags", OUTPUTS)
class TestBeforeAnythingIsAsked:
    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("no/out.json", "No such file or directory"),
            ("world.yaml/out.json", "Not a directory"),
            ("folder", "Is a directory"),
        ],
    )
    def test_what_cannot_be_written_is_told(self, name: str, said: str, flags: tuple[str, ...], fleet: Fleet) -> None:
        (fleet.directory / "folder").mkdir()
        before = files(fleet)
        path = fleet.directory / name
        ran = fleet.on(*flags, str(path))
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"STOPPED: {path} cannot be written: {said}; nothing was done\n"
        assert files(fleet) == before, "not even a control plane was made"

    def test_what_would_be_read_as_a_file_of_the_fleet_is_refused(self, flags: tuple[str, ...], fleet: Fleet) -> None:
        before = files(fleet)
        ran = fleet.on(*flags, str(fleet.directory / "x.yaml"))
        assert (ran.code, ran.out) == (64, "")
        assert "nothing was written" in ran.err
        assert files(fleet) == before

    @pytest.mark.parametrize("name", ["fleet.yaml", "world.yaml", ".fleet/plane.db"])
    def test_another_name_of_a_file_of_the_fleet_is_refused(
        self, name: str, flags: tuple[str, ...], fleet: Fleet, tmp_path: Path
    ) -> None:
        assert fleet.on("plan").code == 0
        file, link = fleet.directory / name, tmp_path / "link"
        link.hardlink_to(file)
        data = file.read_bytes()
        assert fleet.on(*flags, str(link)).code == 64
        assert file.read_bytes() == data

    @pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
    def test_what_a_database_keeps_beside_itself_is_of_the_fleet(
        self, end: str, flags: tuple[str, ...], fleet: Fleet
    ) -> None:
        path = fleet.directory / f".fleet/plane.db{end}"
        path.parent.mkdir()
        assert (fleet.on(*flags, str(path)).code, path.exists()) == (64, False)

    @pytest.mark.parametrize("end", ["", "-wal"])
    def test_so_is_what_it_keeps_beside_the_file_that_a_link_leads_to(
        self, end: str, flags: tuple[str, ...], fleet: Fleet, tmp_path: Path
    ) -> None:
        link, real = fleet.directory / ".fleet/plane.db", tmp_path / "elsewhere" / "real.db"
        link.parent.mkdir()
        real.parent.mkdir()
        link.symlink_to(real)
        assert fleet.on(*flags, f"{real}{end}").code == 64

    def test_a_link_that_leads_to_itself_is_no_crash(
        self, flags: tuple[str, ...], fleet: Fleet, tmp_path: Path
    ) -> None:
        (tmp_path / "loop").symlink_to("loop")
        ran = fleet.on(*flags, str(tmp_path / "loop"))
        assert (ran.code, "Too many levels of symbolic links; nothing was done" in ran.err) == (1, True)
        assert (tmp_path / "loop").is_symlink()

    def test_what_can_be_written_is_not_until_there_is_something_to_write(
        self, flags: tuple[str, ...], fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_TENANT", "acme")
        before = files(fleet)
        assert fleet.on(*flags, str(fleet.directory / "out.json")).code == 4
        assert files(fleet) == before


@pytest.fixture
def report(fleet: Fleet, tmp_path: Path) -> Path:
    """That of an apply that did all it was asked."""
    path = tmp_path / "report.json"
    assert fleet.on("apply", "--yes", "--report", str(path)).code == 0
    assert path.exists()
    return path


def test_a_journal_takes_the_place_of_no_plan(fleet: Fleet, tmp_path: Path) -> None:
    plan, link = tmp_path / "plan.json", tmp_path / "link"
    assert fleet.on("plan", "--out", str(plan)).code == 0
    link.hardlink_to(plan)
    ran = fleet.on("apply", "--plan", str(plan), "--journal", str(link))
    assert (ran.code, "--plan and --journal name the same file" in ran.err) == (64, True)


@pytest.mark.parametrize(("flag", "done"), [("--journal", False), ("--report", True)])
def test_a_pipe_that_nobody_reads_is_not_waited_for(fleet: Fleet, tmp_path: Path, flag: str, done: bool) -> None:
    """Of a journal it is known before the first call, of a report when what was done is done."""
    os.mkfifo(tmp_path / "pipe")
    ran = fleet.on("apply", "--yes", flag, str(tmp_path / "pipe"))
    assert (ran.code, "No such device or address" in ran.err) == (1, True)
    assert ("done" in ran.out) == done


@pytest.mark.parametrize("flags", OUTPUTS)
class TestNames:
    @pytest.mark.parametrize("length", [250, 255])
    def test_a_long_one_is_as_good_as_any(self, length: int, flags: tuple[str, ...], fleet: Fleet) -> None:
        path = fleet.directory / ("r" * length)
        for _ in range(2):
            assert fleet.on(*flags, str(path)).code == (2 if flags[0] == "drift" else 0)
            assert path.read_bytes()
        assert not [name for name in files(fleet) if name.startswith(".fleet-")]

    def test_one_that_is_too_long_is_told_before_anything_is_asked(self, flags: tuple[str, ...], fleet: Fleet) -> None:
        before = files(fleet)
        ran = fleet.on(*flags, str(fleet.directory / ("x" * 256)))
        assert (ran.code, "File name too long; nothing was done" in ran.err) == (1, True)
        assert files(fleet) == before

    @pytest.mark.parametrize("end", ["/", "/.", "//"])
    @pytest.mark.parametrize("there", [True, False])
    def test_one_of_a_folder_is_none_of_a_file(
        self, end: str, there: bool, flags: tuple[str, ...], fleet: Fleet
    ) -> None:
        if there:
            (fleet.directory / "ff2").mkdir()
        before = files(fleet)
        ran = fleet.on(*flags, f"{fleet.directory / 'ff2'}{end}")
        assert (ran.code, ran.out, "is spelled as a folder" in ran.err) == (64, "", True)
        assert files(fleet) == before

    def test_one_that_only_the_file_system_refuses_is_told_before_anything_is_asked(
        self, flags: tuple[str, ...], fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As a colon on some."""
        real, before = os.open, files(fleet)

        def refuse(path: str | Path, *more: int) -> int:
            if "out:1" in str(path):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
            return real(path, *more)

        monkeypatch.setattr(os, "open", refuse)
        ran = fleet.on(*flags, str(fleet.directory / "out:1"))
        assert (ran.code, "Invalid argument; nothing was done" in ran.err) == (1, True)
        assert files(fleet) == before


def test_a_pipe_that_somebody_reads_gets_the_report(fleet: Fleet, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert fleet.on("apply", "--yes", "--report", str(tmp_path / "pipe")).code == 0
    assert b'"kind": "apply"' in os.read(reading, 1 << 16)
    os.close(reading)


class TestReport:
    def test_of_an_earlier_run_does_not_outlive_one_that_is_blocked(self, fleet: Fleet, report: Path) -> None:
        fleet.write(BROKEN)
        assert fleet.on("apply", "--yes", "--report", str(report)).code == 3
        assert not report.exists()

    def test_nor_one_that_nobody_approved(self, fleet: Fleet, report: Path) -> None:
        assert fleet.on("apply", "--expect", "0" * 64, "--report", str(report)).code == 4
        assert not report.exists()

    def test_nor_one_of_an_altered_plan(self, fleet: Fleet, report: Path, tmp_path: Path) -> None:
        plan = tmp_path / "plan.json"
        plan.write_text("{}")
        assert fleet.on("apply", "--plan", str(plan), "--report", str(report)).code == 4
        assert not report.exists()

    def test_nor_one_against_the_pins(self, fleet: Fleet, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLEETCTL_CALLER", "other")
        assert fleet.on("apply", "--yes", "--report", str(report)).code == 4
        assert not report.exists()

    def test_where_a_link_leads_to_it_the_link_stays(self, fleet: Fleet, report: Path, tmp_path: Path) -> None:
        link = tmp_path / "link.json"
        link.symlink_to(report)
        fleet.write(BROKEN)
        assert fleet.on("apply", "--yes", "--report", str(link)).code == 3
        assert (link.is_symlink(), report.exists()) == (True, False)

    @pytest.mark.parametrize("command", RESULTS)
    def test_takes_the_place_of_no_token(self, fleet: Fleet, tmp_path: Path, command: tuple[str, ...]) -> None:
        token = tmp_path / "token"
        token.write_text("t0ken-example")
        ran = fleet.on(*command, str(token), "--token-file", str(token))
        assert (ran.code, f"{command[-1]} and --token-file name the same file" in ran.err) == (64, True)
        assert token.read_text() == "t0ken-example"

    def test_is_this_runs_where_there_is_nothing_to_do(self, fleet: Fleet, report: Path) -> None:
        fleet.write(ENTRY)
        assert fleet.on("apply", "--yes", "--report", str(report)).code == 0
        assert '"operations": 0' in report.read_text()


@pytest.mark.parametrize("flags", RESULTS)
class TestAnEarlierResult:
    @pytest.fixture
    def kept(self, flags: tuple[str, ...], fleet: Fleet, tmp_path: Path) -> Path:
        path = tmp_path / "kept.json"
        ran = fleet.on(*flags, str(path))
        what = {"apply": "report", "drift": "report"}.get(flags[0], flags[0])
        assert f"The {what} is in {path}" in ran.err
        assert path.exists()
        return path

    def test_does_not_outlive_files_that_cannot_be_read(self, flags: tuple[str, ...], fleet: Fleet, kept: Path) -> None:
        fleet.write("  - {idempotencyKey: fra1-a\n")
        assert fleet.on(*flags, str(kept)).code == 1
        assert not kept.exists()

    def test_nor_an_environment_against_the_pins(
        self, flags: tuple[str, ...], fleet: Fleet, kept: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEETCTL_TENANT", "acme")
        assert fleet.on(*flags, str(kept)).code == 4
        assert not kept.exists()

    def test_of_another_command_goes_too(self, flags: tuple[str, ...], fleet: Fleet, kept: Path) -> None:
        fleet.write("  - {idempotencyKey: fra1-a\n")
        others = [other for other in RESULTS if other != flags]
        data = kept.read_bytes()
        for other in others:
            kept.write_bytes(data)
            assert (fleet.on(*other, str(kept)).code, kept.exists()) == (1, False)

    @pytest.mark.parametrize("text", ["", "{", "{}", "[1]", "SQLite format 3", '{"kind": "plan"}', "{" * 100_000])
    def test_is_told_from_what_is_none_and_stays(
        self, text: str, flags: tuple[str, ...], fleet: Fleet, tmp_path: Path
    ) -> None:
        other = tmp_path / "other"
        other.write_text(text)
        fleet.write("  - {idempotencyKey: fra1-a\n")
        assert fleet.on(*flags, str(other)).code == 1
        assert other.read_text() == text

    def test_that_cannot_be_removed_is_told_as_what_cannot_be_written(
        self, flags: tuple[str, ...], fleet: Fleet, kept: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path, *_: Path) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

        monkeypatch.setattr(Path, "unlink", refuse)  # root may remove anything
        monkeypatch.setattr(Path, "replace", refuse)
        ran = fleet.on(*flags, str(kept))
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"STOPPED: {kept} cannot be written: Permission denied; nothing was done\n"


@pytest.mark.parametrize("command", ["plan", "drift"])
class TestWhatARunReads:
    def test_no_snapshot_is_replaced(self, command: str, fleet: Fleet, tmp_path: Path) -> None:
        taken = tmp_path / "taken.json"
        assert fleet.on("snapshot", "--out", str(taken)).code == 0
        data = taken.read_bytes()
        ran = fleet.on(command, "--snapshot", str(taken), "--out", str(taken))
        assert (ran.code, "--out and --snapshot name the same file" in ran.err) == (64, True)
        assert taken.read_bytes() == data

    def test_nor_a_file_of_the_base(self, command: str, fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> None:
        before = tmp_path_factory.mktemp("before")
        copied = before / "fleet.yaml"
        copied.write_bytes((fleet.directory / "fleet.yaml").read_bytes())
        data = copied.read_bytes()
        ran = fleet.on(command, "--base-dir", str(before), "--out", str(copied))
        assert (ran.code, "would be read as one" in ran.err) == (64, True)
        assert copied.read_bytes() == data

    @pytest.mark.parametrize("is_base", [True, False])
    def test_nor_a_single_file_whatever_its_name(
        self, command: str, is_base: bool, fleet: Fleet, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        single = tmp_path_factory.mktemp("single") / "fleet.json"
        single.write_text('{"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "allowEmpty": true}')
        data = single.read_bytes()
        base, path = (["--base-dir", str(single)], fleet.directory) if is_base else ([], single)
        ran = fleet(command, str(path), *base, "--out", str(single))
        assert ran.code == 64
        assert ran.err.endswith("nothing was written\nHint: choose another name\n"), "it ends in .json already"
        assert single.read_bytes() == data


def test_a_report_takes_the_place_of_no_file_of_the_base_that_the_plan_file_names(
    fleet: Fleet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = tmp_path_factory.mktemp("before")
    copied, plan = before / "fleet.yaml", before / "plan.json"
    copied.write_bytes((fleet.directory / "fleet.yaml").read_bytes())
    data = copied.read_bytes()
    assert fleet.on("plan", "--base-dir", str(before), "--out", str(plan)).code == 0
    ran = fleet.on("apply", "--plan", str(plan), "--report", str(copied))
    assert (ran.code, "would be read as one" in ran.err) == (64, True)
    assert copied.read_bytes() == data


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("command", ["plan", "drift", "snapshot"])
def test_a_file_without_room_is_named(command: str, fleet: Fleet) -> None:
    fleet.make()
    ran = fleet.on(command, "--out", "/dev/full")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "STOPPED: /dev/full cannot be written: No space left on device; nothing of it was kept\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_what_was_done_is_said_where_the_report_finds_no_room(fleet: Fleet) -> None:
    ran = fleet.on("apply", "--yes", "--report", "/dev/full")
    assert ran.code == 1, "what should be read next is not there"
    assert "Applied: 2 operations done." in ran.out
    assert "The report could not be written to /dev/full: No space left on device" in ran.err
    assert fleet.on("plan", "--detailed-exitcode").code == 0
