"""What no output may show of a URL: in `https://user:password@host/` its user part."""

from __future__ import annotations

import re

SENSITIVE = "(sensitive)"
# What stands between // and @. A password with an unescaped slash counts too: a colon that no port follows gives it
# away. No try is long and none of the first kind passes a slash, so that hostile text costs linear time.
_ITSELF = r"(?:[^/?#\s]*@|[^/?#\s@:]{1,256}:(?![0-9]*(?:[/?#\s]|\Z))[^\s@]{0,256}@)"
_USER_PART = re.compile(r"((?:(?<=:)|(?<!\S))//)" + _ITSELF)
_IN_PATH = re.compile(r"((?<=[A-Za-z0-9+.-]{2}:)/)(?!/)" + _ITSELF)


def has_userinfo(value: str) -> bool:
    """Whether a text holds a URL with a user part, such as `https://user:password@host/`."""
    return "@" in value and _USER_PART.search(value) is not None


def mask_text(value: str) -> str:
    """The text with the user part of each URL in it replaced: `https://(sensitive)@host/`."""
    return _USER_PART.sub(rf"\1{SENSITIVE}@", value) if "@" in value else value


def mask_message(message: str) -> str:
    """What is said to people, as they may read it: the user part of each URL replaced, and of what a path made of one,
    where two slashes are one: `https:/(sensitive)@host`."""
    return _IN_PATH.sub(rf"\1{SENSITIVE}@", mask_text(message)) if "@" in message else message


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
