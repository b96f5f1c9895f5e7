"""World files: the one that `server.world` names and that is not there, and those that were read as fleet documents."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from better_compute.bootstrap import is_there
from better_compute.domain.problems import INVALID_INPUT, Problem
from better_compute.domain.words import slip_of
from fleetctl.desired import foreign
from fleetctl.desired.beside import is_like_document
from fleetctl.desired.faults import IGNORED
from fleetctl.desired.found import Found, Part
from fleetctl.desired.model import Desired, Embedded
from fleetctl.desired.place import Place
from fleetctl.desired.roots import Roots
from fleetctl.desired.shape import DOCUMENT_FIELDS
from fleetctl.files import Document, FilesError, read_fleet

RULE = "fleet.world"
KEYS = frozenset({"instance", "tenants", "sites", "identities", "providerAccounts", "machines"})
"""The fields of a world file; no field of a fleet document is called so."""


_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
"""Names that YAML and a glob take as they are."""


def is_world(root: Mapping[str, Any]) -> bool:
    """Whether a document is one of a world file, with nothing of a fleet in it."""
    return not KEYS.isdisjoint(root) and DOCUMENT_FIELDS.isdisjoint(root)


def judge(strays: Sequence[Document], parts: Sequence[Part], roots: Roots, directory: Path, found: Found) -> None:
    """Documents of world files among those of the fleet, its `parts`. Where the file that `server.world` names is not
    there, the nearest of them is meant: then the name is wrong, and not the file. Where `server` is faulty, it may name
    any."""
    files = {stray.file: stray for stray in reversed(strays)}
    place, server = roots.places.get("server"), roots.server(directory)
    if files and place is not None and (lost := _lost(server)):
        home = (directory / place.document.file).parent
        known = {os.path.relpath(directory / file, home).replace(os.sep, "/"): file for file in files}
        near = slip_of(written(place), known) or (next(iter(known)) if len(known) == 1 else "")
        found.problems.append(_nowhere(lost, place, near))
        files.pop(known.get(near, ""), None)
    for stray in files.values() if "server" not in roots.faulty else ():
        hint = "name it there, or move it out of the fleet"
        if folder := _folder(stray, parts):
            hint = f"the fleet is in {folder}: name that directory, and of a revision REVISION:{folder}"
        elif isinstance(server, str):
            hint = "a served control plane is given it by `better-compute bootstrap --world`: move it out of the fleet"
            if _PLAIN.fullmatch(stray.file):
                hint = f"{hint}, or write exclude: [{stray.file}]"
        found.add(RULE, "this is a world file, and server.world does not name it", Place(stray), hint=hint)


def _folder(stray: Document, parts: Sequence[Part]) -> str:
    """The folder that all of the fleet is in and the world file is not; empty where there is none."""
    folders = [posixpath.dirname(part.document.file) for part in parts]
    folder = posixpath.commonpath(folders) if folders else ""
    return "" if not folder or stray.file.startswith(f"{folder}/") else folder


def problems(desired: Desired) -> list[Problem]:
    """The problem of a world file that is not there, or of a document in its place, which nobody would read. Where the
    database is, a file that is not there is none: the world is in it."""
    server, place = desired.server, desired.places.get("server")
    if place is None or not isinstance(server, Embedded) or not server.world:
        return []
    if found := misnamed(desired):
        return found
    lost = _lost(server)
    return [_nowhere(lost, place)] if lost and not is_there(lost.database) else []


def misnamed(desired: Desired) -> list[Problem]:
    """The problem of a fleet document that `server.world` names: nobody would read it, whatever the control plane."""
    server, place = desired.server, desired.places.get("server")
    if place is not None and isinstance(server, Embedded) and server.world and _is_document(server.world):
        message, hint = f"{written(place)} is a fleet document, and would not be read", "name a world file"
        source = place.source("world")
        return [Problem(INVALID_INPUT, RULE, message, "server.world", hint, source=source)]
    return []


def _is_document(world: str) -> bool:
    """Whether a file holds a document of a fleet. One that cannot be read as such is judged by its looks: it is no
    sound world file either."""
    if not os.path.isfile(world):
        return False
    try:
        documents = read_fleet(Path(os.path.realpath(world)))
    except FilesError:
        return is_like_document(Path(world))
    return any(_is_of_fleet(document.root) for document in documents)


def _is_of_fleet(root: Mapping[str, Any]) -> bool:
    """Whether a document is one of a fleet, also where its one field is misspelt."""
    named = any(not name.startswith(IGNORED) for name in root)
    return named and not is_world(root) and not foreign.is_foreign(root)


def _lost(server: str | Embedded | None) -> Embedded | None:
    """An embedded control plane whose world file is not there."""
    return server if isinstance(server, Embedded) and server.world and not os.path.exists(server.world) else None


def _nowhere(server: Embedded, place: Place, near: str = "") -> Problem:
    named = written(place)
    folder, name = posixpath.split(named)
    if not near and (sibling := slip_of(name, _siblings(server.world or ""))):
        near = posixpath.join(folder, sibling)
    hint = f'did you mean "{near}"?' if near else "a new control plane starts with it: restore it, or leave it out"
    source = place.source("world")
    return Problem(INVALID_INPUT, RULE, f"no such file: {named}", "server.world", hint, source=source)


def written(place: Place) -> str:
    """The world's path, as it stands in the files."""
    path: str = place.document.root["server"]["world"]
    return path


def _siblings(path: str) -> list[str]:
    """The names in the folder of a file that is not there."""
    with suppress(OSError):
        return sorted(os.listdir(os.path.dirname(path)))
    return []
