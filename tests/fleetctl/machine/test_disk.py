"""Files are read to their end, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleetctl.machine.disk import check_output, identity, read_whole, replaced, save, write_new


def test_a_file_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save(path, b"one")
    save(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(OSError, match=r"plan\.json"):
        save(tmp_path / "plan.json", b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_file_that_cannot_be_made_is_named_as_people_named_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        save(tmp_path / "none" / "plan.json", b"one")
    assert caught.value.filename == str(tmp_path / "none" / "plan.json")


@contextmanager
def small_files() -> Iterator[int]:
    """Files of no more bytes than this can be written: a disk that fills up in the midst of one. For a block, and no
    longer: the file that the tests' own output may go to is larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield 1000
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def no_mode() -> Iterator[None]:
    before = os.umask(0o777)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.usefixtures("no_mode")
def test_whatever_the_umask_its_owner_can_read_what_was_written(tmp_path: Path) -> None:
    save(tmp_path / "plan.json", b"one")
    write_new({tmp_path / "fleet.yaml": "two"}, 0o600)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_where_the_disk_is_full_the_file_is_named_and_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save(path, b"one")
    with small_files() as most, pytest.raises(OSError, match=r"plan\.json") as caught:
        save(path, b"b" * 2 * most)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == {path: b"one"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_device_that_is_full_is_named() -> None:
    with pytest.raises(OSError, match="/dev/full") as caught:
        save(Path("/dev/full"), b"one")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("moment", ["fchmod", "replace"])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, moment, interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "plan.json", b"one")
    assert [*tmp_path.iterdir()] == []


class TestNewFiles:
    def test_are_written_with_the_folders_that_they_need(self, tmp_path: Path) -> None:
        texts = {tmp_path / "a" / "b" / "x": "ą", tmp_path / "a" / "y": "y\n", tmp_path / "a" / "b" / ".." / "z": ""}
        write_new(texts, 0o640)
        assert {path: path.read_text("utf-8") for path in texts} == texts
        assert {path.stat().st_mode & 0o777 & ~0o022 for path in texts} == {0o640}

    def test_where_the_disk_is_full_nothing_is_left(self, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        with small_files() as most, pytest.raises(OSError, match=r"new/deep/b") as caught:
            write_new({tmp_path / "mine" / "a": "a", tmp_path / "new" / "deep" / "b": "b" * 2 * most}, 0o600)
        assert caught.value.errno == errno.EFBIG
        assert [*tmp_path.rglob("*")] == [tmp_path / "mine"]

    @pytest.mark.parametrize("there", ["file", "link", "folder"])
    def test_what_is_there_stays_and_nothing_is_written_beside_it(self, tmp_path: Path, there: str) -> None:
        mine = tmp_path / "b"
        match there:
            case "file":
                mine.write_text("mine")
            case "link":
                mine.symlink_to("nowhere")
            case _:
                mine.mkdir()
        with pytest.raises(FileExistsError):
            write_new({tmp_path / "a" / "x": "x", mine: "b"}, 0o600)
        assert [*tmp_path.rglob("*")] == [mine]
        assert there != "file" or mine.read_text() == "mine"


def test_a_link_stays_and_what_it_leads_to_is_written_whole(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "link.json").symlink_to("to/plan.json")
    for data in (b"first", b"second"):
        save(tmp_path / "link.json", data)
        assert (tmp_path / "to" / "plan.json").read_bytes() == data
    assert (tmp_path / "link.json").is_symlink()
    assert [file.name for file in (tmp_path / "to").iterdir()] == ["plan.json"]


def test_what_is_open_already_is_written_to_and_stays(tmp_path: Path) -> None:
    """As /dev/stdout is, also where it was redirected to a file."""
    with (tmp_path / "out").open("wb") as out:
        link = tmp_path / "stdout"
        link.symlink_to(f"/proc/self/fd/{out.fileno()}")
        before = (tmp_path / "out").stat().st_ino
        for part in (b"before,", None, b"after"):
            os.write(out.fileno(), part) if part else save(link, b"{},")
    assert link.is_symlink()
    assert ((tmp_path / "out").read_bytes(), (tmp_path / "out").stat().st_ino) == (b"before,{},after", before)


def test_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save(pipe, b"one")
        assert os.read(reader, 10) == b"one"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_file_alone_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"one")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "out").write_bytes(b"two")
    assert [replaced(tmp_path / name) for name in ("pipe", "link", "nothing")] == [None, tmp_path / "file", None]
    with (tmp_path / "out").open("rb") as out:
        assert replaced(Path(f"/proc/self/fd/{out.fileno()}")) is None


def test_what_is_more_than_a_pipe_holds_is_written_whole(tmp_path: Path) -> None:
    """Also when a signal comes meanwhile, which ends a write in the middle."""
    data, pipe = b"0123456789" * 100_000, tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    with ThreadPoolExecutor(1) as executor, os.fdopen(reading, "rb") as stream:

        def read() -> bytes:
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.1)
            return stream.read()

        result = executor.submit(read)
        save(pipe, data)
        assert result.result() == data
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("append", [False, True])
def test_what_can_be_written_is_found_out_without_a_trace(tmp_path: Path, append: bool) -> None:
    (tmp_path / "file").write_bytes(b"one")
    (tmp_path / "link").symlink_to("later")
    os.mkfifo(tmp_path / "pipe")
    before = {path.name: path.lstat().st_mtime_ns for path in tmp_path.iterdir()}
    for path in ("file", "link", "pipe", "new", "/dev/null", "/dev/stderr"):
        check_output(tmp_path / path, append=append)
    assert {path.name: path.lstat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_a_disk_that_is_full_is_found_out_and_nothing_is_left_on_it(tmp_path: Path) -> None:
    """It makes files as ever: only what is written into one fails."""
    (tmp_path / "kept").write_bytes(b"one")
    for name in ("kept", "new"):
        with small_files(), pytest.raises(OSError, match="too large"):
            check_output(tmp_path / name, append=False)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"kept": b"one"}


def test_what_another_run_writes_meanwhile_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is made to see that a name can be written is not of that name."""
    removed, unlink = list[str](), os.unlink

    def seen(path: str | Path) -> None:
        removed.append(os.fsdecode(path))
        unlink(path)

    monkeypatch.setattr(os, "unlink", seen)
    check_output(tmp_path / "new", append=False)
    check_output(tmp_path / "journal", append=True)
    assert len(removed) == 2
    assert not {str(tmp_path / "new"), str(tmp_path / "journal")}.intersection(removed)


@pytest.mark.parametrize("letter", ["x", "\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{GRINNING FACE}"])
def test_how_long_a_name_may_be_is_known_before_it_is_written(tmp_path: Path, letter: str) -> None:
    most = 255 // len(letter.encode())
    check_output(tmp_path / (letter * most), append=False)
    with pytest.raises(OSError, match="too long"):
        check_output(tmp_path / (letter * (most + 1)), append=False)
    assert list(tmp_path.iterdir()) == []


def test_what_is_open_to_be_read_alone_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with (tmp_path / "file").open("rb") as reading, pytest.raises(OSError, match="open to be read alone"):
        check_output(Path(f"/dev/fd/{reading.fileno()}"), append=False)


def test_a_number_that_no_descriptor_has_is_none() -> None:
    for path in (Path(f"/dev/fd/{2**70}"), Path("/dev/fd/2147483647")):
        with pytest.raises(OSError, match="Bad file descriptor"):
            check_output(path, append=False)


def test_two_names_of_one_file_are_one(tmp_path: Path) -> None:
    file, hard, soft = (tmp_path / name for name in ("file", "hard", "soft"))
    assert identity(file) == identity(tmp_path / "." / "file") != identity(hard)
    file.write_bytes(b"")
    hard.hardlink_to(file)
    soft.symlink_to("file")
    assert identity(file) == identity(hard) == identity(soft)


def test_what_is_not_open_cannot_be_written(tmp_path: Path) -> None:
    out = os.open(tmp_path, os.O_RDONLY)
    os.close(out)
    for append in (False, True):
        with pytest.raises(OSError, match=r"Bad file descriptor|No such file"):
            check_output(Path(f"/proc/self/fd/{out}"), append=append)


@pytest.mark.parametrize("name", ["file", "pipe"])
def test_files_and_pipes_are_read_to_their_end(tmp_path: Path, name: str) -> None:
    data = b"0123456789" * 200_000
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    with ThreadPoolExecutor(1) as executor:
        writing = executor.submit((tmp_path / name).write_bytes, data)
        if name == "file":
            writing.result()
        assert read_whole(tmp_path / name) == data


def test_a_device_is_read_no_further_than_what_people_type() -> None:
    assert read_whole(Path("/dev/null")) == b""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OSError, match="it is a device without an end") as raised:
        read_whole(Path("/dev/zero"))
    assert raised.value.strerror
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
