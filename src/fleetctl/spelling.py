"""The one spelling of what is kept as JSON, so that a file that was altered shows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

FORMAT_VERSION: Final = 1
"""Of reports, plan files among them, and of what their digests are made over."""

_NOT_ASCII = re.compile("[^\n -~]")


def canonical_text(value: Any) -> str:
    """JSON in ASCII, keys sorted, two blanks a level, a final newline."""
    import msgspec  # not at the top: most results are not JSON

    return in_ascii(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()) + "\n"


def in_ascii(text: str) -> str:
    """JSON with every character that is not of ASCII as its escape."""
    return _NOT_ASCII.sub(_escape, text)


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value that digests are made over: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def sha256(value: Any) -> str:
    """The digest of a JSON value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def checksum(document: Mapping[str, Any]) -> str:
    """SHA-256 of a plan file without its own `checksum`."""
    return sha256({name: value for name, value in document.items() if name != "checksum"})


def _escape(match: re.Match[str]) -> str:
    """JSON's escape of one character, in two halves beyond the first plane."""
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
