"""A fleet to start with: commented files, and what CI needs. Nothing that is there is ever overwritten."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from fleetctl import machine
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files.writing import scalar

_MARK = re.compile("@([A-Z_]+)@")
_FILES: Final = {
    "fleet.yaml": "fleet.yaml",
    "pools/first-site.yaml": "pools/first-site.yaml",
    "first.fleet-test.yaml": "first.fleet-test.yaml",
}
"""Below the fleet's directory -> template; `world.yaml` besides, where the control plane is embedded."""
_CI: Final = {".github/CODEOWNERS": "github/CODEOWNERS", ".github/workflows/fleet.yml": "github/fleet.yml"}
"""Below the top of the repository, where GitHub looks for them."""
_IGNORE: Final = ".gitignore"
"""Also below the top: what the jobs and people write there, tokens among it, belongs into no repository."""
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

    `to_ignore`: lines that the `.gitignore` which is there lacks; it is nobody else's to change."""

    directory: str
    files: tuple[str, ...]
    choices: Choices
    to_ignore: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _File:
    """A file to write: its parts below a directory that stays where it is, and how it is named to people."""

    base: Path
    name: str
    shown: str
    text: str

    @property
    def path(self) -> Path:
        return self.base / self.name

    def obstacle(self) -> str:
        """What is in its way, or would lead it elsewhere; nothing where it can be written."""
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
    below it. All is written, or nothing. Raises Stop where any of the files is there already, or cannot be written."""
    files = [*_files(directory, choices, more)]
    to_ignore: tuple[str, ...] = ()
    if os.path.lexists(files[-1].path):
        to_ignore = _lacking(files.pop())
    if there := {file: found for file in files if (found := file.obstacle())}:
        at_top = all(file.name in _CI for file in there)
        hint = "--no-ci begins a fleet without them: add it to the jobs that are there" if at_top else _away(choices)
        raise Stop(
            EXIT_ERROR, "there are files already, and none is overwritten", [*there.values()], hint, "init.exists"
        )
    try:
        machine.write_new({file.path: file.text for file in files}, 0o666)
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}; nothing is left of the starter"
        raise Stop(EXIT_ERROR, message) from error
    return Started(str(directory), tuple(file.shown for file in files), choices, to_ignore)


def _away(choices: Choices) -> str:
    return "begin in an empty directory, or move them away" + ("; --no-ci leaves out .github" if choices.ci else "")


def _lacking(file: _File) -> tuple[str, ...]:
    """The patterns of our `.gitignore` that are not in the one that is there."""
    try:
        there = file.path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        there = []
    lines = (line for line in file.text.splitlines() if line and not line.startswith("#"))
    return tuple(line for line in lines if line not in there)


def _files(directory: Path, choices: Choices, more: Mapping[str, str]) -> Iterator[_File]:
    """All files; `.gitignore` is the last. Those at the top of the repository may stand above the directory."""
    real = Path(os.path.realpath(directory))
    top = next((parent for parent in (real, *real.parents) if (parent / ".git").exists()), real)
    from_here = top if directory.is_absolute() else Path(os.path.relpath(top))
    words = _words(choices, real.relative_to(top).as_posix())
    embedded = {"world.yaml": "world.yaml"} if choices.server is None else {}
    for name, template in (_FILES | embedded).items():
        yield _File(real, name, str(directory / name), _filled(template, words))
    for name, text in more.items():
        yield _File(real, name, str(directory / name), text)
    for name, template in (_CI if choices.ci else {}).items():
        yield _File(top, name, str(from_here / name), _filled(template, words))
    yield _File(top, _IGNORE, str(from_here / _IGNORE), _filled("gitignore", words))


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
