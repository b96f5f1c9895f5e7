"""Values that no output may show: those under sensitive names, and the user part of URLs."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

from better_compute.domain.policy.paths import below, element

SENSITIVE = "(sensitive)"
# A name is sensitive when one of its words ends so; `accesstoken` is written as one word often enough.
_ENDINGS = ("password", "passwd", "secret", "token", "apikey", "privatekey", "credential")
_HINTS = ("passw", "secret", "token", "key", "credential")
_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ATTESTOR = "join-token"
_LONGEST_KEPT = 64
# What stands between // and @. A password with an unescaped slash counts too: a colon that no port follows gives it
# away. No try is long and none of the first kind passes a slash, so that hostile text costs linear time.
_USER_PART = re.compile(
    r"((?:(?<=:)|(?<!\S))//)(?:[^/?#\s]*@|[^/?#\s@:]{1,256}:(?![0-9]*(?:[/?#\s]|\Z))[^\s@]{0,256}@)"
)
# Deeper than any policy may be: what cannot be looked through is not shown.
_DEEPEST = 64


def is_sensitive_name(name: str) -> bool:
    """Whether a field of this name holds a secret.

    True where one of its words is password, passwd, secret, token, apiKey, privateKey or credential, in any case,
    alone or in the plural. `idempotencyKey`, `key` and the attestor `join-token` are not.
    """
    if not _has_hint(name):
        return False
    return _is_sensitive(name) if len(name) <= _LONGEST_KEPT else _is_sensitive.__wrapped__(name)


@lru_cache(maxsize=1024)
def _is_sensitive(name: str) -> bool:
    if name == _ATTESTOR:
        return False
    words = [word.lower().removesuffix("s") for word in _WORD.findall(name)]
    pairs = [left + right for left, right in pairwise(words) if right == "key"]
    return any(word.endswith(_ENDINGS) for word in (*words, *pairs))


def _has_hint(text: str) -> bool:
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)


def may_be_sensitive(compact: str) -> bool:
    """False where a value with this compact JSON holds nothing sensitive: spares most values the walk."""
    return "@" in compact or _has_hint(compact)


def has_userinfo(value: str) -> bool:
    """Whether a text holds a URL with a user part, such as `https://user:password@host/`."""
    return "@" in value and _USER_PART.search(value) is not None


def mask_text(value: str) -> str:
    """The text with the user part of each URL in it replaced: `https://(sensitive)@host/`."""
    return _USER_PART.sub(rf"\1{SENSITIVE}@", value) if "@" in value else value


def mask(value: Any, name: str = "") -> Any:
    """A deep copy of a JSON value in which nothing sensitive is left; `name` is the field that holds it.

    All that stands below a sensitive name is one `(sensitive)`, whatever it was.
    """
    return SENSITIVE if is_sensitive_name(name) else _mask(value, 1)


def _mask(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return mask_text(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth > _DEEPEST:
        return SENSITIVE
    if isinstance(value, dict):
        return {
            mask_text(str(key)): SENSITIVE if is_sensitive_name(str(key)) else _mask(inner, depth + 1)
            for key, inner in value.items()
        }
    return [_mask(inner, depth + 1) for inner in value]


def sensitive_paths(value: Any, base: str = "") -> list[str]:
    """The places, below `base`, that `mask` would change, in the order of the value."""
    found: list[str] = []
    _look(value, base, 1, found)
    return found


def _look(value: Any, path: str, depth: int, found: list[str]) -> None:
    if isinstance(value, str):
        if has_userinfo(value):
            found.append(path)
    elif not isinstance(value, dict | list | tuple):
        return
    elif depth > _DEEPEST:
        found.append(path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            name = str(key)
            if is_sensitive_name(name) or has_userinfo(name):
                found.append(below(path, mask_text(name)))
            else:
                _look(inner, below(path, name), depth + 1, found)
    else:
        for index, inner in enumerate(value):
            _look(inner, element(path, index), depth + 1, found)
