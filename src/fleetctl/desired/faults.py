"""What is wrong with the shape of a document, in the project's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import Tag, TypeAdapter, ValidationError

from better_compute.domain.policy import is_sensitive_name
from fleetctl.desired import says
from fleetctl.desired.homes import home
from fleetctl.desired.kinds import Variables
from fleetctl.desired.locate import Step
from fleetctl.desired.records import Record, meaning
from fleetctl.desired.says import Says
from fleetctl.desired.shape import Document
from fleetctl.files import Map

MISSING = "fleet.required"
"""The rule of what must be said and is not."""
UNKNOWN = "fleet.unknown"
"""The rule of a field that nobody knows."""
IGNORED = "x-"
"""Names at the root of a document that begin so are a place for anchors."""
_KEY = "[key]"
"""Ends the way to a name in a map that is none of its names."""
_MINUS_ZERO = re.compile(r"-(?<!\w-)(?:[.0]|[\d.]+[eE])")
"""What may be a 0 with a sign, as -1e-400 is too. Literal first: the search for one costs next to nothing."""

Kind = Any
"""A type of `shape`, with what it says of itself."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A value of the wrong shape, and the way to it.

    `name`: the field's name is wrong, not its value; `meant` is then the nearest that is right, if one is near.
    """

    rule: str
    message: str
    hint: str
    path: tuple[Step, ...]
    name: bool = False
    meant: str = ""

    @property
    def strange(self) -> bool:
        """Whether it is a field that is like none: it may stand for one that is missing."""
        return self.rule == UNKNOWN and not self.hint


def faults(root: Map) -> Sequence[Fault]:
    """Everything that is wrong with the shape of a document."""
    found = of_shape(Document, {name: value for name, value in root.items() if not name.startswith(IGNORED)})
    return found or [*_signs(root)]


def of_shape(record: type[Record], root: Mapping[str, Any]) -> Sequence[Fault]:
    """Everything that is wrong with a map that is to be a `record`. A field that stands there misspelt is not missing
    too."""
    try:
        record.model_validate(root)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        found = [_fault(e["type"], e["loc"], e["input"], record) for e in errors]
        meant = {(*fault.path[:-1], fault.meant) for fault in found if fault.meant}
        return [fault for fault in found if fault.rule != MISSING or fault.path not in meant]
    return []


def variables(value: object, way: tuple[Step, ...]) -> list[Fault]:
    """Everything that is wrong with the shape of a forEach, which stands at `way`."""
    try:
        _variables().validate_python(value, strict=True)
    except ValidationError as error:
        return [_fault(e["type"], (*way, *e["loc"]), e["input"]) for e in error.errors(include_url=False)]
    return []


@cache
def _variables() -> TypeAdapter[Any]:
    return TypeAdapter(Variables)


def _fault(error: str, loc: tuple[Step, ...], value: object, root: type[Record] = Document) -> Fault:
    """What an error of a model means: `error` is its name for the kind of error, `loc` the way to `value`."""
    owner: Kind = root
    kind: Kind = root
    said: Says | None = None
    path: tuple[Step, ...] = ()
    for step in loc[:-1] if loc[-1:] == (_KEY,) else loc:
        bare = _bare(kind)
        if member := _member(bare, step):
            kind = member
        else:
            owner, kind, said, path = bare, _below(bare, step), None, (*path, step)
        said = _says(kind) or said
    name, record = str(path[-1]), _record(owner)
    if loc[-1:] == (_KEY,) and (of_name := _says(next(iter(get_args(owner)), None))):
        return Fault(of_name.rule, f"a name here must be {of_name.must}", of_name.hint(value), path, name=True)
    if record and error == "extra_forbidden":
        known = tuple(_fields(record))
        message, there = f"no such field; known: {', '.join(known)}", home(record, name)
        meant = "" if there else says.meant(name, known)
        return Fault(UNKNOWN, message, there or says.near(name, known), path, name=True, meant=meant)
    if record and error == "missing":
        return Fault(MISSING, f"it is missing: {meaning(record, name)}", record.missing.get(name, ""), path)
    if record and value is None:
        hint = record.blank.get(name, "leave it out, or give it a value")
        return Fault("fleet.null", "it is null, as a name with nothing after it is", hint, path)
    said = said or Says("of another type")
    if any(is_sensitive_name(step) for step in path if isinstance(step, str)):
        return Fault(said.rule, f"it must be {said.must}", "", path)
    return Fault(said.rule, said.message(value), said.hint(value) or says.sized(name, value), path)


@cache
def _fields(record: type[Record]) -> Mapping[str, Kind]:
    hints = get_type_hints(record, include_extras=True)
    return {field.alias or name: hints[name] for name, field in record.model_fields.items()}


def _bare(kind: Kind) -> Kind:
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind


def _record(kind: Kind) -> type[Record] | None:
    return kind if isinstance(kind, type) and issubclass(kind, Record) else None


def _says(kind: Kind) -> Says | None:
    if record := _record(_bare(kind)):
        return Says(f"a map of {', '.join(_fields(record))}")
    return next((extra for extra in getattr(kind, "__metadata__", ()) if isinstance(extra, Says)), None)


def _member(union: Kind, step: Step) -> Kind:
    """The member of a union that an error's way goes through; None where `union` is none."""
    for member in get_args(union):
        if Tag(str(step)) in getattr(member, "__metadata__", ()):
            return member
    return None


def _below(kind: Kind, step: Step) -> Kind:
    if record := _record(kind):
        return _fields(record).get(str(step))
    inner = get_args(kind)
    return inner[-1] if inner and isinstance(get_origin(kind), type) else None


def _signs(root: Map) -> Iterator[Fault]:
    """Numbers are written without a sign, but for a priority below 0. What they mean does not tell it, so the text is
    looked at."""
    text = root.lines.text
    if "+" not in text and not _MINUS_ZERO.search(text):
        return
    for path, written in _numbers(root):
        for name, offset in zip(written, written.at[1::2], strict=True):
            value = written[name]
            if written.lines.text[offset] in "+-" and type(value) in (int, float) and not value < 0:
                rule = "quota.value" if path[-1] in ("quota", "ownerQuota") else "fleet.type"
                yield Fault(rule, "a number is written without a sign", f"write {abs(value):.15g}", (*path, name))


def _numbers(root: Map) -> Iterator[tuple[tuple[Step, ...], Map]]:
    """The maps of which fields are numbers."""
    yield from (((name,), root[name]) for name in ("prices", "guards") if name in root)
    if "offer" in root.get("defaults", ()):
        yield ("defaults", "offer"), root["defaults"]["offer"]
    for index, pool in enumerate(root.get("pools", ())):
        if "ownerQuota" in pool:
            yield ("pools", index, "ownerQuota"), pool["ownerQuota"]
        if isinstance(pool.get("offers"), list):
            yield from _of_offers(pool["offers"], ("pools", index, "offers"))
    yield from _of_offers(root.get("offers", ()), ("offers",))


def _of_offers(offers: Sequence[Map], way: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Map]]:
    for index, offer in enumerate(offers):
        yield (*way, index), offer
        yield (*way, index, "quota"), offer["quota"]
