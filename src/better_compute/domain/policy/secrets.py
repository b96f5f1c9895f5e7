"""Values that no output may show: those under sensitive names, and the user part of URLs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from better_compute.domain.policy.paths import below, element
from better_compute.domain.policy.urls import SENSITIVE, has_userinfo, mask_text

__all__ = ["SENSITIVE", "conceal", "has_userinfo", "is_sensitive_name", "mask", "mask_text", "sensitive_paths"]

# A name is sensitive when one of its words ends so; `accesstoken` is written as one word often enough.
_ENDINGS = ("password", "passwd", "secret", "token", "apikey", "privatekey", "credential")
_HINTS = ("passw", "secret", "token", "key", "credential")
_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ATTESTOR = "join-token"
_LONGEST_KEPT = 64
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
    """False where a value with this JSON holds nothing sensitive: spares most values the walk."""
    return "@" in compact or "%" in compact or _has_hint(compact)


def _is_clean(value: Any) -> bool:
    try:
        return not may_be_sensitive(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return False


def mask(value: Any, name: str = "") -> Any:
    """A JSON value in which nothing sensitive is left; `name` is the field that holds it.

    What stands below a sensitive name is one `(sensitive)`, whatever it was; of a URL only the user part is.
    """
    if is_sensitive_name(name):
        return SENSITIVE
    return value if _is_clean(value) else _conceal(value, lambda _: SENSITIVE, mask_text, 1)


def conceal(value: Any, replace: Callable[[Any], Any]) -> Any:
    """A JSON value with `replace(part)` for each sensitive part; a text with a user part is one part.

    Two values are equal exactly when their concealed forms are, as far as `replace` keeps them apart.
    """
    if _is_clean(value):
        return value
    return _conceal(value, replace, lambda text: replace(text) if has_userinfo(text) else text, 1)


def _conceal(value: Any, replace: Callable[[Any], Any], text: Callable[[str], Any], depth: int) -> Any:
    if isinstance(value, str):
        return text(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if _is_whole_secret(value, depth):
        return replace(value)
    if isinstance(value, Mapping):
        return {
            key: replace(inner) if is_sensitive_name(str(key)) else _conceal(inner, replace, text, depth + 1)
            for key, inner in value.items()
        }
    return [_conceal(inner, replace, text, depth + 1) for inner in value]


def _is_whole_secret(value: Any, depth: int) -> bool:
    """Too deep to look through, or an object with a secret in one of its names, which no output could show."""
    return depth > _DEEPEST or (isinstance(value, Mapping) and any(has_userinfo(str(key)) for key in value))


def sensitive_paths(value: Any, base: str = "") -> list[str]:
    """The places, below `base`, that `mask` would change, in the order of the value."""
    found: list[str] = []
    _look(value, base, 1, found)
    return found


def _look(value: Any, path: str, depth: int, found: list[str]) -> None:
    if isinstance(value, str):
        if has_userinfo(value):
            found.append(path)
    elif not isinstance(value, Mapping | list | tuple):
        return
    elif _is_whole_secret(value, depth):
        found.append(path)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            place = below(path, str(key))
            if is_sensitive_name(str(key)):
                found.append(place)
            else:
                _look(inner, place, depth + 1, found)
    else:
        for index, inner in enumerate(value):
            _look(inner, element(path, index), depth + 1, found)
