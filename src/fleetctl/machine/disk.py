"""Files: read to their end, known to be writable before they are written, and written whole."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

Identity = tuple[int, int] | str
"""Of a file; see `identity`."""
_LINKS = 40
_TYPED = 2**20
"""Bytes of a device, such as a terminal: more than anybody types."""
_UNFINISHED = ".fleet-"
"""What begins the name that a file has while it is written: a short one, whatever it will be called."""
_OWNERS = 0o600
_STANDARD = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_MOST_FILES = 2**31 - 1
_ROOM = 2**16
"""Bytes that there must be room for before anything is done: a report of some fifty operations."""
_LETTERS = 30
"""Of a name, to be tried in another one, which must not be too long for that."""
_WAITS, _WAIT = 100, 0.05
"""So often, and for so many seconds each, a run waits for another one to move its files: that takes moments."""
_OPEN = re.compile(rf"/(?:dev|proc/(?:self|thread-self|{os.getpid()}))/fd/(\d+)")


def read_whole(path: Path) -> bytes:
    """All of a file that somebody named; it may be a pipe. Raises OSError."""
    with path.open("rb") as stream:
        return read_all(stream)


def read_all(stream: BinaryIO) -> bytes:
    """All that is left in a file or a pipe. Raises OSError, also for a device that does not end soon."""
    mode = os.fstat(stream.fileno()).st_mode
    if not (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        return stream.read()
    data = stream.read(_TYPED + 1)
    if len(data) > _TYPED:
        raise OSError(errno.EFBIG, "it is a device without an end")
    return data


def check_output(path: Path, *, append: bool) -> None:
    """Whether `save`, or with `append` an open file, could write here, as far as that shows before it is known how
    much. Leaves nothing behind. Raises OSError."""
    descriptor = None if append else _descriptor(path)
    if descriptor is not None:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "it is open to be read alone", str(path))
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with suppress(FileNotFoundError):
        os.stat(path)  # whatever else is wrong, such as links in a circle
    if append and path.is_file():
        path.open("ab").close()
    elif path.exists() and not path.is_file():  # a pipe's reader would take this for the end
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    else:
        _try_name(Path(os.path.realpath(path)))


def _try_name(path: Path) -> None:
    """Make a new file beside `path`, with letters of its name and some room, and remove it. Not one of that name:
    another run may write its own there meanwhile, which would be removed. Raises OSError."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED, suffix=path.name[-_LETTERS:])
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(bytes(_ROOM))  # a full disk makes files, and no room for what is in them
    finally:
        os.unlink(temporary)
    with suppress(FileNotFoundError):
        if not _may_replace(os.stat(path), os.stat(path.parent)):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))


def _may_replace(file: os.stat_result, directory: os.stat_result) -> bool:
    """Whether another file may take a file's place, as far as owners tell: where all may write, as in /tmp, each has
    files of their own."""
    return not directory.st_mode & stat.S_ISVTX or os.geteuid() in (0, file.st_uid, directory.st_uid)


def identity(path: Path) -> Identity:
    """What is the same for two names of one file, hard links included; of a file that is not there its whole name."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return state.st_dev, state.st_ino


def replaced(path: Path) -> Path | None:
    """The file that `save` would replace, if there is one: of a link the one that it leads to. Raises OSError."""
    return Path(os.path.realpath(path)) if path.is_file() and _descriptor(path) is None else None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """What one run reads, moves and writes in a file's folder in this block, no other does in one of its own: as far as
    the file system has locks, and nobody keeps one for long."""
    folder = None
    with suppress(OSError):
        if _descriptor(path) is None and (path.is_file() or not path.exists()):
            folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
            _lock(folder)
    try:
        yield
    finally:
        if folder is not None:
            os.close(folder)


def _lock(descriptor: int) -> None:
    """Until it is closed. Raises OSError where there are no locks."""
    for _ in range(_WAITS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_WAIT)
        else:
            break


def save(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, for its owner alone; where a link leads to it, the link stays. Raises OSError.

    What is no file (a pipe), or open already (`/dev/stdout`), is written to as it is: nothing may take its place.
    """
    try:
        if (descriptor := _descriptor(path)) is not None:
            with os.fdopen(os.dup(descriptor), "wb") as stream:  # after what was written to it, before what will be
                stream.write(data)
        elif path.exists() and not path.is_file():
            rest = memoryview(data)
            with at_once(path) as stream:
                while rest:  # a pipe takes what it has room for
                    rest = rest[stream.write(rest) :]
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:  # a full disk names no file, and nobody knows the name that one has at first
        raise OSError(error.errno, error.strerror, str(path)) from error


def rewrite(path: Path, data: bytes) -> None:
    """Write a file that is there anew, whole or not at all; its mode stays, and where a link leads to it, the link.
    Raises OSError, also where it may not be written."""
    path = Path(os.path.realpath(path, strict=True))
    with path.open("ab"):  # a new file could take the place of one that is not to be written
        mode = os.stat(path).st_mode
    _replace(path, data, stat.S_IMODE(mode))


def write_new(files: Mapping[Path, str], mode: int) -> None:
    """Write files, in UTF-8, where none are, and the folders that they need: all of it, or where something fails
    nothing. `mode` is theirs as far as the umask lets it be, but for their owner, who can read and write them. Raises
    OSError, also where a file is there already."""
    made: list[Path] = []
    try:
        for path, text in files.items():
            for folder in reversed(path.parents):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(path)
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) | _OWNERS)
                stream.write(text.encode())
    except BaseException as error:
        for each in reversed(made):
            with suppress(OSError):
                each.rmdir() if each.is_dir() else each.unlink()
        if isinstance(error, OSError) and error.filename is None:  # a full disk names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _replace(path: Path, data: bytes, mode: int = _OWNERS) -> None:
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)  # whatever the umask
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def at_once(path: Path) -> BinaryIO:
    """Open a file to be appended to; nothing that is written is kept back. What is open already (`/dev/stderr`) goes on
    where it is: opened anew it would have a place of its own, and both would write over each other. Raises OSError,
    also for a pipe that nobody reads, where opening it would wait for somebody."""
    if (descriptor := _descriptor(path)) is not None:
        return os.fdopen(os.dup(descriptor), "wb", buffering=0)

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK, 0o666)
        os.set_blocking(descriptor, True)
        return descriptor

    return open(path, "ab", buffering=0, opener=opener)


def ends_within_a_line(path: Path) -> bool:
    """Whether a file has a last line that nothing ends; not of one that may not be read."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size:
            with path.open("rb") as stream:
                stream.seek(-1, os.SEEK_END)
                return stream.read() != b"\n"
    return False


def _descriptor(path: Path) -> int | None:
    """The descriptor, open in this process, that a path names or a link leads to: of `/dev/stdout` 1."""
    step = os.path.abspath(path)
    for _ in range(_LINKS):
        if step in _STANDARD:
            return _STANDARD.index(step)
        if found := _OPEN.fullmatch(step):
            return min(int(found[1]), _MOST_FILES)
        if not os.path.islink(step):
            return None
        step = os.path.abspath(os.path.join(os.path.dirname(step), os.readlink(step)))
    return None
