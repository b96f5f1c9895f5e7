"""What no output may show of a URL: in `https://user:password@host/` its user part."""

from __future__ import annotations

import re
from collections.abc import Iterator

SENSITIVE = "(sensitive)"
# What stands between // and @. A password with an unescaped slash counts too: a colon that no port follows gives it
# away. No try is long and none of the first kind passes a slash, so that hostile text costs linear time.
_ITSELF = r"(?:[^/?#\s]*@|[^/?#\s@:]{1,256}:(?![0-9]*(?:[/?#\s]|\Z))[^\s@]{0,256}@)"
_USER_PART = re.compile(r"((?:(?<=:)|(?<!\S))//)" + _ITSELF)
_IN_PATH = re.compile(r"((?<=[A-Za-z0-9+.-]{2}:)/)(?!/)" + _ITSELF)
# What a slip made of such a URL: blanks or ends of lines in its user part, slashes that lean back, too many or one. The
# colon of a password gives it away; a port, mailto: and an address in brackets are none. No try passes what begins
# another one, so that these too cost linear time.
_NAME = r"\s{0,8}(?!\[[0-9A-Fa-f:.]*\])(?:[^/?#\n@:\\]|\\(?![/\\])){0,256}:(?<!mailto:)"
_NO_PORT = r"""(?![0-9]*(?:[/?#\s\\]|\Z)|[0-9]+[.,;:!?)\]}'"]+(?:\s|\Z))"""
_SAME_LINE = r"(?:[^/\n\\]|\\(?![/\\]))*@"
_NEXT_LINES = r"(?:[^/@\n\\]|\\(?![/\\]))*(?:\n(?:[^/@\n\\]|\\(?![/\\]))*){1,3}@"
_AFTER_BLANK = r"[^/?#\s@:\\]{0,256}:\s{1,8}[^\s@/]{0,256}@"
_LEANING = r"(?:[^/?#\s\\]|\\(?![/\\]))*@"
_SLIP = re.compile(
    r"((?<=[A-Za-z0-9+.-]{2}:)(?:[/\\]{2,}+|/))"
    rf"(?:{_NAME}{_NO_PORT}(?:{_SAME_LINE}|{_NEXT_LINES})|{_AFTER_BLANK}|(?<=\\){_LEANING})"
)
# A URL that is written as the parameter of another one is: `https%3A%2F%2Fuser%3Apassword%40host`, once or twice over.
_ENCODED = re.compile(
    r"((?::|%(?:25)*+3A)(?:[/\\]|%(?:25)*+(?:2F|5C)){2,}+)"
    r"(?:(?!%(?:25)*+(?:2F|5C)|\\\\|&\w+=)[^/?#\s])*(?:@|%(?:25)*+40)",
    re.IGNORECASE,
)


def has_userinfo(value: str) -> bool:
    """Whether a text holds a URL with a user part, such as `https://user:password@host/`, also a malformed one."""
    return any(pattern.search(value) for pattern in _patterns(value))


def mask_text(value: str) -> str:
    """The text with the user part of each URL in it replaced: `https://(sensitive)@host/`."""
    for pattern in _patterns(value):
        value = pattern.sub(rf"\1{SENSITIVE}@", value)
    return value


def _patterns(value: str) -> Iterator[re.Pattern[str]]:
    """Those that may find something: most texts are spared the search."""
    if "@" in value:
        yield from (_SLIP, _USER_PART)
    if "%" in value:
        yield _ENCODED


def mask_message(message: str) -> str:
    """What is said to people, as they may read it: the user part of each URL replaced, and of what a path made of one,
    where two slashes are one: `https:/(sensitive)@host`."""
    masked = mask_text(message)
    return _IN_PATH.sub(rf"\1{SENSITIVE}@", masked) if "@" in masked else masked


def mask_cut(text: str, most: int) -> str:
    """The first characters of what `mask_message` makes: a part of a URL no longer shows that it is one."""
    return mask_message(text)[:most]


def mask_server(server: str) -> str:
    """What should be the URL of a server, as it may be shown: nothing of what stands before its last `@`, also where no
    scheme begins it."""
    user, at, place = server.rpartition("@")
    scheme, separator, _ = user.rpartition("://")
    return f"{scheme}{separator}{SENSITIVE}@{place}" if at else server


def mask_database(database: str) -> str:
    """A database as it may be shown: the path of an SQLite file as it is; of a URL neither what stands before its last
    `@` (a password may hold any character, where its writer escaped none) nor its parameters, of which one may be a
    password."""
    scheme, separator, rest = database.partition("://")
    if not separator or scheme == "sqlite":
        return database
    user, at, place = rest.rpartition("@")
    if "?" in user:
        return f"{scheme}://{SENSITIVE}"
    place, question, _ = place.partition("?")
    return f"{scheme}://" + (f"{SENSITIVE}@" if at else "") + place + (f"?{SENSITIVE}" if question else "")
