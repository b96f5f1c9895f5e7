"""The one spelling of what is kept as JSON, so that a file that was altered shows."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from better_compute.domain.escape import LOG_COMMAND

FORMAT_VERSION: Final = 1
"""Of reports, plan files among them, and of what their digests are made over."""

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_NOT_ASCII = re.compile(rf"[^\n -~]|{LOG_COMMAND.pattern}")


def canonical_text(value: Any) -> str:
    """JSON in ASCII, keys sorted, two blanks a level, a final newline."""
    import msgspec  # not at the top: most results are not JSON

    return in_ascii(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()) + "\n"


def in_ascii(text: str) -> str:
    """JSON with every character that is not of ASCII as its escape, and nothing that is a command to a build's log."""
    return _NOT_ASCII.sub(_escape, text)


def schema_of(form: type) -> dict[str, Any]:
    """JSON Schema 2020-12 of what is kept in such a form; nothing may stand in it that the schema does not name."""
    import msgspec  # as above

    made = msgspec.json.schema(form)
    for definition in made["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
        if "description" in definition:
            definition["description"] = " ".join(definition["description"].split())
    return made


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value that digests are made over: sorted keys, no spaces, UTF-8."""
    return _CANONICAL.encode(value).encode()


def sha256(value: Any) -> str:
    """The digest of a JSON value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def checksum(document: Mapping[str, Any]) -> str:
    """SHA-256 of a report, as its file has it, without its own `checksum`."""
    digest = hashlib.sha256()
    for piece in _pieces(document, ("checksum",), canonical_json):
        digest.update(piece)
    return digest.hexdigest()


def seal(document: Mapping[str, Any], key: bytes) -> str:
    """HMAC of a report without `seal` and `checksum`: whoever has not the key can make no other file of it."""
    import msgspec  # as above

    code = hmac.new(key, b"seal", hashlib.sha256)
    for piece in _pieces(document, ("seal", "checksum"), msgspec.json.Encoder(order="sorted").encode):
        code.update(piece)
    return code.hexdigest()


def _pieces(document: Mapping[str, Any], left_out: Collection[str], spell: Callable[[Any], bytes]) -> Iterator[bytes]:
    """The one spelling of a report piece by piece: of its lists, which may be long, no more than an item is held."""
    yield b"{"
    for number, name in enumerate(sorted(document.keys() - left_out)):
        value = document[name]
        yield (b"," if number else b"") + spell(name) + b":"
        if isinstance(value, list):
            yield b"["
            yield from ((b"," if place else b"") + spell(item) for place, item in enumerate(value))
            yield b"]"
        else:
            yield spell(value)
    yield b"}"


def _escape(match: re.Match[str]) -> str:
    """JSON's escape of one character, in two halves beyond the first plane."""
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
