"""A YAML file as plain values, each with its place: the 1.2 core schema, and nothing that two readers read as two.

The fleet's own reader is `fleetctl.files`, which this package cannot know; a world is small, so simplicity wins here.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem, Source

LARGEST = 4 * 1024 * 1024
DEEPEST = 32
MOST = 200_000
"""Values of one file, those that aliases repeat included."""

Place = tuple[str | int, ...]
"""Keys and positions that lead to a value."""

_INT = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NAME = re.compile(r"[A-Za-z0-9]{1,40}")
_QUOTED = re.compile(r""" (?:'[^']{2,}'|"[^"]{2,}")""")
"""More than a sign of a file in what is wrong with it."""
_ZEROS = re.compile(r"[-+]?0[0-9_]+")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_CORE = "tag:yaml.org,2002:"
_KINDS = frozenset(_CORE + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp"))
"""What values are without a tag of their own."""


@dataclass(slots=True)
class Document:
    """What a file holds. `places` has the line and column, from 1, of every value and of every key (`keys`)."""

    file: str
    value: Any = None
    places: dict[Place, Source] = field(default_factory=dict)
    keys: dict[Place, Source] = field(default_factory=dict)

    def source(self, path: Place) -> Source:
        """The place of the value, or of the nearest one around it that is there."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Source(self.file, 1))


def read(path: Path) -> Document:
    """The one document of a file; None as its value when it is empty. Raises ComputeError with file, line, column."""
    document = Document(str(path))
    text = _text(document, path)
    node = _compose(document, text)
    if node is not None:
        document.value = _Reader(document).value(node, (), 0)
    return document


def looks_like_a_field(name: str) -> bool:
    """Whether a name that nobody knows may be repeated. The file may be another one than its reader thinks, and hold
    what is to be in no log."""
    return _NAME.fullmatch(name) is not None


def refuse(source: Source, message: str, hint: str = "") -> NoReturn:
    raise ComputeError(Problem(INVALID_INPUT, "yaml", message, hint=hint, source=source))


def _text(document: Document, path: Path) -> str:
    place = Source(document.file, 1)
    try:
        # Opening a pipe would wait for its other end.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                refuse(place, "this is not a regular file")
            data = file.read(LARGEST + 1)
    except OSError as error:
        refuse(place, f"the file cannot be read: {error.strerror}")
    if len(data) > LARGEST:
        refuse(place, f"the file is larger than {LARGEST >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(_at(document, data[: error.start].decode(errors="replace")), "this byte is not UTF-8")
    if found := re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text):
        refuse(_at(document, text[: found.start()]), "a control character is not allowed here")
    return text


def _at(document: Document, before: str) -> Source:
    """The place that follows the text `before`."""
    lines = re.split(r"\r\n|\r|\n", before)
    return Source(document.file, len(lines), len(lines[-1]) + 1)


def _compose(document: Document, text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Source(document.file, mark.line + 1, mark.column + 1) if mark else Source(document.file, 1)
        said = _QUOTED.sub("", error.problem or "this is not YAML")
        refuse(place, said, "only one document is read" if _many(error) else "")
    except YAMLError as error:
        refuse(Source(document.file, 1), f"this is not YAML: {error}")
    except RecursionError:
        refuse(Source(document.file, 1), "the file is nested too deep")


def _many(error: Exception) -> bool:
    return "another document" in str(getattr(error, "problem", ""))


@dataclass(slots=True)
class _Reader:
    document: Document
    count: int = 0

    def value(self, node: Any, path: Place, depth: int) -> Any:
        place = self._place(node)
        self.document.places[path] = place
        self.count += 1
        if depth > DEEPEST or self.count > MOST:
            refuse(place, f"nested deeper than {DEEPEST}" if depth > DEEPEST else f"more than {MOST} values")
        if node.tag not in _KINDS:
            self._refuse_tag(place)
        if node.id == "mapping":
            return self._mapping(node, path, depth)
        if node.id == "sequence":
            return [self.value(child, (*path, i), depth + 1) for i, child in enumerate(node.value)]
        return self._scalar(node, place)

    def _mapping(self, node: Any, path: Place, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, child in node.value:
            place = self._place(key_node)
            key = self._scalar(key_node, place) if key_node.id == "scalar" else None
            if not isinstance(key, str):
                refuse(place, "a key is a string", "put it in quotes")
            if key in found:
                which = f"the key {key!r}" if looks_like_a_field(key) else "a key"
                refuse(place, f"{which} stands twice: first in line {self.document.keys[(*path, key)].line}")
            self.document.keys[(*path, key)] = place
            found[key] = self.value(child, (*path, key), depth + 1)
        return found

    def _scalar(self, node: Any, place: Source) -> Any:
        text: str = node.value
        if node.style not in (None, ""):
            return text
        value = _WORDS[text] if text in _WORDS else int(text) if _INT.fullmatch(text) else text
        if value is not text:
            if node.tag == _CORE + "str":
                self._refuse_tag(place)
            return value
        if _ZEROS.fullmatch(text):
            refuse(place, "a number has a leading zero", "quote it, or leave the zeros out")
        return text

    def _refuse_tag(self, place: Source) -> NoReturn:
        refuse(place, "tags are not read", "write the plain value, or quote it")

    def _place(self, node: Any) -> Source:
        return Source(self.document.file, node.start_mark.line + 1, node.start_mark.column + 1)
