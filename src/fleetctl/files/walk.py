"""Which files a fleet consists of, and their bytes, without leaving the fleet's directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path

from better_compute.domain.policy.urls import mask_message
from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.files.text import MAX_BYTES, too_large

SUFFIXES = (".yaml", ".yml")
TESTS = ".fleet-test.yaml"
EXPECTED = "expected"
# No link in place of the file that was checked, no wait for a writer of a pipe.
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file: its name in messages (relative to the fleet, forward slashes) and its path without links."""

    file: str
    real: str


@dataclass(slots=True)
class Listing:
    """The files of a fleet by name, and what is wrong with others, by name as well."""

    root: str
    files: dict[str, FoundFile] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, found: FoundFile, *, regular: bool) -> None:
        """Add a file, once whatever its names."""
        if not regular:
            self.refuse(found.file, "files.kind", "not a regular file", "remove it, or name it differently")
        elif found.real not in self.seen:
            self.seen.add(found.real)
            self.files[found.file] = found

    def refuse(self, file: str, rule: str, message: str, hint: str) -> None:
        self.problems[file] = file_problem(file, rule, message, hint)


def file_problem(file: str, rule: str, message: str, hint: str) -> Problem:
    """A problem with a file as a whole."""
    return Problem(INVALID_INPUT, rule, message, hint=hint, source=Source(file, 1))


def list_files(directory: str) -> Listing:
    """Every file below a directory that is to be read, whatever its documents say about others.

    Left out: names that begin with a dot, `*.fleet-test.yaml`, folders named `expected`. A file is read once, under
    its own name where it has one here; a link inside the directory gives a name to what has none.
    """
    listing = Listing(os.path.realpath(directory))
    links = sorted(_walk(listing, listing.root, ""))
    while links:
        for link in _follow(listing, *heappop(links)):
            heappush(links, link)
    return listing


def _walk(listing: Listing, directory: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Add the files below one directory to the listing; yields its links, to be followed when all files are known."""
    pending = [(directory, prefix)]
    while pending:
        directory, prefix = pending.pop()
        listing.seen.add(directory)
        try:
            with os.scandir(directory) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            listing.refuse(prefix.rstrip("/") or ".", *_unreadable(error))
            continue
        for entry in visible:
            file = prefix + entry.name
            if entry.is_symlink():
                yield file, entry.path
            elif entry.is_dir(follow_symlinks=False):
                if entry.name != EXPECTED and _printable(listing, file):
                    pending.append((entry.path, f"{file}/"))
            elif is_wanted(entry.name) and _printable(listing, file):
                listing.add(FoundFile(file, entry.path), regular=entry.is_file(follow_symlinks=False))


def _follow(listing: Listing, file: str, path: str) -> Iterator[tuple[str, str]]:
    """Add what a link leads to; of a target outside the fleet nothing but the link's own name is told."""
    name = file.rpartition("/")[2]
    wanted = is_wanted(name)
    try:
        real = os.path.realpath(path, strict=True)
        folder = os.path.isdir(real)
    except OSError:
        if wanted and _printable(listing, file):
            listing.refuse(file, "files.link", "the link leads nowhere", "remove it, or restore what it leads to")
        return
    if not (wanted or folder) or (folder and name == EXPECTED) or not _printable(listing, file):
        return
    if real != listing.root and not inside(real, listing.root):
        listing.refuse(file, "files.link", "the link leads out of the fleet's directory", "move its target into it")
    elif not folder:
        listing.add(FoundFile(file, real), regular=os.path.isfile(real))
    elif real not in listing.seen:
        yield from _walk(listing, real, f"{file}/")


def inside(real: str, directory: str) -> bool:
    """Whether a path without links stands below a directory."""
    return real.startswith(directory.rstrip(os.sep) + os.sep)


def is_wanted(name: str) -> bool:
    """Whether a fleet reads files of this name, or relative path, in folders that are not hidden."""
    return name.endswith(SUFFIXES) and not name.endswith(TESTS)


def is_hidden(path: str) -> bool:
    """Whether what has this relative path is not looked at, whatever the documents of a fleet say."""
    return any(part.startswith(".") or part == EXPECTED for part in path.split("/"))


def _printable(listing: Listing, file: str) -> bool:
    """Whether a name is text; one that is not is refused, since no message could name it."""
    if (shown := shown_name(file)) != file:
        listing.refuse(shown, "files.name", "the name is not UTF-8", "rename it")
        return False
    return True


def shown_name(name: str) -> str:
    """A name with the bytes that are not UTF-8 as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def last_name(path: Path) -> str:
    """What a file that was named by itself is called. The last part of what was meant for a URL would no longer show
    that it holds a user part."""
    return shown_name(os.path.basename(mask_message(str(path))))


def _unreadable(error: OSError) -> tuple[str, str, str]:
    reason = (error.strerror or "it cannot be read").lower()
    return "files.unreadable", f"cannot be read: {reason}", "check that it exists and that you may read it"


def read_bytes(found: FoundFile) -> bytes | Problem:
    """The bytes of a file, or why there are none; the size is looked at before anything is read."""
    try:
        with open(os.open(found.real, _OPEN), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return file_problem(found.file, "files.kind", "not a regular file", "name a file or a directory")
            if status.st_size > MAX_BYTES:
                return file_problem(found.file, *too_large(status.st_size))
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        return file_problem(found.file, *_unreadable(error))


def read_head(found: FoundFile, most: int) -> bytes:
    """The first bytes of a file, `most` of them; none where it cannot be read."""
    with suppress(OSError), open(os.open(found.real, _OPEN), "rb") as stream:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return stream.read(most)
    return b""
