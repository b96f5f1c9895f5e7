"""How places in a policy are written: `policy.hugepages.1Gi`, `policy.acceptance[0].kind`, `policy.labels["a.b"]`."""

from __future__ import annotations

import json
import re

from better_compute.domain.policy.urls import mask_text

_PLAIN = re.compile("[A-Za-z0-9_-]+").fullmatch


def below(path: str, key: str) -> str:
    """The place of a field; a name that is not plain is quoted as JSON, so that a place is one printable word.

    A place is shown, so a name that is a URL is written without its user part.
    """
    if _PLAIN(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{json.dumps(mask_text(key))}]"


def element(path: str, index: int) -> str:
    """The place of a list's element."""
    return f"{path}[{index}]"
