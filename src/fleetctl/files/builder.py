"""Documents from libyaml's events: the library decides what YAML is, this decides what it means here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from yaml.cyaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from fleetctl.files.anchors import Anchors
from fleetctl.files.document import Document, Map, Seq
from fleetctl.files.reading import Reading
from fleetctl.files.scalars import ScalarError, clip
from fleetctl.files.text import CONTROL

_MERGE = "<<"
_DIRECTIVE = re.compile("^%.*", re.MULTILINE)


def documents(reading: Reading) -> Iterator[Document]:
    """Each document that is not empty. Raises UnreadableError at a problem behind which nothing can be read, and
    YAMLError where the text is no YAML."""
    parser = CParser(reading.text)
    while (event := parser.get_event()) is not None:
        if isinstance(event, DocumentStartEvent):
            _check_directives(reading, event)
            builder = _Builder(reading, parser.get_event)
            first = parser.get_event()
            root = builder.node(first)
            builder.anchors.finish(root)
            if isinstance(root, Map):
                yield Document(reading.file, root, reading.line_of(root.start))
            elif root is not None:
                at = first.start_mark.index
                reading.report(
                    at, "yaml.root", "the document is not a map", "begin with a field of a fleet and a colon"
                )


def _check_directives(reading: Reading, event: DocumentStartEvent) -> None:
    at = event.start_mark.index
    if any(line.rstrip() != "%YAML 1.2" for line in _DIRECTIVE.findall(reading.text[at : event.end_mark.index])):
        raise reading.failure(at, "yaml.directive", "no directive but %YAML 1.2 is read", "remove the line")


class _Builder:
    """Builds the values of one document from its events."""

    def __init__(self, reading: Reading, get: Any) -> None:
        self.r, self.get = reading, get
        self.anchors = Anchors(reading)

    def node(self, event: Event) -> Any:
        """The value that begins with `event`."""
        kind = type(event)
        if kind is ScalarEvent and event.anchor is None:
            return self._scalar(event)
        if kind is AliasEvent:
            return self.anchors.use(event.anchor, event.start_mark.index)
        if event.tag is not None:
            self._refuse_tag(event)
        anchor = event.anchor
        if anchor is not None:
            self.anchors.begin(anchor)
        value = self._collection(event) if kind is not ScalarEvent else self._scalar(event)
        if anchor is not None:
            self.anchors.define(anchor, value)
        return value

    def _collection(self, event: Event) -> Map | Seq:
        if type(event) is MappingStartEvent:
            return self._map(event)
        return self._seq(event)

    def _map(self, event: MappingStartEvent) -> Map:
        out = self.r.open_map(event.start_mark.index)
        get, trail, at = self.get, self.r.trail, out.at
        while type(key_event := get()) is not MappingEndEvent:
            key = self._key(key_event)
            trail[-1] = key
            value_event = get()
            value = self._scalar(value_event) if _is_simple(value_event) else self.node(value_event)
            if key is None:
                continue
            place = key_event.start_mark.index
            if key == _MERGE and _is_plain(key_event):
                self.anchors.merge(out, value, place)
            elif key in out:
                self._twice(out, key, place)
            else:
                out[key] = value
                at += (place, value_event.start_mark.index)
        trail.pop()
        return out

    def _seq(self, event: SequenceStartEvent) -> Seq:
        out = self.r.open_seq(event.start_mark.index)
        trail, get = self.r.trail, self.get
        while type(item := get()) is not SequenceEndEvent:
            trail[-1] = len(out)
            out.append(self._scalar(item) if _is_simple(item) else self.node(item))
            out.at.append(item.start_mark.index)
        trail.pop()
        return out

    def _scalar(self, event: ScalarEvent) -> Any:
        """What a scalar means; a refused one is reported and reads as null."""
        if event.tag is not None:
            self._refuse_tag(event)
        text: str = event.value
        if not _is_plain(event):
            if event.style == '"' and CONTROL.search(text):
                message = "a control character, written as an escape"
                self.r.report(event.start_mark.index, "yaml.control", message, "remove it")
            return text
        try:
            return self.r.scalars[text]
        except ScalarError as error:
            self.r.report(event.start_mark.index, "yaml.number", error.message, error.hint)
            return None

    def _key(self, event: Event) -> str | None:
        """The key that begins with `event`, or None after a report when it is not a string."""
        if type(event) is ScalarEvent and event.anchor is None and _is_plain(event):
            text: str = event.value
            if text in self.r.known:
                return text
            key = self._plain_key(event)
            if key is not None:
                self.r.known[key] = key
            return key
        value = self.node(event)
        if isinstance(value, str):
            return value
        message, hint = "a key must be a string", "quote it, or quote the value that begins here"
        self.r.report(event.start_mark.index, "yaml.key", message, hint)
        return None

    def _plain_key(self, event: ScalarEvent) -> str | None:
        text: str = event.value
        try:
            value = self.r.scalars[text]
        except ScalarError:
            value = None
        if isinstance(value, str):
            return value
        message = f"the key {clip(text)} is not a string"
        self.r.report(event.start_mark.index, "yaml.key", message, f'quote it: "{clip(text)}"')
        return None

    def _twice(self, out: Map, key: str, place: int) -> None:
        first = self.r.line_of(out.at[2 * list(out).index(key)])
        message = f'the key "{clip(key)}" stands twice in one map: first on line {first}'
        self.r.report(place, "yaml.duplicateKey", message, "keep one of them")

    def _refuse_tag(self, event: Event) -> None:
        message = f"tags are not read, this is {clip(event.tag)}"
        self.r.report(event.start_mark.index, "yaml.tag", message, "remove it; quote a value that is to be a string")


def _is_simple(event: Event) -> bool:
    return type(event) is ScalarEvent and event.anchor is None


def _is_plain(event: ScalarEvent) -> bool:
    return event.style is None or event.style == ""
