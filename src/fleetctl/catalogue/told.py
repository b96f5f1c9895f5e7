"""Which name is meant by what people give: a name, or a message as it was printed."""

from __future__ import annotations

import re

from better_compute.domain.ids import is_key
from fleetctl.catalogue import CODES, rules

_IN_BRACKETS = re.compile(r".*\[([A-Za-z0-9._:-]+)\]", re.DOTALL)
_CODE = re.compile(r"([A-Z][A-Z_]+)(?::.*)?", re.DOTALL)
_LIKE_A_CODE = re.compile("[A-Z]+(_[A-Z]+)+")


def told(what: str) -> str:
    """The name in what was printed: `fleet.yaml:8:5: message [rule]`, or `CODE: message`; else all of it."""
    text = what.strip()
    if found := _IN_BRACKETS.fullmatch(text):
        return found[1]
    return code[1] if (code := _CODE.fullmatch(text)) and code[1] in CODES else text


def may_be_pool(name: str) -> bool:
    """Whether it is a key, and not rather the name of a rule or a code with a slip in it."""
    families = {rule.partition(".")[0] for rule in rules()}
    family, dot, _ = name.partition(".")
    return is_key(name) and not (dot and family in families) and not _LIKE_A_CODE.fullmatch(name)
