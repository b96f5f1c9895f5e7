"""What a plain scalar means, and which text may be one: the YAML 1.2 core schema, without its traps."""

from __future__ import annotations

import re
from math import isfinite

from better_compute.domain.policy.urls import mask_text

Scalar = str | int | float | bool | None

MAX_NUMBER = 64
"""The most characters a number may have."""

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_PLAIN = re.compile(
    r"[A-Za-z_/][A-Za-z0-9_/.@+-]*(?: [A-Za-z0-9_/.@+()-]+)*|[1-9][0-9]*[a-df-z][A-Za-z0-9./-]*"  # words, or `6h`
)
_ELSEWHERE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some reader takes for something else than text, in whatever case."""
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class ScalarError(ValueError):
    """A plain scalar that is refused rather than guessed at; `says` goes on after the text, which may be a secret."""

    def __init__(self, says: str, hint: str) -> None:
        super().__init__(says)
        self.says, self.hint = says, hint


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Raises ScalarError (rule `yaml.number`) for a number that is refused."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _NUMBER.fullmatch(text):
        return _number(text)
    if _OTHER_BASE.fullmatch(text):
        raise ScalarError("is not a decimal number", "write it in decimal, or quote it if it is a name")
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError("is not a finite number", "write a number, or quote it if it is a name")
    return text


def _number(text: str) -> int | float:
    if _LEADING_ZERO.match(text):
        hint = "drop the leading zeros, or quote it if it is a name"
        raise ScalarError("has a leading zero: some readers take it for octal", hint)
    if len(text) > MAX_NUMBER:
        hint = "quote it if it is a name"
        raise ScalarError(f"is a number of {len(text)} characters, the most is {MAX_NUMBER}", hint)
    if _INTEGER.fullmatch(text):
        return int(text)
    value = float(text)
    if not isfinite(value):
        raise ScalarError("is too large for a number", "write a smaller number, or quote it if it is a name")
    return value


def is_plain(text: str) -> bool:
    """Whether a text is written without quotes: wherever it stands, every reader takes it for that text then."""
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _ELSEWHERE


class Scalars(dict[str, Scalar]):
    """Values of plain scalars by how they are written. One object serves a whole fleet: fleets repeat themselves."""

    def __missing__(self, written: str) -> Scalar:
        self[written] = value = resolve(written)
        return value


def clip(text: str, limit: int = 60) -> str:
    """Text from a file for a message: at most `limit` characters of it, without the user part of a URL, which nobody
    would find in a part of it."""
    text = mask_text(text)
    return text if len(text) <= limit else f"{text[:limit]}…"
