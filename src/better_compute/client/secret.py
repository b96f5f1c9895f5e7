"""The token that a client asks with, in what its server says."""

from __future__ import annotations

import re
from urllib.parse import quote

from better_compute.domain.policy.urls import mask_text

SHORTEST = 8
"""A token of fewer characters is nobody's secret, and may be a part of any word."""
_SHOWN = 2000


def clean(text: str, token: str | None) -> str:
    """A text of the server's, which may repeat whatever it was sent: without the token, without the user part of a URL,
    and not endlessly long."""
    if token is not None and len(token) >= SHORTEST:
        for spelled in (token, quote(token, safe="")):
            text = text.replace(spelled, "(token)")
    text = mask_text(text)  # what is cut in its midst is found no more
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def repeats(body: bytes, token: str | None) -> bool:
    """Whether an answer holds the token, also with characters of it as escapes of JSON."""
    if token is None or len(token) < SHORTEST:
        return False
    if token.encode() in body:
        return True
    if b"\\" not in body:
        return False
    spelled = "".join(rf"(?:\\?{re.escape(c)}|\\u00(?i:{ord(c):02x}))" for c in token)
    return re.search(spelled.encode(), body) is not None
