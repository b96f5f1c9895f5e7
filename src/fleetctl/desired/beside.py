"""What a fleet that was named as one file leaves out: documents that its directory would bring along."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from yaml.cyaml import CBaseLoader
from yaml.error import YAMLError
from yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    StreamEndEvent,
)

from fleetctl.desired.shape import UNNAMED
from fleetctl.files.document import Document
from fleetctl.files.fleet import FIRST
from fleetctl.files.unread import Unread
from fleetctl.files.walk import EXPECTED, FoundFile, is_wanted, read_bytes, read_head, shown_name

_MOST = 1000
"""So many folders and files are looked at: the directory may be anybody's."""
_HEAD = 4096
"""So many bytes of each of them."""
_PART = re.compile(rb"(?:pools|offers|policies|checks|guards)[\"']?[ \t]*:")
_LIKE = re.compile(rb"^[ \t{]*[\"']?(?:pools|offers|policies|checks|apiVersion)[\"']?[ \t]*:", re.MULTILINE)
_PARTS = ("pools", "offers", "policies", "checks", "guards")
"""What any document of a fleet may hold, and what would hold for all of them."""
_OF_ONE = ("apiVersion", "fleet", "tenantId", "caller", "keyPrefix", "server")
"""What the documents of one fleet agree on."""


def beside(path: Path, documents: Iterable[Document]) -> str | None:
    """The first other file, relative to the directory of `path`, with parts of the fleet that the `documents` of `path`
    begin: it contradicts none of their root fields. None where there is none, and where there is another fleet that it
    may belong to. Of each file no more than its beginning is read."""
    root = os.path.realpath(path.parent)
    if path.name not in FIRST and any(os.path.exists(os.path.join(root, head)) for head in FIRST):
        return None
    documents = [*documents]
    unread, own = Unread(root, documents), _own(documents)
    for found in islice(_files(root), _MOST):
        if found.file != path.name and found not in unread and _is_part(found, own):
            return shown_name(found.file)
    return None


def is_like_document(path: Path) -> bool:
    """Whether a file that cannot be read looks like a fleet document, by what begins its lines."""
    data = read_bytes(FoundFile("", os.path.realpath(path)))
    return isinstance(data, bytes) and bool(_LIKE.search(data))


def _files(root: str) -> Iterator[FoundFile]:
    """The files below a directory, in the order of names; none of a folder that holds a fleet of its own."""
    for folder, folders, names in islice(os.walk(root), _MOST):
        if folder != root and not set(FIRST).isdisjoint(names):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != EXPECTED)
        for name in sorted(name for name in names if is_wanted(name) and not name.startswith(".")):
            real = os.path.join(folder, name)
            yield FoundFile(os.path.relpath(real, root).replace(os.sep, "/"), real)


def _own(documents: Sequence[Document]) -> dict[str, str | None]:
    """What the documents say of their fleet; None for what is more than text."""
    said = {name: document.root[name] for document in documents for name in _OF_ONE if name in document.root}
    return {"fleet": UNNAMED, **{name: value if isinstance(value, str) else None for name, value in said.items()}}


def _is_part(found: FoundFile, own: Mapping[str, str | None]) -> bool:
    data = read_head(found, _HEAD)
    if not _PART.search(data):
        return False  # the parser is asked only where it may find something
    if len(data) == _HEAD:
        data = data[: data.rfind(b"\n") + 1] or data
    fields = _fields(data.decode("utf-8", "replace"))
    said = {name: fields[name] for name in _OF_ONE if name in fields and name in own}
    return not fields.keys().isdisjoint(_PARTS) and all(own[name] == said[name] for name in said)


def _fields(text: str) -> dict[str, str | None]:
    """The root fields of the documents that a text begins, as far as it can be read; None for all but scalars."""
    fields: dict[str, str | None] = {}
    depth, inside, key = 0, False, None
    with suppress(YAMLError):
        get: Callable[[], Any] = CBaseLoader(text).get_event
        while not isinstance(event := get(), StreamEndEvent):
            if depth == 0 and isinstance(event, NodeEvent):
                inside = isinstance(event, MappingStartEvent)
            elif depth == 1 and inside and isinstance(event, NodeEvent):
                value = event.value if isinstance(event, ScalarEvent) else None
                if key is None:
                    key = value or ""
                else:
                    fields[key], key = value, None
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
    return fields
