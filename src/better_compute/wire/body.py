"""JSON from outside, read strictly: what two readers could take for two things is refused."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from better_compute.domain.escape import CONTROL
from better_compute.domain.policy.urls import mask_cut
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from better_compute.wire.message import CHANGE_LIMIT

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_CONTROL = re.compile(f"[{CONTROL}]")
_CHANGE_DEPTH = 16
_EXACT = 2**53 - 1
_SHOWN = 100
"""Letters of a repeated key that are shown."""


def parse(data: bytes) -> dict[str, Any]:
    """The JSON object that `data` spells. Raises ComputeError INVALID_INPUT for anything else, as `parse_value`."""
    value = parse_value(data)
    if not isinstance(value, dict):
        refuse("a JSON object is needed")
    return value


def parse_value(data: bytes) -> Any:
    """The JSON value that `data` spells. Raises ComputeError INVALID_INPUT for anything else: another encoding, a
    repeated key, NaN, a number beyond a double, half a surrogate pair, endless nesting."""
    try:
        value = _DECODER.decode(data.decode())
        if _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        refuse("the JSON is nested too deep")
    except UnicodeDecodeError:
        refuse("the JSON is not UTF-8")
    except UnicodeEncodeError:
        refuse("the JSON holds half a surrogate pair")
    except json.JSONDecodeError as error:
        refuse(f"this is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
    except ValueError:
        # Python's own limit, in words that would lead a caller astray.
        refuse("this is not JSON: a whole number has too many digits")
    return value


def parse_change(header: str) -> dict[str, Any]:
    """The X-Better-Compute-Change header: an ASCII JSON object of at most 2 KiB, of values that every database keeps
    as they are. Raises ComputeError INVALID_INPUT."""
    name = "X-Better-Compute-Change"
    if len(header) > CHANGE_LIMIT or not header.isascii():
        refuse(f"{name} is ASCII JSON of at most {CHANGE_LIMIT} bytes")
    try:
        value = parse(header.encode("ascii"))
    except ComputeError as error:
        refuse(f"{name}: {error}")
    if not _keeps(value, _CHANGE_DEPTH):
        refuse(f"{name}: no control characters, whole numbers within 2^53, at most {_CHANGE_DEPTH} deep")
    return value


def refuse(message: str, field: str = "", hint: str = "") -> NoReturn:
    """Raise INVALID_INPUT for what is not even a question."""
    raise ComputeError(Problem(INVALID_INPUT, "", message, field, hint))


def _keeps(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return _CONTROL.search(value) is None
    if isinstance(value, int):
        return abs(value) <= _EXACT
    if isinstance(value, dict):
        return depth > 0 and all(_keeps(k, depth) and _keeps(v, depth - 1) for k, v in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_keeps(v, depth - 1) for v in value)
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                refuse(f"this is not JSON: the key {mask_cut(name, _SHOWN)!a} stands twice in one object")
            seen.add(name)
    return value


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        refuse("this is not JSON: a number is beyond what a double holds")
    return number


def _constant(text: str) -> NoReturn:
    refuse(f"this is not JSON: {text} is not a number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)
