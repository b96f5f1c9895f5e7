"""What git keeps of files: asked of its objects alone, so that nothing is checked out, fetched, filtered or run that a
repository's settings name."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.words import short

if TYPE_CHECKING:
    from subprocess import CompletedProcess

_PATIENCE = 10.0
_LONG = 120.0
"""Seconds for the contents of a fleet's files."""
_YAML = (".yaml", ".yml")
_LINK, _FILE, _FOLDER, _SUBMODULE = "120000", "100", "040000", "160000"
_PLAIN_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_ELSEWHERE = frozenset(
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES"),
        *("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE"),
        *("GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"),
    }
)
"""What would make git answer of another repository than the one that the files are in."""
_SAFE = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # what fetches lazily all the same finds no way out
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True)
class Held:
    """An entry of a commit's tree: its mode, and the id of its content."""

    mode: str
    blob: str

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK

    @property
    def is_file(self) -> bool:
        return self.mode.startswith(_FILE)


def answer(directory: Path, *arguments: str) -> str:
    """What git answers, empty when it cannot."""
    with suppress(Stop):
        ran = _ask(directory, *arguments)
        return os.fsdecode(ran.stdout) if ran.returncode == 0 else ""
    return ""


def listing(directory: Path, commit: str) -> dict[str, Held]:
    """What a commit has below `directory`, by file, relative to it. Empty when git cannot tell."""
    return _entries(answer(directory, "ls-tree", "-r", "-z", commit))


def commit_at(directory: Path, ref: str) -> str:
    """The commit that a revision names, in the repository that `directory` is in. Raises Stop."""
    commit = "" if ref.startswith("-") else answer(directory, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if commit := commit.strip():
        return commit
    inside = _ask(directory, "rev-parse", "--git-dir")
    if inside.returncode:
        message = f"{directory} is in no git repository that can be read"
        raise Stop(EXIT_ERROR, message, _said(inside), "name a directory instead", "git.repository")
    message = f"there is no commit {ref} in this repository"
    raise Stop(EXIT_ERROR, message, hint=_found_elsewhere(directory, ref), rule="git.revision")


def merge_base(directory: Path, ref: str) -> str:
    """The commit from which `ref` and HEAD went apart. Raises Stop, also where the history is cut off before it."""
    commit, head = commit_at(directory, ref), commit_at(directory, "HEAD")
    if base := answer(directory, "merge-base", commit, head).strip():
        return base
    message = f"{ref} and HEAD have no commit in common here"
    if answer(directory, "rev-parse", "--is-shallow-repository").strip() == "true":
        hint = "the clone is shallow: `git fetch --unshallow`, or fetch-depth: 0 in the job that checks out"
    else:
        hint = "name a revision of the same history"
    raise Stop(EXIT_ERROR, message, hint=hint, rule="git.mergeBase")


def commit_of(directory: Path, files: Collection[str]) -> str | None:
    """The commit at HEAD, where it holds these `files` of `directory` (relative, forward slashes), and its YAML files
    are here as it holds them; else None, and outside git.

    Contents are compared here, line ends apart, since git itself would run the filters that the repository's settings
    name. What such a filter changes counts as another content. Where HEAD holds a link or a submodule there is no
    commit either: what they lead to is none of it.
    """
    if not any((parent / ".git").exists() for parent in (directory, *directory.parents)):
        return None
    commit = answer(directory, "rev-parse", "--verify", "HEAD").strip()
    listed = listing(directory, commit) if commit else {}
    held = {file: found.blob if found.is_file else "" for file, found in listed.items()}
    root = os.path.realpath(directory)
    # Also those that say nothing of the fleet now: they may have said something there.
    wanted = {file for file, blob in held.items() if (file.endswith(_YAML) or not blob) and not _is_hidden(file)}
    folders = {os.path.dirname(os.path.join(root, file)) for file in files}
    if (
        any(os.path.realpath(folder) != folder for folder in folders)
        or not held.keys() >= set(files)
        or not all(_is_as_held(os.path.join(root, file), held[file]) for file in wanted.union(files))
    ):
        return None
    return commit or None


def write_fleet(path: Path, commit: str, into: Path) -> bool:
    """Write the YAML files that a commit has of the fleet at `path` (a directory, or one file) below `into`; links stay
    links. False where it has none. Raises Stop when a content is not to be had, or not in this repository."""
    whole = path.is_dir()
    directory = path if whole else path.parent
    _check_place(directory, commit)
    ran = _ask(directory, "ls-tree", "-r", "-z", commit)
    if ran.returncode:
        raise Stop(EXIT_ERROR, f"the files of {commit} cannot be read", _said(ran), rule="git.objects")
    held = _entries(os.fsdecode(ran.stdout))
    if whole and (modules := sorted(file for file in held if held[file].mode == _SUBMODULE)):
        message = (
            f"{modules[0]} is a submodule at {short(commit)}: its files are in another repository, and cannot be read"
        )
        raise Stop(EXIT_ERROR, message, hint="move it out of the fleet's directory", rule="git.objects")
    wanted = {file for file in held if (file.endswith(_YAML) if whole else file == path.name)}
    links = {file for file in held if held[file].is_link and (whole or file in wanted)}
    contents = _contents(directory, {held[file].blob for file in links})
    targets = {file: os.fsdecode(contents[held[file].blob]) for file in links}
    # What a link leads to may have any name.
    wanted |= {posixpath.normpath(posixpath.join(posixpath.dirname(file), name)) for file, name in targets.items()}
    files = {file: held[file].blob for file in wanted & held.keys() if held[file].is_file}
    contents = _contents(directory, set(files.values()))
    for file, blob in files.items():
        _place(into, file).write_bytes(contents[blob])
    for file, name in targets.items():
        if not any(parent in targets for parent in _parents(file)):  # nothing is written through a link
            _place(into, file).symlink_to(name)
    return any(file.endswith(_YAML) or not whole for file in (*files, *targets))


def check_straight(path: Path) -> None:
    """Raises Stop where a link inside a repository, or a submodule, leads to the fleet's directory: what stood in its
    place before would not be found."""
    directory = path if path.is_dir() else path.parent
    if around := answer(directory, "rev-parse", "--show-superproject-working-tree").rstrip("\n"):
        message = f"{directory} is in a submodule, and the base may have another fleet in its place in {around}"
        raise Stop(EXIT_ERROR, message, hint="compare in a clone of that repository alone", rule="git.link")
    for step in (directory, *directory.parents):
        top = answer(step.parent, "rev-parse", "--show-toplevel").rstrip("\n") if os.path.islink(step) else ""
        if top and Path(os.path.realpath(directory)).is_relative_to(os.path.realpath(top)):
            message = f"{step} is a symbolic link, and the base may have another fleet in its place"
            raise Stop(EXIT_ERROR, message, hint="name the fleet's own directory", rule="git.link")


def _is_hidden(file: str) -> bool:
    return any(part.startswith(".") for part in file.split("/"))


def _is_as_held(path: str, blob: str) -> bool:
    if os.path.islink(path):
        return False
    try:
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


def _check_place(directory: Path, commit: str) -> None:
    """Raises Stop where a commit has a link, a file or another repository in the place of the fleet's directory, or of
    one above it: then it is not known what there was."""
    above = ""
    for name in answer(directory, "rev-parse", "--show-prefix").rstrip("\n").removesuffix("/").split("/"):
        above = f"{above}/{name}" if above else name
        ran = _ask(directory, "ls-tree", "-z", "--full-tree", commit, above) if above else None
        mode = os.fsdecode(ran.stdout).partition(" ")[0] if ran else ""
        if mode and mode != _FOLDER:
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
    ran = _ask(directory, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in asked).encode())
    data, at = ran.stdout, 0
    found: dict[str, bytes] = {}
    for blob in asked:
        end = data.find(b"\n", at)
        words = data[at:end].split() if end >= 0 else []
        if len(words) != 3 or words[1] != b"blob":
            hint = "the clone has not all contents: fetch them, without a filter"
            raise Stop(EXIT_ERROR, f"git does not have the content {blob}", _said(ran), hint, "git.objects")
        start = end + 1
        at = start + int(words[2]) + 1
        found[blob] = data[start : at - 1]
    return found


def _entries(text: str) -> dict[str, Held]:
    entries = (entry.partition("\t") for entry in text.split("\0") if entry)
    return {file: Held(head.partition(" ")[0], head.rpartition(" ")[2]) for head, _, file in entries}


def _found_elsewhere(directory: Path, ref: str) -> str:
    if answer(directory, "rev-parse", "--verify", "--quiet", f"origin/{ref}^{{commit}}"):
        return f'did you mean "origin/{ref}"?'
    if not _PLAIN_REF.fullmatch(ref):
        return "name a branch, a tag or a commit"
    return f"`git fetch origin {ref.removeprefix('origin/')}` first, or fetch-depth: 0 in the job that checks out"


def _said(ran: CompletedProcess[bytes]) -> tuple[str, ...]:
    return tuple(ran.stderr.decode("utf-8", "backslashreplace").splitlines()[:3])


def _ask(directory: Path, *arguments: str, stdin: bytes | None = None) -> CompletedProcess[bytes]:
    """Raises Stop where git is not there, or does not answer in time."""
    import subprocess  # not at the top: most of what imports this has no repository to ask

    patience = _PATIENCE if stdin is None else _LONG
    try:
        return subprocess.run(
            ("git", *arguments),
            cwd=directory,
            env={name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | _SAFE,
            input=stdin or b"",
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Stop(EXIT_ERROR, f"git cannot be asked: {error}", rule="git.run") from error
