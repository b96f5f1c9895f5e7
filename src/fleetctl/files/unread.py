"""What the documents of a fleet say is not to be read with it: the world file, and the globs of `exclude`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from fleetctl.files.document import Document, Map, Seq
from fleetctl.files.walk import FoundFile


class Unread:
    """Files that are not fleet documents: by path (where links lead is what counts) or by glob.

    A glob is matched against the path relative to the fleet, part by part; `**` stands for any number of parts, and
    a folder that matches is left out whole.
    """

    def __init__(self, root: str, documents: Iterable[Document]) -> None:
        self._root = root
        self._paths: set[str] = set()
        self._globs: list[list[str]] = []
        for document in documents:
            self._note(document)

    def _note(self, document: Document) -> None:
        server, exclude = document.root.get("server"), document.root.get("exclude")
        world = server.get("world") if isinstance(server, Map) else None
        if isinstance(world, str):
            own = os.path.join(self._root, document.file)
            real = os.path.realpath(os.path.join(os.path.dirname(own), world))
            if real != os.path.realpath(own):  # it was read, and its own world is the one thing it cannot be
                self._paths.add(real)
        for glob in exclude if isinstance(exclude, Seq) else ():
            if isinstance(glob, str):
                self._globs.append(_parts(glob))

    def __contains__(self, found: FoundFile) -> bool:
        real = os.path.relpath(found.real, self._root).replace(os.sep, "/")
        return found.real in self._paths or self.names(found.file) or self.names(real)

    def names(self, file: str) -> bool:
        """Whether a glob matches this relative path."""
        parts = file.split("/")
        return any(glob and _matches(glob, parts) for glob in self._globs)


def hides(glob: str, file: str) -> bool:
    """Whether a glob of `exclude` matches a relative path."""
    parts = _parts(glob)
    return bool(parts) and _matches(parts, file.split("/"))


def _parts(glob: str) -> list[str]:
    return [part for part in glob.split("/") if part not in ("", ".")]


def _matches(glob: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the glob matches the path or a folder above it, in steps of all the ways the glob may be read."""
    positions = _skipping(glob, {0})
    for part in parts:
        if len(glob) in positions:
            return True
        here = [at for at in positions if glob[at] == "**" or fnmatchcase(part, glob[at])]
        positions = _skipping(glob, {at if glob[at] == "**" else at + 1 for at in here})
    return len(glob) in positions


def _skipping(glob: Sequence[str], positions: set[int]) -> set[int]:
    """The positions, and those behind each `**` that may stand for nothing."""
    for at in sorted(positions):
        while at < len(glob) and glob[at] == "**":
            at += 1
            positions.add(at)
    return positions
