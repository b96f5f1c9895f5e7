"""The nearest good value to one that a field does not allow."""

from __future__ import annotations

import json
import re
from typing import Any

from better_compute.domain.policy.fields import LONGEST_DURATION, SECONDS, Field
from better_compute.domain.policy.urls import has_userinfo
from better_compute.domain.problems import ask, did_you_mean

_LONGEST = 64
_FILE = re.compile("(?:.*/)?([^/]+)[.]ko(?:[.][a-z]+)?")  # of a kernel module
_LENGTHS = re.compile("(?:[0-9]{1,9}(?:S|SECS?|SECONDS?|M|MINS?|MINUTES?|H|HRS?|HOURS?|D|DAYS?))+")


def hint(value: object, field: Field) -> str:
    """What to write instead; empty where nothing is near."""
    if value is None:
        return "leave it out, or give it a value"
    match field.kind:
        case "boolean":
            return _boolean(value)
        case "integer" | "number":
            return _number(value, field)
        case "duration":
            return _duration(value)
        case "ratio" | "ratios":
            return "leave it out for 1"
        case "string":
            return _text(value, field)
        case _:
            return _structure(value, field)


def key(name: str, field: Field) -> str:
    """The key that a map allows and that `name` is nearly: in another case, or with its unit cut short (`3g.40g`)."""
    bare = name.strip().lower()
    for near in (bare, f"{bare}b", bare.replace("gib", "gb")):
        if len(near) <= _LONGEST and not has_userinfo(name) and re.fullmatch(field.keys, near):
            return ask(near)
    return ""


def turned(text: str) -> str:
    """A CPU set whose ranges run forwards, the lower id of each first."""
    parts = [sorted(part.split("-"), key=int) for part in text[:_LONGEST].split(",")]
    return f"use {','.join('-'.join(ids) for ids in parts)}" if len(text) <= _LONGEST else "write the lower id first"


def example(field: Field) -> str:
    """A value that the field allows."""
    if field.kind == "string":
        return field.example or field.values[0]
    return json.dumps(field.default if field.default is not None else field.low)


def _boolean(value: object) -> str:
    words = dict.fromkeys(("true", "on", "yes", "1"), "true") | dict.fromkeys(("false", "off", "no", "0"), "false")
    return f"use {words.get(str(value).lower(), 'true or false')}"


def _number(value: object, field: Field) -> str:
    low, high = field.low or 0, field.high
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"for example {example(field)}"
    near: int | float = max(value, low) if high is None else min(max(value, low), high)
    return f"use {int(near) if field.kind == 'integer' else near}"


def _duration(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        whole = int(value)
        return f"add the unit: {whole}s, {whole}m, {whole}h or {whole}d" if whole > 0 else "leave it out for no limit"
    bare = re.sub(r"\s|^P|T(?=[0-9])", "", str(value)[:_LONGEST].upper())  # PT6H, 6 hours, 1h30m
    if not _LENGTHS.fullmatch(bare):
        return "for example 6h"
    length = sum(int(digits) * SECONDS[unit.lower()] for digits, unit in re.findall("([0-9]+)([SMHD])", bare))
    return f"use {_spell(min(length, LONGEST_DURATION))}" if length else "leave it out for no limit"


def _spell(length: int) -> str:
    unit = next(unit for unit in ("d", "h", "m", "s") if length % SECONDS[unit] == 0)
    return f"{length // SECONDS[unit]}{unit}"


def _text(value: object, field: Field) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, str) or has_userinfo(value):
        return f"for example {example(field)}"
    if field.values:
        return _word(value[:_LONGEST].strip().lower(), field)
    bare = value[-_LONGEST:].strip()
    file = _FILE.fullmatch(bare)
    for near in (bare, bare.lower(), f"v{bare}", f"{bare}.0", file[1] if file else ""):
        if bare and near and re.fullmatch(field.pattern, near):
            return f"use {near}"
    return f"for example {example(field)}"


def _word(bare: str, field: Field) -> str:
    """`passthrough` and `iommu=pt` are `pt`: another word for a value, or an argument that ends in one."""
    if bare in field.values:
        return did_you_mean(bare, field.values)
    last = bare.rpartition("=")[2]
    near = field.meant.get(last, last if last in field.values else field.meant.get(bare.partition("_")[0], ""))
    return f"use {near}" if near else did_you_mean(bare, field.values)


def _structure(value: Any, field: Field) -> str:
    if field.kind == "list" and isinstance(value, str):
        return "write it as a list, even of one"
    return ""
