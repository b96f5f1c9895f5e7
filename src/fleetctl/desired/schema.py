"""The JSON Schema of fleet files, for editors: made from the models that reading follows.

It says what a document may hold by itself, with the words that the domain's rules allow. It cannot say what documents
owe each other, nor that 8.0 is not a whole number here.
"""

from __future__ import annotations

from typing import Any

from better_compute.bootstrap.world_schema import tidy
from better_compute.domain.ids import KEY
from better_compute.domain.policy import schemas
from better_compute.domain.policy.fields import MODULES
from fleetctl.desired.faults import IGNORED
from fleetctl.desired.shape import API_VERSION, Document
from fleetctl.desired.variables import described

Schema = dict[str, Any]
_TEMPLATE = "Template"
"""Ends the name of what stands in entries with forEach."""
_PLAIN = frozenset({"propertyNames", "if", "default", "required"})
"""Parts of a schema that variables change nothing in."""


def schema() -> Schema:
    """JSON Schema 2020-12 of one document of a fleet."""
    made: Schema = tidy(Document.model_json_schema())
    defs = made.pop("$defs")
    fields = {name: part for module in MODULES for name, part in schemas.schema(module)["properties"].items()}
    defs["Policy"] = {"description": "A policy.", "type": "object", "properties": fields}
    part = {"description": "What is merged over a policy, or variables are filled into: null removes a field."}
    defs["PolicyPart"] = _template(_patch(defs["Policy"])) | part
    made["properties"]["policies"]["patternProperties"] = {f"^{KEY.pattern}$": {"$ref": "#/$defs/Policy"}}
    defs["Check"]["properties"]["expr"]["description"] += f" {described()}"
    del defs["Pool"]["properties"]["policy"]["type"], defs["Pool"]["properties"]["policy"]["additionalProperties"]
    for name in ("Pool", "Offer"):
        defs[f"{name}{_TEMPLATE}"] = _template(defs[name])
    defs["PoolTemplate"]["properties"]["policy"]["$ref"] = "#/$defs/PolicyPart"
    defs["Pool"]["if"] = {"required": ["policyRef"]}
    for name, kind in (("then", "PolicyPart"), ("else", "Policy")):
        defs["Pool"][name] = {"properties": {"policy": {"$ref": f"#/$defs/{kind}"}}}
    items = made["properties"]["pools"]["items"]
    made["properties"]["pools"]["items"] = {"if": {"required": ["forEach"]}, "then": _template(items), "else": items}
    return {
        "title": f"Fleet file ({API_VERSION})",
        **made,
        "patternProperties": {f"^{IGNORED}": True},
        "$defs": defs,
    }


def _patch(part: Any) -> Any:
    """What may be merged over such a value: null removes a field, and none is required. Lists are taken whole."""
    made = {name: value for name, value in part.items() if name != "required"}
    if "anyOf" in made:
        made["anyOf"] = [_patch(member) for member in made["anyOf"]]
    if "properties" in made:
        made["properties"] = {name: _or_null(_patch(field)) for name, field in made["properties"].items()}
    if isinstance(made.get("additionalProperties"), dict):
        made["additionalProperties"] = _or_null(_patch(made["additionalProperties"]))
    return made


def _or_null(part: Schema) -> Schema:
    if "type" not in part:
        return {**part, "anyOf": [*part["anyOf"], {"type": "null"}]}
    values = {"enum": [*part["enum"], None]} if "enum" in part else {}
    return {**part, "type": [part["type"], "null"], **values}


def _template(part: Any, name: str = "") -> Any:
    """The same in an entry with forEach: a text may also be one that a variable is filled into."""
    if isinstance(part, list):
        return [_template(item) for item in part]
    if not isinstance(part, dict):
        return part
    if name == "forEach":
        return part
    if "$ref" in part:
        kind = part["$ref"].rpartition("/")[2]
        return {**part, "$ref": f"#/$defs/{kind}{_TEMPLATE}"}
    if "string" in part.get("type", ()):
        return _text(part)
    return {key: value if key in _PLAIN else _template(value, key) for key, value in part.items()}


def _text(part: Schema) -> Schema:
    if "pattern" in part and "enum" not in part:
        return {**part, "pattern": rf"{part['pattern']}|\$\{{"}
    limits = {key: part[key] for key in ("enum", "const", "pattern") if key in part}
    rest = {key: value for key, value in part.items() if key not in limits}
    return {**rest, "anyOf": [limits, {"pattern": r"\$\{"}]} if limits else part
