"""The API's own description, OpenAPI 3.1, made from the route table."""

from __future__ import annotations

from functools import cache
from inspect import getdoc
from typing import Any

import msgspec

from better_compute.api.errors import STATUS
from better_compute.api.routes import COMMON, ROUTES, Route
from better_compute.wire.message import CHANGE_LIMIT, PREFIX

_ERROR: dict[str, Any] = {
    "type": "object",
    "description": "What went wrong. Branch on `code` alone.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "enum": sorted(STATUS)},
                "message": {"type": "string"},
                "field": {"type": "string", "description": "The field of the input that it is about."},
                "rule": {"type": "string", "description": "The name of the rule that refused."},
                "retryAfterMs": {"type": "integer", "minimum": 0},
            },
        }
    },
}
_HEADERS: list[dict[str, Any]] = [
    {"name": "X-Better-Compute", "in": "header", "required": True, "schema": {"const": "1"}},
    {"name": "X-Request-Id", "in": "header", "description": "Echoed.", "schema": {"type": "string", "maxLength": 128}},
    {
        "name": "X-Better-Compute-Change",
        "in": "header",
        "description": "The change that a call belongs to, an ASCII JSON object; events keep it as `via`.",
        "schema": {"type": "string", "maxLength": CHANGE_LIMIT},
    },
]


@cache
def document() -> bytes:
    """The description as JSON, the same bytes each time."""
    return msgspec.json.encode(build())


def build() -> dict[str, Any]:
    kinds = [kind for route in ROUTES.values() for kind in (route.input, route.answer)]
    refs, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    pairs = zip(ROUTES.values(), refs[::2], refs[1::2], strict=True)
    found: dict[str, Any] = _portable(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "better-compute",
                "version": "v1",
                "summary": "GPU capacity: pools, offers and quotas, machines, reservations and usage",
            },
            "security": [{"token": []}],
            "paths": {
                **{PREFIX + route.operation: {"post": _operation(route, i, a)} for route, i, a in pairs},
                "/health": {"get": _page("Whether the process answers")},
                "/openapi.json": {"get": _page("This description")},
            },
            "components": {
                "schemas": {**components, "Error": _ERROR},
                "parameters": {header["name"]: header for header in _HEADERS},
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )
    return found


def _operation(route: Route, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    group, method = route.operation.split("/")
    data = {"type": "object", "required": ["data"], "properties": {"data": answer}}
    return {
        "operationId": f"{group}.{method}",
        "tags": [group],
        "summary": (getdoc(route.run) or "").partition("\n")[0],
        "parameters": [{"$ref": f"#/components/parameters/{header['name']}"} for header in _HEADERS],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": data}}},
            **_errors((*COMMON, *route.codes)),
        },
    }


def _errors(codes: tuple[str, ...]) -> dict[str, Any]:
    """An answer for each status, described by its codes."""
    by_status: dict[str, list[str]] = {}
    for code in sorted(codes, key=lambda code: (STATUS[code], code)):
        by_status.setdefault(str(STATUS[code]), []).append(code)
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": ", ".join(names), "content": content} for status, names in by_status.items()}


def _page(summary: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}}}
    return {"summary": summary, "security": [], "responses": {"200": {"description": "Done", "content": content}}}


def _portable(value: Any) -> Any:
    """Patterns in the spelling of JSON Schema, which knows no \\A and \\Z."""
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    return f"^{value[2:-2]}$" if isinstance(value, str) and value.startswith("\\A") else value
