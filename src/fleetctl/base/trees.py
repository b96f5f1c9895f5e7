"""The files of a fleet as a commit has them: read out of it, and whether they and their place are the same today."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from fleetctl.base import git
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files import FilesError, read_fleet
from fleetctl.files.unread import Unread
from fleetctl.files.walk import SUFFIXES, is_hidden, is_wanted
from fleetctl.words import short

_LINKS = 40
"""So many links the system follows in one path."""


def write_fleet(path: Path, commit: str, into: Path) -> bool:
    """Write the YAML files that a commit has of the fleet at `path` (a directory, or one file) below `into`; links stay
    links. False where it has none. Raises Stop when a content is not to be had, or not in this repository."""
    whole = path.is_dir()
    directory = path if whole else path.parent
    _check_place(directory, commit)
    held = git.listing(directory, commit)
    wanted = {file for file in held if (file.endswith(SUFFIXES) if whole else file == path.name)}
    links = {file for file in held if held[file].is_link and (whole or file in wanted)}
    contents = _contents(directory, {held[file].blob for file in links})
    targets = {file: os.fsdecode(contents[held[file].blob]) for file in links}
    # What a link leads to may have any name.
    wanted |= {_led(file, name) for file, name in targets.items()}
    files = {file: held[file].blob for file in wanted & held.keys() if held[file].is_file}
    contents = _contents(directory, set(files.values()))
    for file, blob in files.items():
        _place(into, file).write_bytes(contents[blob])
    for file, name in targets.items():
        if not any(parent in targets for parent in _parents(file)):  # nothing is written through a link
            _place(into, file).symlink_to(name)
    if whole and (modules := sorted(file for file in held if held[file].is_submodule)):
        _check_modules(into, modules, targets, commit)
    return any(file.endswith(SUFFIXES) or not whole for file in (*files, *targets))


def commit_of(directory: Path, files: Collection[str]) -> str | None:
    """The commit at HEAD, where it holds these `files` of `directory` (relative, forward slashes), and the files that a
    fleet would read in it are here as it holds them; else None, and outside git.

    Contents are compared here, line ends apart, since git itself would run the filters that the repository's settings
    name. What such a filter changes counts as another content. Where HEAD holds a link or a submodule there is no
    commit either: what they lead to is none of it.
    """
    if git.top(directory) is None:
        return None
    commit = git.answer(directory, "rev-parse", "--verify", "HEAD").strip()
    listed: dict[str, git.Held] = {}
    with suppress(Stop):
        listed = git.listing(directory, commit) if commit else {}
    held = {file: found.blob if found.is_file else "" for file, found in listed.items()}
    root = os.path.realpath(directory)
    # Also those that say nothing of the fleet now: they may have said something there.
    read = {file for file, blob in held.items() if (is_wanted(file) or not blob) and not is_hidden(file)}
    folders = {os.path.dirname(os.path.join(root, file)) for file in files}
    if (
        any(os.path.realpath(folder) != folder for folder in folders)
        or not held.keys() >= set(files)
        or not all(_is_as_held(os.path.join(root, file), held[file]) for file in read.union(files))
    ):
        return None
    return commit or None


def check_straight(path: Path) -> None:
    """Raises Stop where a link inside a repository, or a submodule, leads to the fleet's directory: what stood in its
    place before would not be found."""
    directory = path if path.is_dir() else path.parent
    if around := git.answer(directory, "rev-parse", "--show-superproject-working-tree").rstrip("\n"):
        message = f"{directory} is in a submodule, and the base may have another fleet in its place in {around}"
        raise Stop(EXIT_ERROR, message, hint="compare in a clone of that repository alone", rule="git.link")
    for step in _links(directory.absolute()):
        top = git.answer(step.parent, "rev-parse", "--show-toplevel").rstrip("\n")
        if top and Path(os.path.realpath(directory)).is_relative_to(os.path.realpath(top)):
            message = f"{step} is a symbolic link, and the base may have another fleet in its place"
            raise Stop(EXIT_ERROR, message, hint="name the fleet's own directory", rule="git.link")


def _links(path: Path) -> Iterator[Path]:
    """Every symbolic link that a path leads through, also on the way that a link goes; each in its own folder."""
    at, ahead, most = Path(path.anchor), [*reversed(path.parts[1:])], _LINKS
    while ahead and most:
        name = ahead.pop()
        step = at.parent if name == ".." else at / name
        if not step.is_symlink():
            at = step
            continue
        yield step
        target, most = Path(os.readlink(step)), most - 1
        at = Path(target.anchor) if target.is_absolute() else at
        ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _check_modules(into: Path, modules: Iterable[str], links: Mapping[str, str], commit: str) -> None:
    """Raises Stop where files of a submodule would be read with the fleet, in its own place or through a link."""
    try:
        unread = Unread(os.path.realpath(into), read_fleet(into))
    except FilesError:
        unread = Unread(os.path.realpath(into), ())  # whoever reads them says what is wrong
    for module in modules:
        names = {module, *(name for link, target in links.items() for name in _through(module, link, target))}
        if not all(is_hidden(name) or unread.names(name) for name in names):
            message = f"{module} is a submodule at {short(commit)}: its files are in another repository, and not known"
            hint = "move it out of the fleet's directory, or name it in `exclude` in a change of its own"
            raise Stop(EXIT_ERROR, message, hint=hint, rule="git.objects")


def _through(module: str, link: str, target: str) -> Iterator[str]:
    """The name that a submodule, or what is in it, has through a link."""
    leads = _led(link, target)
    if leads == module or leads.startswith(f"{module}/"):
        yield link
    elif module.startswith(f"{leads}/"):
        yield link + module[len(leads) :]


def _led(link: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(link), target))


def _check_place(directory: Path, commit: str) -> None:
    """Raises Stop where a commit has a link, a file or another repository in the place of the fleet's directory, or of
    one above it: then it is not known what there was."""
    above = ""
    for name in git.answer(directory, "rev-parse", "--show-prefix").rstrip("\n").removesuffix("/").split("/"):
        above = f"{above}/{name}" if above else name
        ran = git.run(directory, "ls-tree", "-z", "--full-tree", commit, above) if above else None
        mode = os.fsdecode(ran.stdout).partition(" ")[0] if ran else ""
        if mode and mode != git.FOLDER:
            message = f"{above} is no directory at {short(commit)}, so that the fleet there was is not known"
            raise Stop(EXIT_ERROR, message, hint="compare with the place that it leads to: --base-dir", rule="git.link")


def _place(into: Path, file: str) -> Path:
    """Where a file goes; no name leads out, whatever a tree says."""
    parts = file.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise Stop(EXIT_ERROR, f"a commit holds a file with the name {file!r}", rule="git.objects")
    path = into.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _parents(file: str) -> Iterable[str]:
    """The folders that a file is in, innermost first."""
    while file := posixpath.dirname(file):
        yield file


def _contents(directory: Path, blobs: Iterable[str]) -> Mapping[str, bytes]:
    """The content of each blob, as it is kept."""
    asked = sorted(blobs)
    if not asked:
        return {}
    ran = git.run(directory, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in asked).encode())
    data, at = ran.stdout, 0
    found: dict[str, bytes] = {}
    for blob in asked:
        end = data.find(b"\n", at)
        words = data[at:end].split() if end >= 0 else []
        if len(words) != 3 or words[1] != b"blob":
            hint = "the clone has not all contents: fetch them, without a filter"
            raise Stop(EXIT_ERROR, f"git does not have the content {blob}", git.said(ran), hint, "git.objects")
        start = end + 1
        at = start + int(words[2]) + 1
        found[blob] = data[start : at - 1]
    return found


def _is_as_held(path: str, blob: str) -> bool:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        data = Path(path).read_bytes()
    except OSError:
        return False
    return blob in (_blob(data, len(blob)), _blob(data.replace(b"\r\n", b"\n"), len(blob)))


def _blob(data: bytes, digits: int) -> str:
    """The id that git gives a content; its length tells the repository's hash."""
    hashed = hashlib.new("sha1" if digits == 40 else "sha256", usedforsecurity=False)
    hashed.update(b"blob %d\0" % len(data))
    hashed.update(data)
    return hashed.hexdigest()
