"""A fleet to start with: commented files, and what CI needs. Nothing that is there is ever overwritten; `hiding` tells
what git would not see."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from better_compute.domain.problems import Problem
from fleetctl.base import git
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files.walk import FoundFile, list_files, read_bytes
from fleetctl.files.writing import scalar
from fleetctl.machine import disk
from fleetctl.starter.hiding import hidden

_MARK = re.compile("@([A-Z_]+)@")
_FILES: Final = {
    "fleet.yaml": "fleet.yaml",
    "pools/first-site.yaml": "pools/first-site.yaml",
    "first.fleet-test.yaml": "first.fleet-test.yaml",
}
"""Below the fleet's directory -> template; `world.yaml` besides, where the control plane is embedded."""
_JOBS: Final = ".github/workflows/fleet.yml"
_OWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks for code owners: the first that is there counts, and no other."""
_IGNORE: Final = ".gitignore"
"""Below the top of the repository, as those: what the jobs and people write there, tokens among it, is none of its."""
_UNNAMED: Final = re.compile(r"""[*?!#$\[\]\\"]""")
"""What the name of a directory cannot have in CODEOWNERS, or would mean something in a workflow."""
_EMBEDDED: Final = """
# The control plane. This one is embedded: a SQLite file that the first command makes, with what world.yaml says. For a
# served one, write the line with its URL in the place of the three below, and delete world.yaml:
# server: https://compute.example.com
server:
  embedded: .fleet/control-plane.db
  world: world.yaml
"""
_SERVED: Final = """
# The control plane. To try things without it, write the three lines of an embedded one in the place of its URL:
# server:
#   embedded: .fleet/control-plane.db
#   world: world.yaml
server: {server}
"""
ROOT = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a starter is made for; `server` of None: an embedded control plane. `ci`: files for GitHub, too."""

    fleet: str
    tenant: str
    caller: str
    server: str | None
    ci: bool


@dataclass(frozen=True, slots=True)
class Started:
    """What was written: `directory` is spelled as it was asked for, and `files` are named from the same place.

    `to_ignore`: lines that the `.gitignore` which is there lacks; it is nobody else's to change. `to_own`: the same of
    the code owners that are there, by the name of their file. `others`: files that were there and are read as parts of
    the fleet, below its directory."""

    directory: str
    files: tuple[str, ...]
    choices: Choices
    to_ignore: tuple[str, ...] = ()
    to_own: tuple[str, tuple[str, ...]] | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    """A file to write: its parts below a directory that stays where it is, and how it is named to people. One that is
    `shared` may be there already, as a file of lines: then people add ours to it."""

    base: Path
    name: str
    shown: str
    text: str
    shared: bool = False

    @property
    def path(self) -> Path:
        return self.base / self.name

    @property
    def is_there(self) -> bool:
        """Whether it may stay as it is."""
        return self.shared and os.path.lexists(self.path)

    def there(self) -> bytes | Problem:
        """What is there already, also where a link leads to it, or why it is no file of lines."""
        return read_bytes(FoundFile(self.shown, os.path.realpath(self.path)))

    def obstacle(self) -> str:
        """What is in its way, or would lead it elsewhere; nothing where it can be written."""
        if self.is_there:
            there = self.there()
            return f"{self.shown}: {there.message}" if isinstance(there, Problem) else ""
        for part in reversed((self.path, *self.path.parents)):
            if not part.is_relative_to(self.base) or part == self.base or not os.path.lexists(part):
                continue
            if part == self.path:
                return self.shown
            if part.is_symlink() or not part.is_dir():
                what = "a link" if part.is_symlink() else "no directory"
                return f"{self.shown}: {part.relative_to(self.base).as_posix()} is {what}"
        return ""


def start(directory: Path, choices: Choices, more: Mapping[str, str]) -> Started:
    """Write a starter fleet into a directory, which is made where there is none; `more` are further texts by their name
    below it. All is written, or nothing. Raises Stop where any of the files is there already, would be hidden from git,
    or cannot be written."""
    wanted = [*_files(directory, choices, more)]
    if there := {file: found for file in wanted if (found := file.obstacle())}:
        of_jobs = all(file.name == _JOBS for file in there)
        hint = "--no-ci begins a fleet without them: add it to the jobs that are there" if of_jobs else _away(choices)
        raise Stop(
            EXIT_ERROR, "there are files already, and none is overwritten", [*there.values()], hint, "init.exists"
        )
    _check_seen(wanted)  # not before: git waits for the writer of a pipe
    lacking = {file.name: (file.shown, _lacking(file)) for file in wanted if file.is_there}
    files = [file for file in wanted if not file.is_there]
    others = tuple(sorted(list_files(str(directory)).files)) if directory.is_dir() else ()
    try:
        disk.write_new({file.path: file.text for file in files}, 0o666)
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}; nothing is left of the starter"
        raise Stop(EXIT_ERROR, message) from error
    _, to_ignore = lacking.pop(_IGNORE, ("", ()))
    to_own = next((own for own in lacking.values() if own[1]), None)
    return Started(str(directory), tuple(file.shown for file in files), choices, to_ignore, to_own, others)


def _check_seen(files: list[_File]) -> None:
    """Raises Stop where a repository would not see a file."""
    top = git.top(files[0].base)
    if top is None:
        return
    shown = {file.path.relative_to(top).as_posix(): file.shown for file in files}
    lines = [line for file in files if file.name == _IGNORE for line in _lines(file.text)]
    if found := hidden([*shown], lines, top):
        told = [f"{shown[name]}: {why}" for name, why in found.items()]
        message = "git would ignore what is written, so that nobody sees it: nothing was written"
        raise Stop(
            EXIT_ERROR, message, told, "begin in a directory of another name, or change that line", "init.ignored"
        )


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _away(choices: Choices) -> str:
    return "begin in an empty directory, or move them away" + ("; --no-ci leaves out .github" if choices.ci else "")


def _lacking(file: _File) -> tuple[str, ...]:
    """Our lines that are not in the file that is there."""
    there = file.there()
    lines = there.decode("utf-8", "replace").splitlines() if isinstance(there, bytes) else []
    return tuple(line for line in _lines(file.text) if line not in lines)


def _files(directory: Path, choices: Choices, more: Mapping[str, str]) -> Iterator[_File]:
    """All files. Those at the top of the repository may stand above the directory."""
    real = Path(os.path.realpath(directory))
    top = git.top(real) or real
    from_here = top if directory.is_absolute() else Path(os.path.relpath(top))
    words = _words(choices, real.relative_to(top).as_posix())
    embedded = {"world.yaml": "world.yaml"} if choices.server is None else {}
    for name, template in (_FILES | embedded).items():
        yield _File(real, name, str(directory / name), _filled(template, words))
    for name, text in more.items():
        yield _File(real, name, str(directory / name), text)
    if choices.ci:
        owners = next((name for name in _OWNERS if os.path.lexists(top / name)), _OWNERS[0])
        yield _File(top, owners, str(from_here / owners), _filled("github/CODEOWNERS", words), shared=True)
        yield _File(top, _JOBS, str(from_here / _JOBS), _filled("github/fleet.yml", words))
    yield _File(top, _IGNORE, str(from_here / _IGNORE), _filled("gitignore", words), shared=True)


def _words(choices: Choices, below: str) -> Mapping[str, str]:
    is_root = choices.tenant == ROOT
    fleet, tenant, caller = map(scalar, (choices.fleet, choices.tenant, choices.caller))
    return {
        "FLEET": fleet,
        "TENANT": tenant,
        "CALLER": caller,
        "SERVER": _EMBEDDED if choices.server is None else _SERVED.format(server=scalar(choices.server)),
        "OWNER": "" if is_root else f"  - {{id: {tenant}}}\n",
        "KIND": "shared" if is_root else "custom",
        **(_of_github(below) if choices.ci else {}),
    }


def _of_github(below: str) -> Mapping[str, str]:
    """How the fleet's directory is spelled for the jobs and in CODEOWNERS. Raises Stop where it cannot be."""
    if _UNNAMED.search(below) or not below.isprintable():
        message = f"CODEOWNERS and the jobs cannot name the directory {below!r}: nothing was written"
        hint = "choose a name of letters, digits, - and _; --no-ci leaves out .github"
        raise Stop(EXIT_ERROR, message, hint=hint, rule="init.name")
    escaped = below.replace(" ", "\\ ")
    return {
        "FLEET_DIR": scalar(f"./{below}" if below.startswith("-") else below),
        "WHOLE": "*" if below == "." else f"/{escaped}/",
        "AT": "/" if below == "." else f"/{escaped}/",
    }


def _filled(template: str, words: Mapping[str, str]) -> str:
    text = (resources.files(__name__) / "files" / template).read_text(encoding="utf-8")
    return _MARK.sub(lambda found: words[found[1]], text)
