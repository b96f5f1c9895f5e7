"""From a parsed body to an input, or to an error that names the field, what is allowed and the nearest good name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from better_compute.domain.ids import KEY_SAYS
from better_compute.domain.policy.urls import mask_cut, mask_message
from better_compute.domain.problems import did_you_mean
from better_compute.wire.body import refuse
from better_compute.wire.inputs import ID

T = TypeVar("T", bound=Struct)

# Where it happened stands last, and holds nothing of what was given; before it a name or a value may read like a place.
# Of what happened at the root no place is told: a name there may still look like one, and misleads its sender alone.
_AT = r" - at (?:`key` in )?`\$\.?([^`]*)`"
_PLACE = re.compile(rf"(.*){_AT}", re.DOTALL)
_UNKNOWN = re.compile(rf"Object contains unknown field `(.*?)`(?:{_AT})?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'", re.DOTALL)
_SHOWN = 100
"""Letters of an unknown field's name that are repeated in the answer."""
_SAID = 300
"""Letters of any other text that may repeat what was given."""

_A_NAME = "a name is 1 to 200 printable characters, not all blank"


def read(kind: type[T], value: dict[str, Any]) -> T:
    """`value` as an input of `kind`. Raises ComputeError INVALID_INPUT."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        _explain(kind, str(error))


def given(body: Struct) -> dict[str, Any]:
    """The fields of an input that were stated, by their Python names."""
    return {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}


def _explain(kind: type[Struct], text: str) -> NoReturn:
    if found := _UNKNOWN.fullmatch(text):
        name = mask_cut(found[1], _SHOWN)
        refuse("there is no such field", _join(found[2] or "", name), did_you_mean(name, _fields(kind)))
    place = ""
    if found := _PLACE.fullmatch(text):
        text, place = found.groups()
    if found := _MISSING.fullmatch(text):
        refuse("this field is missing", _join(place, found[1]))
    if found := _PATTERN.fullmatch(text):
        refuse(KEY_SAYS if found[1] == ID.replace("\\", "\\\\") else _A_NAME, place)
    said = mask_message(text[0].lower() + text[1:].replace("`", ""))
    refuse(said if len(said) <= _SAID else f"{said[:_SAID]}...", place)


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _fields(kind: type[Struct]) -> Iterator[str]:
    """The names of a struct's fields, those of the structs in it included."""
    yield from kind.__struct_encode_fields__
    for hint in get_type_hints(kind).values():
        if isinstance(hint, type) and issubclass(hint, Struct):
            yield from _fields(hint)
