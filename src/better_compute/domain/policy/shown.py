"""How a problem shows a value that someone else wrote: short, on one line, and without secrets."""

from __future__ import annotations

import json
from typing import Any

from better_compute.domain.policy.secrets import mask

_LONGEST = 60


def shown(value: Any, name: str = "") -> str:
    """The value, held by the field `name`, as ASCII JSON of at most 60 characters."""
    text = json.dumps(mask(value, name), separators=(",", ":"), default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
