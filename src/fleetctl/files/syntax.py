"""What the parser of YAML says of text that is none, in words for people who write fleet files."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from yaml.cyaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import ScalarEvent

from fleetctl.files.reading import Reading
from fleetctl.files.scalars import clip

_QUOTE = "quote the whole value"
_INDENT = "give the keys of one map, or the dashes of one list, the same indentation"
_ESCAPE = "in double quotes a backslash begins an escape: write two, or use single quotes"

_MEANT: dict[str, tuple[str, str]] = {
    "mapping values are not allowed in this context": ("a second key and colon where a value stands", _QUOTE),
    "block sequence entries are not allowed in this context": ("a list cannot begin here", "begin it on the next line"),
    "block mapping entries are not allowed in this context": ("a map cannot begin here", "begin it on the next line"),
    "mapping keys are not allowed in this context": ("a key cannot stand here", _QUOTE),
    "did not find expected '-' indicator": ("this line is neither an item of the list above nor outside it", _INDENT),
    "did not find expected key": ("this line is neither a key of the map above nor outside it", _INDENT),
    "did not find expected <document start>": ("this line belongs to nothing above it", _INDENT),
    "could not find expected ':'": ("a key without a colon", "write `key: value`"),
    "did not find expected ',' or ']'": (
        "a list in brackets goes on here without a comma or ]",
        "close it, or " + _QUOTE,
    ),
    "did not find expected ',' or '}'": ("a map in braces goes on here without , or }", "close it, or " + _QUOTE),
    "did not find expected node content": ("a value is missing here", "write it, or remove what expects it"),
    "found unexpected end of stream": ("a quote is not closed", "close it with the same quote"),
    "found unexpected document indicator": ("a quote is not closed before the document ends", "close it"),
    "found unknown escape character": ("an escape that YAML does not know", _ESCAPE),
    "did not find expected hexdecimal number": ("an escape without its hexadecimal digits", _ESCAPE),
    "found invalid Unicode character escape code": ("an escape of what is no character", _ESCAPE),
    "did not find expected alphabetic or numeric character": ("an anchor or alias without a name", _QUOTE),
    "did not find expected comment or line break": ("text behind | or >", "begin it on the next line"),
    "found incompatible YAML document": ("no directive but %YAML 1.2 is read", "remove the line"),
    "found a tab character that violates indentation": ("a tab cannot indent", "use spaces"),
    "found a tab character where an indentation space is expected": ("a tab cannot indent", "use spaces"),
}
_RULES = {
    "found incompatible YAML document": "yaml.directive",
    "found a tab character that violates indentation": "yaml.tab",
    "found a tab character where an indentation space is expected": "yaml.tab",
}
_CONTEXTS = {
    "while scanning an anchor": "yaml.alias",
    "while scanning an alias": "yaml.alias",
    "while scanning a directive": "yaml.directive",
    "while scanning a %YAML directive": "yaml.directive",
    "while scanning a %TAG directive": "yaml.directive",
    "while scanning a tag": "yaml.tag",
    "while parsing a tag": "yaml.tag",
}
_COMMENT = re.compile(r"(?:^|[ \t])#")


class Refusal(NamedTuple):
    """A problem of the text at an offset."""

    offset: int
    rule: str
    message: str
    hint: str


def refusal(reading: Reading, error: YAMLError) -> Refusal:
    """What the parser's error means, where it stands."""
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    said = (error.problem if isinstance(error, MarkedYAMLError) else None) or str(error)
    offset = min(mark.index if mark else 0, max(len(reading.text) - 1, 0))
    if said == "found character that cannot start any token":
        return _bad_start(reading.text, offset)
    message, hint = _MEANT.get(said, (f"this is not YAML: {clip(said)}", "check the lines around it"))
    begun = error.context_mark if isinstance(error, MarkedYAMLError) else None
    if begun is not None and mark is not None and begun.line < mark.line:
        message += f" (it began on line {begun.line + 1})"
    where = (error.context if isinstance(error, MarkedYAMLError) else None) or ""
    return Refusal(offset, _RULES.get(said) or _CONTEXTS.get(where, "yaml.syntax"), message, hint)


def _bad_start(text: str, offset: int) -> Refusal:
    character = text[offset : offset + 1]
    if character == "\t":
        return _tab(offset)
    return Refusal(offset, "yaml.syntax", f"a value cannot begin with {character}", "quote it")


def misplaced_tab(text: str) -> Refusal | None:
    """The first tab that indents or separates: the parser takes some of them for spaces. Inside a value or a comment a
    tab is text like any other."""
    if "\t" not in text:
        return None
    starts, ends = [], []
    parser = CParser(text)
    while (event := parser.get_event()) is not None:
        if isinstance(event, ScalarEvent):
            starts.append(event.start_mark.index)
            ends.append(event.end_mark.index)
    for tab in re.finditer("\t", text):
        offset = tab.start()
        before = bisect_right(starts, offset) - 1
        end = ends[before] if before >= 0 else 0
        line = text.rfind("\n", 0, offset) + 1
        if offset >= end and not _COMMENT.search(text[max(end, line) : offset]):
            return _tab(offset)
    return None


def _tab(offset: int) -> Refusal:
    return Refusal(offset, "yaml.tab", "a tab outside a value: it cannot indent or separate", "use spaces")
