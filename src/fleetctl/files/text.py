"""From bytes to text: UTF-8 without control characters, line ends as line feeds."""

from __future__ import annotations

import json
import re

from better_compute.domain import escape
from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.errors import FilesError

MAX_BYTES = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_PRINTABLE_ASCII = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
_REFUSED = re.compile(f"[{escape.CONTROL}\u2028\u2029\ufeff\ufffe\uffff]")
_IN_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|(\t)')
_NO_SPACE = re.compile(
    r"^(?:[ ]*(?:- +)*(?:[\w.\"'-]+:|-)?|[^\n]*[{,] *[\w.-]+:)([\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000])",
    re.MULTILINE,
)
_PAIR = re.compile(r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\.")

CONTROL = re.compile(f"[{escape.CONTROL}]")
"""What no value may hold, however it was written: control characters other than tab and line ends."""


def to_text(data: bytes, file: str) -> str:
    """The text of a file: a byte order mark at its start is dropped, CRLF and CR become LF. Raises FilesError."""
    if len(data) > MAX_BYTES:
        raise _refused(file, *too_large(len(data)))
    if data.startswith(_OTHER_BOMS) or b"\0" in data[:4]:
        message = "the file is not UTF-8 (it looks like UTF-16 or UTF-32)"
        raise _refused(file, "yaml.encoding", message, "save it as UTF-8")
    data = data.removeprefix(_BOM)
    # Most files are ASCII: this is the cheapest way to know, and it leaves nothing to search.
    if not data.translate(None, _PRINTABLE_ASCII):
        return _line_feeds(data.decode("ascii"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _line_feeds(data[: error.start].decode("utf-8"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise _refused(file, "yaml.encoding", message, "save the file as UTF-8", before) from None
    if found := _REFUSED.search(text):
        raise _refused(file, *_misplaced(found[0]), _line_feeds(text[: found.start()]))
    return _line_feeds(text)


def as_yaml(text: str) -> str:
    """JSON as YAML reads it, other text as it is: spaces for tabs between its values, and for each character that it
    writes as two escapes (`\\ud83d\\ude00`), since YAML knows no such pairs, that character. Columns behind such a
    character are those of the text returned."""
    if "\t" not in text and "\\ud" not in text and "\\uD" not in text:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    text = _IN_JSON.sub(lambda found: " " if found[1] else found[0], text)
    return _PAIR.sub(lambda found: json.loads(f'"{found[0]}"') if found[1] else found[0], text)


def no_space(text: str, first: int, last: int) -> tuple[int, str, str, str] | None:
    """What is wrong on the lines of these two offsets, or between them, where a character that looks like a space
    stands in the place of one: offset, rule, message and hint."""
    end = text.find("\n", last)
    found = _NO_SPACE.search(text, text.rfind("\n", 0, first) + 1, end if end >= 0 else len(text))
    if found is None:
        return None
    message = f"U+{ord(found[1]):04X} stands here, which looks like a space and is none"
    return found.start(1), "yaml.syntax", message, "write a space: text that was copied from elsewhere often has others"


def too_large(size: int) -> tuple[str, str, str]:
    """Rule, message and hint for a file of `size` bytes."""
    message = f"the file has {size} bytes, the most is {MAX_BYTES} (16 MiB)"
    return "files.size", message, "split it into several files"


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refused(file: str, rule: str, message: str, hint: str, before: str = "") -> FilesError:
    source = Source(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
    return FilesError([Problem(INVALID_INPUT, rule, message, hint=hint, source=source)])


def _misplaced(character: str) -> tuple[str, str, str]:
    if character == "\ufeff":
        message = "a second byte order mark: only the first character of a file may be one"
        return "yaml.encoding", message, "remove it; two files were perhaps joined here"
    hint = "remove it; only tabs and line ends are allowed as controls"
    if character in "\u2028\u2029":
        hint = f'write it as "\\u{ord(character):04x}": some readers take it for a line end'
    return "yaml.control", f"the character U+{ord(character):04X} may not stand in a fleet file", hint
