"""The user part of URLs: in `https://user:password@host/` what no output may show."""

from __future__ import annotations

import re

SENSITIVE = "(sensitive)"
# What stands between // and @. A password with an unescaped slash counts too: a colon that no port follows gives it
# away. No try is long and none of the first kind passes a slash, so that hostile text costs linear time.
_USER_PART = re.compile(
    r"((?:(?<=:)|(?<!\S))//)(?:[^/?#\s]*@|[^/?#\s@:]{1,256}:(?![0-9]*(?:[/?#\s]|\Z))[^\s@]{0,256}@)"
)


def has_userinfo(value: str) -> bool:
    """Whether a text holds a URL with a user part, such as `https://user:password@host/`."""
    return "@" in value and _USER_PART.search(value) is not None


def mask_text(value: str) -> str:
    """The text with the user part of each URL in it replaced: `https://(sensitive)@host/`."""
    return _USER_PART.sub(rf"\1{SENSITIVE}@", value) if "@" in value else value
