"""Documents from libyaml's events: the library decides what YAML is, this decides what it means here.

libyaml reads YAML 1.1 and most of 1.2. Where it is lax, or takes what people could write in another sense than YAML
1.2, that is refused: by `text` U+2028, by `syntax` tabs, comments that touch a value and `[?a]`, here `*a:` and lines
of a quoted value that are not indented. What it reads though YAML 1.2 refuses it means what it seems to: such lines in
brackets or in a list. What it refuses though YAML 1.2 reads it: in brackets, a value that begins with `:` or a key over
two lines; a document after `...` without `---`; the escapes of a surrogate pair (in JSON, `text` makes them one).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from yaml.cyaml import CBaseLoader
from yaml.events import DocumentStartEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from fleetctl.files.anchors import OPEN, Anchors
from fleetctl.files.document import Document, Map, Seq
from fleetctl.files.reading import Reading
from fleetctl.files.scalars import Scalar, ScalarError
from fleetctl.files.text import CONTROL, no_space

Event = Any
"""An event of the parser. All that are asked have marks, which its stubs do not know."""

_TAG = re.compile(r"(?:&\S+\s+)?(![^\s,\[\]{}]*)")
_NAME_GOES_ON = re.compile(r"([&*][\w-]+)([:?%@`])")
_NEXT_ENTRY = re.compile(r"\s*[,}]")


def documents(reading: Reading) -> Iterator[Document]:
    """Each document that is not empty. Raises UnreadableError at a problem behind which nothing can be read, and
    YAMLError where the text is no YAML."""
    get: Callable[[], Event] = CBaseLoader(reading.text).get_event
    get()  # the start of the stream
    event = get()
    while type(event) is DocumentStartEvent:
        if event.tags or event.version not in (None, (1, 2)):
            reading.report(_at(event), "yaml.directive", "no directive but %YAML 1.2 is read", "remove the line")
        start, builder = _at(event), _Builder(reading, get)
        first = get()
        root = builder.node(first)
        builder.anchors.finish(root)
        get()  # the end of the document
        event = get()  # before the root is judged: it may be what it is because of a fault of syntax behind it
        if isinstance(root, Map):
            yield Document(reading.file, root, first.start_mark.line + 1)
        elif root is not None:
            wrong = (_at(first), "yaml.root", "the document is not a map", "begin with a field of a fleet and a colon")
            reading.report(*(no_space(reading.text, _at(first), _at(first)) or wrong))
        else:
            reading.empty = reading.empty or reading.lines.place(start)[0]


def _at(event: Event) -> int:
    start: int = event.start_mark.index
    return start


class _Builder:
    """Builds the values of one document from its events."""

    def __init__(self, reading: Reading, get: Callable[[], Event]) -> None:
        self._r, self._get, self._scalars = reading, get, reading.scalars
        self.anchors = Anchors(reading)

    def node(self, event: Event) -> Any:
        """The value that begins with `event`; what is refused is reported, and reads as null when it is a scalar."""
        if event.anchor is not None:
            return self._named(event)
        if event.tag is not None:
            self._refuse_tag(event)
        kind = type(event)
        if kind is ScalarEvent:
            return self._quoted(event) if event.style else self._plain(event)
        return self._map(event) if kind is MappingStartEvent else self._seq(event)

    def _named(self, event: Event) -> Any:
        """The value of an alias, or of a node with an anchor."""
        name, start = event.anchor, event.start_mark.index
        if found := _NAME_GOES_ON.match(self._r.text, start):
            message = f"{self._r.quote(found[1])} and {found[2]} stand without a space between them"
            self._r.report(start, "yaml.alias", message, "write one; quote the value if it is no anchor or alias")
        if self._r.text[start] == "*":
            return self.anchors.use(name, start)
        if self._r.in_secret:
            self.anchors.secret.add(name)
        event.anchor = None  # now it is a node like others
        self.anchors.values[name] = OPEN
        value = self.anchors.values[name] = self.node(event)
        return value

    def _map(self, event: Event) -> Map:
        get, scalars, trail = self._get, self._scalars, self._r.trail
        out = self._r.enter(Map(), event.start_mark.index)
        at = out.at
        # What most keys and values are is told apart here: a call for each of them is a tenth of the time.
        while type(key_event := get()) is not MappingEndEvent:
            simple = type(key_event) is ScalarEvent and not (key_event.anchor or key_event.tag)
            key: Any = scalars.get(key_event.value) if simple else None
            if type(key) is not str:
                key = self._key(key_event)
            trail[-1] = key
            value_event = get()
            if type(value_event) is not ScalarEvent:
                value = self.node(value_event)
            elif value_event.style or value_event.anchor or value_event.tag:
                if not event.flow_style:
                    self._check_indent(key_event, value_event)
                value = self.node(value_event)
            else:
                value = self._plain(value_event)
            if value is None:
                self._check_colon(key_event)
            if key is None or ((key in out or key == "<<") and self._special(out, key, key_event, value, value_event)):
                continue
            out[key] = value
            at.append(key_event.start_mark.index)
            at.append(value_event.start_mark.index)
        trail.pop()
        return out

    def _seq(self, event: Event) -> Seq:
        get, trail = self._get, self._r.trail
        out = self._r.enter(Seq(), event.start_mark.index)
        while type(item := get()) is not SequenceEndEvent:
            trail[-1] = len(out)
            out.append(self.node(item))
            out.at.append(item.start_mark.index)
        trail.pop()
        return out

    def _plain(self, event: Event) -> Scalar:
        try:
            return self._scalars[event.value]
        except ScalarError as error:
            message = f"{self._r.quote(event.value)} {error.says}"
            self._r.report(_at(event), "yaml.number", message, error.hint)
            return None

    def _quoted(self, event: Event) -> str:
        text: str = event.value
        if event.style == '"' and (found := CONTROL.search(text)):
            message = f"an escape writes the control character U+{ord(found[0]):04X}"
            self._r.report(_at(event), "yaml.control", message, "remove it")
        return text

    def _key(self, event: Event) -> str | None:
        """The key that begins with `event`, or None after a report when it is not a string."""
        self._r.trail[-1] = None  # not the key before it
        plain = type(event) is ScalarEvent and not (event.style or event.anchor or event.tag)
        try:
            key = self._scalars[event.value] if plain else self.node(event)
        except ScalarError:
            key = None
        if isinstance(key, str):
            return key
        message, hint = "a key must be a string", "quote it, or quote the value that begins here"
        if plain and event.value:
            shown = self._r.quote(event.value)
            message, hint = f"the key {shown} is not a string", f'quote it: "{shown}"'
        self._r.report(_at(event), "yaml.key", message, hint)
        return None

    def _special(self, out: Map, key: str, event: Event, value: Any, value_event: Event) -> bool:
        """Report a key that stands twice, take in what is to be merged; whether it was one of these."""
        if key in out:
            first, _ = self._r.lines.place(out.at[2 * list(out).index(key)])
            message = f'the key "{self._r.quote(key, key=True)}" stands twice in one map: first on line {first}'
            self._r.report(_at(event), "yaml.duplicateKey", message, "keep one of them")
            return True
        if type(event) is ScalarEvent and not event.style:
            self.anchors.merge(out, value, _at(value_event))
            return True
        return False

    def _check_colon(self, event: Event) -> None:
        """Report a key like that of `{gpu:32}`, which holds its value."""
        start, end = _at(event), event.end_mark.index
        if type(event) is not ScalarEvent or event.style or ":" not in event.value:
            return
        if _NEXT_ENTRY.match(self._r.text, end):
            name, _, _ = event.value.partition(":")  # what follows may be a password
            message = f"{self._r.quote(name, key=True)}: has no space after its colon"
            self._r.trail[-1] = name
            wrong = (start, "yaml.syntax", message, "write `key: value`, or quote the key")
            self._r.report(*(no_space(self._r.text, start, start) or wrong))

    def _check_indent(self, key: Event, event: Event) -> None:
        """Report a quoted value with a line that is not indented deeper than its key: that is what a forgotten quote
        looks like, and what YAML 1.2 refuses."""
        if event.style not in ("'", '"') or event.start_mark.line == event.end_mark.line:
            return
        shallow = re.compile(rf"\n {{0,{key.start_mark.column}}}[^ \n]")
        if found := shallow.search(self._r.text, _at(event), event.end_mark.index):
            line, _ = self._r.lines.place(found.end() - 1)
            message = f"this quote is not closed before line {line}, which is not indented"
            self._r.report(_at(event), "yaml.syntax", message, "close it, or indent the lines of the value")

    def _refuse_tag(self, event: Event) -> None:
        written = _TAG.match(self._r.text, event.start_mark.index)
        message = f"tags are not read, this is {self._r.quote(written[1] if written else event.tag)}"
        self._r.report(_at(event), "yaml.tag", message, "remove it; quote what is to be a string")
