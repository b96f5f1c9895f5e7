"""A fleet to start with: commented files, and what CI needs. Nothing that is there is ever overwritten."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from fleetctl import machine
from fleetctl.errors import EXIT_ERROR, Stop

_MARK = re.compile("@([A-Z_]+)@")
_FILES: Final = {
    "fleet.yaml": "fleet.yaml",
    "pools/first-site.yaml": "pools/first-site.yaml",
    "first.fleet-test.yaml": "first.fleet-test.yaml",
    ".gitignore": "gitignore",
}
"""Below the fleet's directory -> template; `world.yaml` besides, where the control plane is embedded."""
_CI: Final = {".github/CODEOWNERS": "github/CODEOWNERS", ".github/workflows/fleet.yml": "github/fleet.yml"}
"""Below the top of the repository, where GitHub looks for them."""
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
    """What was written: `files` are relative to `directory`, which is spelled as it was asked for."""

    directory: str
    files: tuple[str, ...]
    choices: Choices


def start(directory: Path, choices: Choices, more: Mapping[str, str]) -> Started:
    """Write a starter fleet into a directory, which is made where there is none; `more` are further texts by their name
    below it. All is written, or nothing. Raises Stop where any of the files is there already, or cannot be written."""
    texts = {directory / name: text for name, text in (*_texts(directory, choices).items(), *more.items())}
    names = [os.path.relpath(path, directory).replace(os.sep, "/") for path in texts]
    if there := [name for name, path in zip(names, texts, strict=True) if os.path.lexists(path)]:
        hint = "begin in an empty directory, or move them away" + ("; --no-ci leaves out .github" if choices.ci else "")
        raise Stop(EXIT_ERROR, "there are files already, and none is overwritten", there, hint, "init.exists")
    try:
        machine.write_new(texts, 0o666)
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}; nothing is left of the starter"
        raise Stop(EXIT_ERROR, message) from error
    return Started(str(directory), tuple(names), choices)


def _texts(directory: Path, choices: Choices) -> dict[str, str]:
    """The files by their names below the directory; those of CI may stand above it."""
    top = _top(directory)
    below = os.path.relpath(os.path.realpath(directory), top).replace(os.sep, "/")
    templates = dict(_FILES)
    if choices.server is None:
        templates["world.yaml"] = "world.yaml"
    if choices.ci:
        up = os.path.relpath(top, os.path.realpath(directory)).replace(os.sep, "/")
        templates |= {name if up == "." else f"{up}/{name}": template for name, template in _CI.items()}
    words = _words(choices, below)
    return {name: _MARK.sub(lambda found: words[found[1]], _read(template)) for name, template in templates.items()}


def _words(choices: Choices, below: str) -> Mapping[str, str]:
    is_root = choices.tenant == ROOT
    return {
        "FLEET": choices.fleet,
        "TENANT": choices.tenant,
        "CALLER": choices.caller,
        "SERVER": _EMBEDDED if choices.server is None else _SERVED.format(server=choices.server),
        "OWNER": "" if is_root else f"  - {{id: {choices.tenant}}}\n",
        "KIND": "shared" if is_root else "custom",
        "FLEET_DIR": below,
        "AT": "/" if below == "." else f"/{below}/",
    }


def _top(directory: Path) -> str:
    """The top of the repository that a directory is in, or will be: itself where there is none."""
    real = Path(os.path.realpath(directory))
    return str(next((parent for parent in (real, *real.parents) if (parent / ".git").exists()), real))


def _read(template: str) -> str:
    return (resources.files(__name__) / "files" / template).read_text(encoding="utf-8")
