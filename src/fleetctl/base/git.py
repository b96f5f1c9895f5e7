"""What git keeps of files: asked of its objects alone, so that nothing is checked out, fetched, filtered or run that a
repository's settings name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from better_compute.domain.problems import ask, nearest
from fleetctl.errors import EXIT_ERROR, Stop

if TYPE_CHECKING:
    from subprocess import CompletedProcess

_PATIENCE = 10.0
_LONG = 120.0
"""Seconds for the contents of a fleet's files."""
_LINK, _FILE, _SUBMODULE = "120000", "100", "160000"
FOLDER = "040000"
"""The modes of what a tree holds."""
_REFS = ("refs/heads", "refs/remotes", "refs/tags")
_PLAIN_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
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
    def is_submodule(self) -> bool:
        return self.mode == _SUBMODULE

    @property
    def is_file(self) -> bool:
        return self.mode.startswith(_FILE)


def answer(directory: Path, *arguments: str) -> str:
    """What git answers, empty when it cannot."""
    with suppress(Stop):
        ran = run(directory, *arguments)
        return os.fsdecode(ran.stdout) if ran.returncode == 0 else ""
    return ""


def top(directory: Path) -> Path | None:
    """The top of the repository that a directory is in, wherever links lead to it, as its real path, by the `.git`
    there; None outside of any. git is not asked."""
    real = Path(os.path.realpath(directory))
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), None)


def refs(directory: Path) -> list[str]:
    """Branches, those of remotes, and tags, by their short names."""
    return answer(directory, "for-each-ref", "--format=%(refname:short)", *_REFS).split()


def run(directory: Path, *arguments: str, stdin: bytes | None = None) -> CompletedProcess[bytes]:
    """What git did. Raises Stop where git is not there, or does not answer in time."""
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


def said(ran: CompletedProcess[bytes]) -> tuple[str, ...]:
    """What it said of that on stderr, as much as is told."""
    return tuple(ran.stderr.decode("utf-8", "backslashreplace").splitlines()[:3])


def listing(directory: Path, commit: str) -> dict[str, Held]:
    """What a commit has below `directory`, by file, relative to it. Raises Stop."""
    ran = run(directory, "ls-tree", "-r", "-z", commit)
    if ran.returncode:
        raise Stop(EXIT_ERROR, f"the files of {commit} cannot be read", said(ran), rule="git.objects")
    entries = (entry.partition("\t") for entry in os.fsdecode(ran.stdout).split("\0") if entry)
    return {file: Held(head.partition(" ")[0], head.rpartition(" ")[2]) for head, _, file in entries}


def commit_at(directory: Path, ref: str) -> str:
    """The commit that a revision names, in the repository that `directory` is in. Raises Stop."""
    commit = "" if ref.startswith("-") else answer(directory, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if _COMMIT.fullmatch(commit := commit.strip()):  # `^main` is answered too, and means all but that
        return commit
    inside = run(directory, "rev-parse", "--git-dir")
    if inside.returncode:
        message = f"{directory} is in no git repository that can be read"
        raise Stop(EXIT_ERROR, message, said(inside), "a base may be a directory: --base-dir", "git.repository")
    message = f"there is no commit {ref} in this repository"
    raise Stop(EXIT_ERROR, message, hint=_found_elsewhere(directory, ref), rule="git.revision")


def merge_base(directory: Path, ref: str) -> str:
    """The commit from which `ref` and HEAD went apart. Raises Stop, also where the history is cut off before it, or
    may be, and where there are several."""
    commit, head = commit_at(directory, ref), commit_at(directory, "HEAD")
    found = merge_bases(directory, ref, commit, [head])
    if len(found) > 1:
        message = f"{ref} and HEAD went apart at {len(found)} commits, and each may lack a guard of another"
        hint = f"merge {ref} into what is checked out: then {ref} itself is the base"
        raise Stop(EXIT_ERROR, message, hint=hint, rule="git.mergeBase")
    return found[0]


def merge_bases(directory: Path, ref: str, commit: str, others: Sequence[str]) -> list[str]:
    """The commits, one at least, from which `commit`, known as `ref`, and the others taken together (HEAD among them)
    went apart; that commit itself where they contain it. Raises Stop, also where the history is cut off before them,
    or may be."""
    found = common(directory, ref, commit, others)
    if not found:
        message, hint = f"{ref} and HEAD have no commit in common here", "name a revision of the same history"
        raise Stop(EXIT_ERROR, message, hint=hint, rule="git.mergeBase")
    return found


def common(directory: Path, ref: str, commit: str, others: Sequence[str]) -> list[str]:
    """The same of any commits in the history of `ref` and HEAD, which may have none in common."""
    found = answer(directory, "merge-base", "--all", commit, *others).split()
    if _is_cut(directory, commit, others, found):
        message = f"the history in which {ref} and HEAD went apart is not whole here"
        hint = "the clone is shallow: `git fetch --unshallow`, or fetch-depth: 0 in the job that checks out"
        raise Stop(EXIT_ERROR, message, hint=hint, rule="git.mergeBase")
    return sorted(found)


def independent(directory: Path, commits: Iterable[str]) -> list[str]:
    """Of these commits those that no other contains, in the order of their names. Raises Stop."""
    ran = run(directory, "merge-base", "--independent", *commits)
    if ran.returncode:
        raise Stop(EXIT_ERROR, "the history of the revisions cannot be read", said(ran), rule="git.mergeBase")
    return sorted(ran.stdout.decode().split())


def parent(directory: Path, commit: str) -> str | None:
    """The first parent of a commit; None of one that has none. Raises Stop, also where it is cut off here."""
    ran = run(directory, "cat-file", "commit", commit)
    if ran.returncode:
        raise Stop(EXIT_ERROR, f"the commit {commit} cannot be read", said(ran), rule="git.objects")
    lines = ran.stdout.partition(b"\n\n")[0].split(b"\n")
    first = next((line.split()[1].decode() for line in lines if line.startswith(b"parent ")), None)
    if first is not None and run(directory, "cat-file", "-e", first).returncode:
        message = f"the commit before {commit} is not here, and its guards are not known"
        hint = "the clone is shallow: `git fetch --unshallow`, or fetch-depth: 0 in the job that checks out"
        raise Stop(EXIT_ERROR, message, hint=hint, rule="git.parent")
    return first


def merged(ours: bytes, was: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """The lines of a file in which two sides changed what it `was`, as git merges them, and whether they do not
    conflict: where they do they stand there with its marks. What a repository's settings say of merging is not asked.
    Raises Stop."""
    from tempfile import TemporaryDirectory  # not at the top: every command looks for its repository

    with TemporaryDirectory(prefix="fleet-merge-") as directory:
        sides = {"ours": ours, "was": was, "theirs": theirs}
        for name, data in sides.items():
            (Path(directory) / name).write_bytes(data)
        ran = run(Path(directory), "merge-file", "-p", "-q", *sides)
        return ran.stdout, ran.returncode == 0


def head(directory: Path) -> str | None:
    """The commit that is checked out; None outside of git, and where there is none yet. Raises Stop where a repository
    cannot be read."""
    if top(directory) is None:
        return None
    ran = run(directory, "rev-parse", "--git-dir")
    if ran.returncode:
        message = f"{directory} is in a git repository that cannot be read"
        raise Stop(EXIT_ERROR, message, said(ran), rule="git.repository")
    return answer(directory, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip() or None


def _is_cut(directory: Path, commit: str, others: Sequence[str], bases: Iterable[str]) -> bool:
    """Whether a shallow clone lacks parents of a commit since the bases: a later one may be behind it."""
    if commit in others or answer(directory, "rev-parse", "--is-shallow-repository").strip() != "true":
        return False
    place = answer(directory, "rev-parse", "--git-path", "shallow").removesuffix("\n")
    since = answer(directory, "rev-list", commit, *others, *(f"^{base}" for base in bases)).split()
    try:
        ends = (directory / place).read_text().split()
    except (OSError, ValueError):
        return True
    return not since or not set(ends).isdisjoint(since)


def _found_elsewhere(directory: Path, ref: str) -> str:
    """What may be meant by a revision that is none: one that is here, and then what a fetch may bring."""
    remotes, there = answer(directory, "remote").split(), [name for name in refs(directory) if name != ref]
    # One of a remote is named whole, and meant by its own name too; one that is here comes first.
    short_of = {name.partition("/")[2]: name for name in there if "/" in name}
    near = f"origin/{ref}"
    if near not in there:
        near = nearest(ref, there) or short_of.get(nearest(ref, short_of), "")
    fetch = ""
    if remotes and near != f"origin/{ref}" and _PLAIN_REF.fullmatch(ref):
        remote = next((name for name in remotes if ref.startswith(f"{name}/")), remotes[0])
        fetch = (
            f"`git fetch {remote} {ref.removeprefix(f'{remote}/')}` first, or fetch-depth: 0 in the job that checks out"
        )
    return "; else ".join(filter(None, (ask(near), fetch))) or "name a branch, a tag or a commit"
