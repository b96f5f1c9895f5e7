"""Records: maps of known fields, in which the files of a fleet are written down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Record(BaseModel):
    """A map of known fields; `blank` holds, by field, what to write instead of null, `missing` what else may be wrong
    where it is not there."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)
    blank: ClassVar[dict[str, str]] = {}
    missing: ClassVar[dict[str, str]] = {}


def required(what: str) -> Any:
    return Field(description=what)


def optional(what: str, alias: str | None = None, *, default: object = None) -> Any:
    """A field that may be left out, which means `default`; null is no value of it."""
    means = "" if default is None else f"; left out: {json.dumps(default)}."
    return Field(default=None, description=f"{what}{means}", alias=alias)


def meaning(record: type[Record], name: str) -> str:
    """What the field `name` of the files means."""
    return next(field.description or "" for field in record.model_fields.values() if field.alias == name)


def names(record: type[Record]) -> list[str]:
    """The fields of a record, as files spell them."""
    return [field.alias or name for name, field in record.model_fields.items()]


def kinds_of(record: type[Record]) -> Iterator[tuple[str, tuple[type, ...]]]:
    """The fields of a record, as files spell them, and the Python types that values of each have before they are
    judged."""
    for name, field in record.model_fields.items():
        yield field.alias or name, _kinds(field.annotation)


def _kinds(annotation: Any) -> tuple[type, ...]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return tuple(kind for member in get_args(annotation) for kind in _kinds(member))
    if origin is Literal:
        return (str,)
    return (dict,) if origin is None and issubclass(annotation, Record) else (origin or annotation,)
