"""From bytes to text: UTF-8 without control characters, line ends as line feeds."""

from __future__ import annotations

import re

MAX_BYTES = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_PRINTABLE_ASCII = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")

_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no value may hold, however it was written: control characters other than tab and line ends, surrogates."""


class TextError(Exception):
    """Bytes that are no text of a fleet file, and where (line and column from 1)."""

    def __init__(self, rule: str, message: str, hint: str, before: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.hint = rule, message, hint
        self.line, self.column = before.count("\n") + 1, len(before) - before.rfind("\n")


def to_text(data: bytes) -> str:
    """The text of a file: a byte order mark at its start is dropped, CRLF and CR become LF. Raises TextError."""
    if len(data) > MAX_BYTES:
        raise too_large(len(data))
    if data.startswith(_OTHER_BOMS) or b"\0" in data[:4]:
        raise TextError("yaml.encoding", "the file is not UTF-8 (it looks like UTF-16 or UTF-32)", "save it as UTF-8")
    data = data.removeprefix(_BOM)
    # Most files are ASCII: this is the cheapest way to know, and it leaves nothing to search.
    if not data.translate(None, _PRINTABLE_ASCII):
        return _line_feeds(data.decode("ascii"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _line_feeds(data[: error.start].decode("utf-8"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise TextError("yaml.encoding", message, "save the file as UTF-8", before) from None
    if found := _REFUSED.search(text):
        raise _refused_character(found[0], _line_feeds(text[: found.start()]))
    return _line_feeds(text)


def paired(text: str) -> str:
    """JSON with each character that it writes as two escapes (`\\ud83d\\ude00`) written as one, as YAML has it."""
    return _PAIR.sub(_one, text) if text.lstrip().startswith("{") else text


def _one(pair: re.Match[str]) -> str:
    return f"\\U{0x10000 + ((int(pair[1], 16) & 0x3FF) << 10) + (int(pair[2], 16) & 0x3FF):08x}"


def too_large(size: int) -> TextError:
    """The answer to a file of `size` bytes."""
    message = f"the file has {size} bytes, the most is {MAX_BYTES} (16 MiB)"
    return TextError("files.size", message, "split it into several files")


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refused_character(character: str, before: str) -> TextError:
    if character == "\ufeff":
        message = "a second byte order mark: only the first character of a file may be one"
        return TextError("yaml.encoding", message, "remove it; two files were perhaps joined here", before)
    message = f"the character U+{ord(character):04X} may not stand in a fleet file"
    return TextError("yaml.control", message, "remove it; only tabs and line ends are allowed as controls", before)
