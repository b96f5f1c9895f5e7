"""Which name is meant by what people give: a name, or a message as it was printed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from better_compute.domain.ids import is_key
from better_compute.domain.problems import ask, did_you_mean
from fleetctl.catalogue import CODES, REPORTED, rules

_IN_BRACKETS = re.compile(r".*\[([A-Za-z0-9._:-]+)\]", re.DOTALL)
_CODE = re.compile(r"([A-Z][A-Z_]+)(?::.*)?", re.DOTALL)
_INTERRUPTED = re.compile(r"interrupted( by SIG[A-Z]+.*)?", re.DOTALL | re.IGNORECASE)
_LIKE_A_CODE = re.compile("[A-Z]+(_[A-Z]+)+")


def told(what: str) -> str:
    """The name in what was printed: `fleet.yaml:8:5: message [rule]`, or `CODE: message`; else all of it. A guard may
    go without its family, as in --allow."""
    text = what.strip()
    if found := _IN_BRACKETS.fullmatch(text):
        text = found[1]
    elif _INTERRUPTED.fullmatch(text):
        text = "interrupted"
    elif (code := _CODE.fullmatch(text)) and code[1] in CODES:
        text = code[1]
    return guard if (guard := f"guard.{text}") in rules() else text


def may_be_pool(name: str) -> bool:
    """Whether it is a key, and not rather the name of a rule or a code with a slip in it."""
    families = {name.partition(".")[0] for name in (*rules(), *(name for name in REPORTED if "." in name))}
    family, dot, _ = name.partition(".")
    return is_key(name) and not (dot and family in families) and not _LIKE_A_CODE.fullmatch(name)


def near(name: str, keys: Iterable[str]) -> str:
    """What may be meant by a name that is none: a rule whose last part it is, else what is spelled most like it."""
    rule = next((rule for rule in rules() if rule.rpartition(".")[2].lower() == name.lower()), "")
    return ask(rule) if rule else did_you_mean(name, (*keys, *rules(), *REPORTED, *CODES))
