"""What a fleet that was named as one file leaves out: documents that its directory would bring along."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from fleetctl.files.document import Document
from fleetctl.files.fleet import FIRST
from fleetctl.files.unread import Unread
from fleetctl.files.walk import EXPECTED, Found, is_wanted, read_bytes, shown_name

_MOST = 1000
"""So many folders and files are looked at: the directory may be anybody's."""
_PART = re.compile(rb"^(?:pools|offers)[ \t]*:", re.MULTILINE)
_WHOLE = re.compile(rb"^apiVersion[ \t]*:", re.MULTILINE)


def beside(path: Path, documents: Iterable[Document]) -> str | None:
    """The first other file, relative to the directory of `path`, with pools or offers and without an apiVersion: it
    cannot stand alone, so it belongs to the fleet that the `documents` of `path` begin. None where there is none, and
    where there is another fleet that it may belong to."""
    root = os.path.realpath(path.parent)
    if path.name not in FIRST and any(os.path.exists(os.path.join(root, head)) for head in FIRST):
        return None
    unread = Unread(root, documents)
    for found in islice(_files(root), _MOST):
        if found.file != path.name and found not in unread and _is_part(found):
            return shown_name(found.file)
    return None


def is_document(path: Path) -> bool:
    """Whether a file looks like a fleet document: by what begins its lines, without being parsed."""
    data = read_bytes(Found("", os.path.realpath(path)))
    return isinstance(data, bytes) and bool(_PART.search(data) or _WHOLE.search(data))


def _files(root: str) -> Iterator[Found]:
    """The files below a directory, in the order of names; none of a folder that holds a fleet of its own."""
    for folder, folders, names in islice(os.walk(root), _MOST):
        if folder != root and not set(FIRST).isdisjoint(names):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != EXPECTED)
        for name in sorted(name for name in names if is_wanted(name) and not name.startswith(".")):
            real = os.path.join(folder, name)
            yield Found(os.path.relpath(real, root).replace(os.sep, "/"), real)


def _is_part(found: Found) -> bool:
    data = read_bytes(found)
    return isinstance(data, bytes) and bool(_PART.search(data)) and not _WHOLE.search(data)
