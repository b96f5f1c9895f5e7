"""A result that a file keeps: an earlier run's goes once this one can be written, and nothing that is read is lost."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fleetctl.desired.load import load
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop
from fleetctl.machine import disk
from fleetctl.outputs import Kept
from fleetctl.override import Override
from fleetctl.request import Frame, Request

FLEET = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "allowEmpty": True}
RESULT = '{"formatVersion": 1, "kind": "apply"}'


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    """Of a fleet of one file in a folder, and of a base in another."""
    for name in ("fleet", "base"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fleet.yaml").write_text(json.dumps(FLEET))
    return asking(tmp_path / "fleet", tmp_path / "base")


def asking(path: Path, base_dir: Path | None = None) -> Request:
    return Request(
        path=path,
        server=None,
        environ={},
        token_file=None,
        timeout=1,
        override=Override({}, None),
        tell=print,
        frame=Frame(base_dir=base_dir),
    )


def result(tmp_path: Path, text: str = RESULT) -> Path:
    path = tmp_path / "kept.json"
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", ["plan", "apply", "drift", "snapshot"])
def test_an_earlier_runs_result_goes_when_a_run_begins(request_: Request, tmp_path: Path, kind: str) -> None:
    path = result(tmp_path, json.dumps({"formatVersion": 1, "kind": kind}))
    Kept(path, "report").begin(request_)
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        "{",
        '{"kind": "plan"}',
        '{"formatVersion": 1, "kind": "export"}',
        '{"formatVersion": 1, "kind": []}',
        '{"formatVersion": 1, "kind": {"plan": 1}}',
        '{"formatVersion": 1, "kind": null}',
        '{"formatVersion": "1", "kind": "plan"}',
    ],
)
def test_what_does_not_say_that_it_is_a_result_stays(request_: Request, tmp_path: Path, text: str) -> None:
    path = result(tmp_path, text)
    Kept(path, "plan").begin(request_)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("journal", "code"), [("no/dir/journal", EXIT_ERROR), ("fleet/journal.yaml", EXIT_USAGE), ("fleet", EXIT_ERROR)]
)
def test_a_result_stays_where_the_journal_beside_it_cannot_be_written(
    request_: Request, tmp_path: Path, journal: str, code: int
) -> None:
    path = result(tmp_path)
    with pytest.raises(Stop) as stopped:
        Kept(path, "report", tmp_path / journal).begin(request_)
    assert (stopped.value.exit_code, path.read_text()) == (code, RESULT)
    assert sorted(os.listdir(tmp_path)) == ["base", "fleet", "kept.json"]


@pytest.mark.parametrize("kind", ["plan", "apply", "drift", "snapshot"])
def test_no_journal_is_written_below_a_result(request_: Request, tmp_path: Path, kind: str) -> None:
    """Such as where the names of report and journal are given the wrong way round: nothing could be read of it then."""
    path, text = tmp_path / "kept.json", json.dumps({"formatVersion": 1, "kind": kind})
    path.write_text(text)
    with pytest.raises(Stop, match="which its lines would spoil") as stopped:
        Kept(tmp_path / "report.json", "report", path).begin(request_)
    assert (stopped.value.exit_code, path.read_text()) == (EXIT_USAGE, text)


@pytest.mark.parametrize("text", ["", '{"time": 1, "plan": "d", "event": "begin"}\n', "what a job said\n{"])
def test_a_journal_goes_on_below_anything_else(request_: Request, tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal"
    path.write_text(text)
    Kept(None, "report", path).begin(request_)
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["fleet/fleet.yaml", "fleet/new.yml", "base/new.yaml"])
@pytest.mark.parametrize("is_journal", [True, False])
def test_nothing_takes_the_place_of_what_is_read_or_would_be(
    request_: Request, tmp_path: Path, name: str, is_journal: bool
) -> None:
    path = tmp_path / name
    kept = Kept(None, "report", path) if is_journal else Kept(path, "report")
    with pytest.raises(Stop) as stopped:
        kept.begin(request_)
    assert stopped.value.exit_code == EXIT_USAGE
    assert sorted(os.listdir(path.parent)) == ["fleet.yaml"]


def test_a_file_of_the_fleet_under_another_name_is_known_once_the_files_are_read(
    request_: Request, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.hardlink_to(tmp_path / "fleet" / "fleet.yaml")
    kept = Kept(link, "plan")
    kept.begin(request_)
    with pytest.raises(Stop) as stopped:
        kept.check(request_, load(request_.path, caller=None, tell=print, empty_ok=True))
    assert stopped.value.exit_code == EXIT_USAGE
    assert json.loads(link.read_text()) == FLEET


def test_a_fleet_or_a_base_of_one_file_is_known_by_that(request_: Request, tmp_path: Path) -> None:
    single = result(tmp_path, json.dumps(FLEET))
    for request in (asking(single), asking(request_.path, single)):
        with pytest.raises(Stop):
            Kept(single, "plan").begin(request)


def test_it_is_written_whole_and_told_where(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert Kept(path, "plan").write(lambda: b"{}") == (f"The plan is in {path}",)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"{}", 0o600)


def test_what_nobody_wants_kept_is_not_even_made() -> None:
    def never() -> bytes:
        raise AssertionError

    assert Kept(None, "plan").write(never) == ()
    assert Kept(None, "plan").write_done(never) == ((), True)


def test_what_is_done_is_told_also_where_it_cannot_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "no" / "kept.json"
    with pytest.raises(Stop):
        Kept(path, "report").write(lambda: b"{}")
    said, is_kept = Kept(path, "report").write_done(lambda: b"{}")
    assert (said, is_kept) == ((f"The report could not be written to {path}: No such file or directory",), False)


DIGEST = "d" * 64


def an_apply(done: str, failed: str = "", digest: str = DIGEST, sequence: int = 7) -> str:
    """The report of an apply, by the digests of its operations, a letter each."""
    told = {"done": [{"digest": one} for one in done], "failed": [{"digest": one} for one in failed]}
    return json.dumps({"formatVersion": 1, "kind": "apply", "digest": digest, "sequence": sequence, **told})


def beside(path: Path) -> dict[str, str]:
    """What is kept beside a report, by what ends its name."""
    return {found.name.removeprefix(path.name): found.read_text() for found in path.parent.glob(f"{path.name}.*")}


def test_a_report_without_a_part_is_moved_aside_as_any_other(request_: Request, tmp_path: Path) -> None:
    path = result(tmp_path, an_apply("ab"))
    Kept(path, "report").begin(request_)
    assert not path.exists()
    assert path.with_name(f"kept.json.{DIGEST[:12]}").read_text() == an_apply("ab")


@pytest.mark.parametrize(
    ("earlier", "later", "stays"),
    [
        (("ab", "c"), ("a", ""), "earlier"),
        (("ab", "c"), ("ab", ""), "earlier"),
        (("ab", "c"), ("abc", ""), "later"),
        (("ab", ""), ("ab", ""), "later"),
    ],
)
def test_of_two_reports_of_one_apply_the_one_stays_that_tells_all(
    request_: Request, tmp_path: Path, earlier: tuple[str, str], later: tuple[str, str], stays: str
) -> None:
    path = result(tmp_path, an_apply(*earlier))
    Kept(path, "report").begin(request_)
    path.write_text(an_apply(*later))
    Kept(path, "report").begin(request_)
    assert not path.exists()
    kept = path.with_name(f"kept.json.{DIGEST[:12]}").read_text()
    assert kept == an_apply(*(earlier if stays == "earlier" else later))


ASIDE = f".{DIGEST[:12]}"


@pytest.mark.parametrize("told", [{"sequence": "9"}, {"done": [{"hash": "a"}]}, {"before": None}])
def test_a_report_in_a_form_of_another_build_is_kept_unread(
    request_: Request, tmp_path: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """What it tells was done all the same, and nothing else tells how it is taken back."""
    text = json.dumps({**json.loads(an_apply("ab")), **told})
    path = result(tmp_path, text)
    kept = Kept(path, "report")
    kept.begin(request_)
    assert f"What was there, which cannot be read here, is kept as {path}.unread" in capsys.readouterr().out
    path.write_text(text)
    kept.write(an_apply("ab").encode)
    assert (path.read_text(), beside(path)) == (an_apply("ab"), {".unread": text, ".unread.2": text})


def test_what_is_called_a_report_and_names_no_apply_is_removed(request_: Request, tmp_path: Path) -> None:
    """Nothing can be taken back by it, in whatever build."""
    path = result(tmp_path, json.dumps({"formatVersion": 2, "kind": "apply", "digest": "a", "done": 1}))
    Kept(path, "report").begin(request_)
    assert (path.exists(), beside(path)) == (False, {})


def test_of_two_reports_of_one_apply_neither_goes_that_tells_what_the_other_does_not(
    request_: Request, tmp_path: Path
) -> None:
    path = result(tmp_path, an_apply("ab"))
    (tmp_path / f"kept.json{ASIDE}").write_text(an_apply("bc"))
    Kept(path, "report").begin(request_)
    assert not path.exists()
    assert beside(path) == {ASIDE: an_apply("bc"), f"{ASIDE}.2": an_apply("ab")}


def test_a_report_of_what_was_done_anew_is_kept_beside_the_one_of_what_was_taken_back(
    request_: Request, tmp_path: Path
) -> None:
    """That one tells more, and nothing can be taken back by it any more."""
    path = result(tmp_path, an_apply("a", sequence=9))
    (tmp_path / f"kept.json{ASIDE}").write_text(an_apply("ab"))
    Kept(path, "report").begin(request_)
    assert beside(path) == {ASIDE: an_apply("ab"), f"{ASIDE}.2": an_apply("a", sequence=9)}
    begun(request_, path, an_apply("")).write(an_apply("abc", sequence=10).encode)
    assert beside(path) == {}


@pytest.mark.parametrize("other", ["a note", "a folder", "a pipe", "a link to nowhere", "another apply"])
def test_what_is_in_its_way_stays_and_the_report_is_kept_by_another_name(
    request_: Request, tmp_path: Path, other: str
) -> None:
    """A pipe is not even read: of one nobody knows when it ends."""
    path, place = result(tmp_path, an_apply("ab")), tmp_path / f"kept.json{ASIDE}"
    match other:
        case "a folder":
            place.mkdir()
        case "a pipe":
            os.mkfifo(place)
        case "a link to nowhere":
            place.symlink_to("nowhere")
        case _:
            place.write_text("mine" if other == "a note" else an_apply("ab", digest=f"{DIGEST[:12]:0<64}"))
    before = place.lstat()
    Kept(path, "report").begin(request_)
    assert (place.lstat().st_ino, place.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert place.with_name(f"{place.name}.2").read_text() == an_apply("ab")


def test_a_name_that_is_as_long_as_one_may_be_is_cut(request_: Request, tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    for name in (f"{'x' * 242}{ASIDE}", f"{'x' * 240}{ASIDE}.2"):
        path.write_text(an_apply("ab"))
        Kept(path, "report").begin(request_)
        assert (tmp_path / name).read_text() == an_apply("ab")
        (tmp_path / name).write_text("mine")


def test_a_long_name_is_cut_by_its_bytes(request_: Request, tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127)
    path.write_text(an_apply("ab"))
    Kept(path, "report").begin(request_)
    assert (tmp_path / f"{'ä' * 121}{ASIDE}").read_text() == an_apply("ab")


OTHER = "0" * 64


def begun(request: Request, path: Path, meanwhile: str) -> Kept:
    """A run that began with nothing there; another one, which ended since, wrote its report."""
    kept = Kept(path, "report")
    kept.begin(request)
    path.write_text(meanwhile)
    return kept


@pytest.mark.parametrize("done", ["ab", ""])
def test_what_another_run_wrote_meanwhile_is_kept_too(request_: Request, tmp_path: Path, done: str) -> None:
    path, aside = tmp_path / "kept.json", tmp_path / f"kept.json.{OTHER[:12]}"
    said = begun(request_, path, an_apply("c", digest=OTHER)).write(an_apply(done).encode)
    assert said == (
        f"The report that was there is kept as {aside}: it tells of 1 operation done",
        f"The report is in {path}",
    )
    assert (path.read_text(), aside.read_text()) == (an_apply(done), an_apply("c", digest=OTHER))


def test_what_another_run_of_the_same_apply_wrote_gives_way_to_what_tells_all_of_it(
    request_: Request, tmp_path: Path
) -> None:
    path = tmp_path / "kept.json"
    said = begun(request_, path, an_apply("a")).write(an_apply("ab").encode)
    assert said == (f"The report is in {path}",)
    assert (path.read_text(), list(tmp_path.glob("kept.json.*"))) == (an_apply("ab"), [])


def test_what_another_run_of_the_same_apply_may_have_done_is_kept_too(request_: Request, tmp_path: Path) -> None:
    """Of what failed nobody knows, and the events alone say in the end: the way back from it is told here."""
    path = tmp_path / "kept.json"
    begun(request_, path, an_apply("a", "b")).write(an_apply("a").encode)
    assert (path.read_text(), beside(path)) == (an_apply("a"), {ASIDE: an_apply("a", "b")})
    begun(request_, path, an_apply("")).write(an_apply("ab").encode)
    assert (path.read_text(), beside(path)) == (an_apply("ab"), {})


def test_where_what_another_run_wrote_was_moved_that_is_said_also_if_nothing_takes_its_place(
    request_: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(disk, "save", full)
    path, aside = tmp_path / "kept.json", tmp_path / f"kept.json.{OTHER[:12]}"
    kept = f"The report that was there is kept as {aside}: it tells of 1 operation done"
    said = begun(request_, path, an_apply("c", digest=OTHER)).write_done(an_apply("ab").encode)
    assert said == ((kept, f"The report could not be written to {path}: No space left on device"), False)
    aside.unlink()
    with pytest.raises(Stop, match="No space left on device; nothing of it was kept") as stopped:
        begun(request_, path, an_apply("c", digest=OTHER)).write(an_apply("ab").encode)
    assert str(stopped.value).endswith(f". {kept}")
    assert aside.read_text() == an_apply("c", digest=OTHER)


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody but root can be somebody else")
def test_what_somebody_else_wrote_meanwhile_is_kept_unread(request_: Request) -> None:
    """Where a group shares a folder: a report is for its owner alone."""
    with TemporaryDirectory() as name:
        path = Path(name) / "kept.json"
        Path(name).chmod(0o777)
        for end in ("", ".2"):
            kept = begun(request_, path, an_apply("c", digest=OTHER))
            path.chmod(0o600)
            os.seteuid(65534)
            try:
                said = kept.write(an_apply("ab").encode)
            finally:
                os.seteuid(0)
            aside = f"{path}.unread{end}"
            assert said == (
                f"What was there, which cannot be read here, is kept as {aside}",
                f"The report is in {path}",
            )
            assert (path.read_text(), Path(aside).read_text()) == (an_apply("ab"), an_apply("c", digest=OTHER))
            path.unlink()


def test_a_result_that_tells_of_nothing_done_stays_until_another_takes_its_place(
    request_: Request, tmp_path: Path
) -> None:
    kept = begun(request_, tmp_path / "kept.json", RESULT)
    kept.write(an_apply("ab").encode)
    assert (tmp_path / "kept.json").read_text() == an_apply("ab")


def test_no_two_runs_move_the_files_of_a_folder_at_once(request_: Request, tmp_path: Path) -> None:
    path = result(tmp_path)
    kept = Kept(path, "report")
    with ThreadPoolExecutor(1) as executor:
        for step in (lambda: kept.begin(request_), lambda: kept.write(lambda: b"{}")):
            with disk.alone(path):
                before, waiting = sorted(tmp_path.iterdir()), executor.submit(step)
                with pytest.raises(NotYet):
                    waiting.result(timeout=0.2)
                assert sorted(tmp_path.iterdir()) == before
            waiting.result(timeout=10)
    assert path.read_bytes() == b"{}"


def test_a_run_does_not_wait_for_ever(request_: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all may write, as in /tmp, anybody may keep a lock."""
    monkeypatch.setattr(disk, "_WAIT", 0)
    path = result(tmp_path)
    with disk.alone(path):
        Kept(path, "report").begin(request_)
    assert not path.exists()
