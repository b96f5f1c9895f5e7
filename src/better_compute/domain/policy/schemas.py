"""The JSON Schema of each module's fields, made from the table: `schemas/policy/` holds them for editors."""

from __future__ import annotations

from typing import Any

from better_compute.domain.policy.fields import RATIO_HIGH, RATIO_LOW, Field, Module
from better_compute.domain.policy.tree import ROOT, Node

_TYPES = {"object": "object", "map": "object", "list": "array", "duration": "string", "ratio": "number"}


def schema(module: Module) -> dict[str, Any]:
    """The schema (2020-12) of a policy as one module reads it; the fields of others, and unknown ones, are open.

    `x-form` marks what does not compare as JSON: `duration`, `ratio`, `set`.
    """
    mine = {name: node for name, node in ROOT.children.items() if node.entry.module == module}
    return {
        "title": f"Pool policy: fields of the module {module}",
        "type": "object",
        "properties": {name: _node(node) for name, node in mine.items()},
    }


def _node(node: Node) -> dict[str, Any]:
    entry = node.entry
    made: dict[str, Any] = {"description": f"{entry.says[0].upper()}{entry.says[1:]}."}
    if entry.kind == "ratios":
        made["anyOf"] = [{"type": "number", "exclusiveMinimum": 0}, {"type": "object", **_parts(node)}]
    else:
        made["type"] = _TYPES.get(entry.kind, entry.kind)
        made |= _parts(node) | _limits(entry)
    if entry.form != "plain":
        made["x-form"] = entry.form
    if entry.form == "ratio":
        made["x-clamp"] = [RATIO_LOW, RATIO_HIGH]
    if entry.default is not None:
        made["default"] = entry.default
    return made


def _parts(node: Node) -> dict[str, Any]:
    """What stands inside: an object's fields, a map's keys and values, a list's elements."""
    made: dict[str, Any] = {}
    if node.children:
        made["properties"] = {name: _node(child) for name, child in node.children.items()}
    if node.entry.required:
        made["required"] = list(node.entry.required)
    if node.entry.kind == "map":
        made["propertyNames"] = {"pattern": f"^(?:{node.entry.keys})$"}
    if node.item is not None:
        made["additionalProperties" if node.entry.kind == "map" else "items"] = _node(node.item)
    return made


def _limits(entry: Field) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if entry.values:
        made["enum"] = list(entry.values)
    if entry.pattern:
        made["pattern"] = f"^(?:{entry.pattern})$"
    match entry.kind:
        case "duration":
            made["pattern"] = "^0*[1-9][0-9]{0,6}[smhd]$"
        case "ratio":
            made["exclusiveMinimum"] = 0
        case "list":
            made |= {"minItems": entry.low} if entry.low else {}
            made |= {"uniqueItems": True} if entry.form == "set" else {}
        case _:
            made |= {"minimum": entry.low} if entry.low is not None else {}
            made |= {"maximum": entry.high} if entry.high is not None else {}
    return made
