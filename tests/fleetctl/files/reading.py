"""Texts read for a test, and the same texts read by another reader of YAML."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from _ruamel_yaml import CParser  # type: ignore[import-not-found]  # the C parser of ruamel.yaml
from ruamel.yaml import YAML

from better_compute.domain.problems import INVALID_INPUT, Problem
from fleetctl.files import Document, FilesError, read_text
from fleetctl.files.scalars import ScalarError, resolve

KEY = object()
"""The last step of the way to a key itself: no key is like it."""


def documents(text: str | bytes, file: str = "fleet.yaml") -> list[Document]:
    return read_text(text.encode() if isinstance(text, str) else text, file)


def value(text: str | bytes) -> Any:
    """The root of the only document."""
    (document,) = documents(text)
    return document.root


def problems(text: str | bytes) -> list[Problem]:
    """What is wrong with a text that is refused; each problem is whole and lies in the file."""
    with pytest.raises(FilesError) as caught:
        documents(text)
    found = list(caught.value.problems)
    for problem in found:
        assert problem.code == INVALID_INPUT
        assert problem.rule.partition(".")[0] in ("yaml", "files")
        assert problem.message
        assert problem.hint
        assert problem.source is not None
        assert problem.source.file == "fleet.yaml"
    return found


def problem(text: str | bytes) -> Problem:
    """The only thing that is wrong with a text."""
    (found,) = problems(text)
    return found


def place(found: Problem) -> tuple[int, int]:
    assert found.source is not None
    return found.source.line, found.source.column


class Differs(Exception):  # noqa: N818  # not an error: the other reader's answer
    """The other reader does not read this text as a fleet file either."""


def events(text: str, *, pure: bool) -> list[Any]:
    if pure:
        return list(YAML(typ="safe", pure=True).parse(StringIO(text)))
    parser, found = CParser(text.encode()), []
    while (event := parser.get_event()) is not None:
        found.append(event)
    return found


class Other:
    """The documents of a text as ruamel.yaml parses it, with the place of each key and value by path."""

    def __init__(self, text: str, *, pure: bool) -> None:
        self.roots: list[Any] = []
        self.places: list[dict[tuple[Any, ...], tuple[int, int]]] = []
        self._anchors: dict[str, Any] = {}
        self._events: Iterator[Any] = iter(events(text, pure=pure))
        for event in self._events:
            if type(event).__name__ == "DocumentStartEvent":
                self._anchors.clear()
                self.places.append({})
                root = self._node(next(self._events), ())
                if root is None:
                    self.places.pop()
                elif isinstance(root, dict):
                    self.roots.append(root)
                else:
                    raise Differs

    def _node(self, event: Any, path: tuple[Any, ...]) -> Any:
        self.places[-1][path] = (event.start_mark.line + 1, event.start_mark.column + 1)
        if type(event).__name__ == "AliasEvent":
            if self._anchors.get(event.anchor, Differs) is Differs:
                raise Differs
            return self._anchors[event.anchor]
        if event.tag is not None:
            raise Differs
        self._anchors[event.anchor] = Differs
        found = self._content(event, path)
        self._anchors[event.anchor] = found
        return found

    def _content(self, event: Any, path: tuple[Any, ...]) -> Any:
        match type(event).__name__:
            case "SequenceStartEvent":
                return list(self._items(path))
            case "MappingStartEvent":
                return self._map(path)
            case _ if event.style:
                return event.value
        try:
            return resolve(event.value)
        except ScalarError:
            raise Differs from None

    def _items(self, path: tuple[Any, ...]) -> Iterator[Any]:
        index = 0
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            yield self._node(event, (*path, index))
            index += 1

    def _map(self, path: tuple[Any, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: list[Any] = []
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._node(event, (*path, None))
            if not isinstance(key, str) or key in found:
                raise Differs
            self.places[-1][(*path, key, KEY)] = self.places[-1].pop((*path, None))
            entry = self._node(next(self._events), (*path, key))
            if key == "<<" and not event.style:
                merged += entry if isinstance(entry, list) else [entry]
            else:
                found[key] = entry
        for source in merged:
            if not isinstance(source, dict):
                raise Differs
            found = {**source, **found}
        return found
