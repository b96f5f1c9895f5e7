"""The description is valid, complete, and true: what is answered is what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from better_compute.api.openapi import build, document
from better_compute.api.routes import ROUTES
from better_compute.wire.message import Request
from tests.better_compute.api.request_table import TABLE, Sent
from tests.better_compute.plane import Plane

KEPT = Path(__file__).parents[3] / "schemas" / "openapi.json"


def test_the_description_is_openapi() -> None:
    validate(build())


def test_the_kept_description_is_todays() -> None:
    assert json.loads(KEPT.read_text()) == json.loads(document())


def test_it_describes_every_operation_with_input_answer_and_codes() -> None:
    paths = build()["paths"]
    assert set(paths) == {*(f"/api/compute/{operation}" for operation in ROUTES), "/health", "/openapi.json"}
    for operation, route in ROUTES.items():
        described = paths[f"/api/compute/{operation}"]["post"]
        assert described["summary"].endswith(".") or described["summary"]
        told = " ".join(answer["description"] for answer in described["responses"].values())
        assert all(code in told for code in route.codes)


def test_it_says_what_a_field_may_be() -> None:
    schemas = build()["components"]["schemas"]
    offer = schemas["PoolsOffer"]
    assert offer["additionalProperties"] is False
    assert offer["required"] == ["tenantId", "poolId", "toTenantId", "quota"]
    assert offer["properties"]["priority"] == {"type": "integer", "minimum": -1000, "maximum": 1000}
    assert offer["properties"]["quota"]["additionalProperties"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 2147483647,
    }
    assert schemas["PoolsCreate"]["properties"]["class"]["enum"] == ["metal-host", "vps-host", "infra", "provider"]


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": build()["components"]})


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return build()


def send(plane: Plane, sent: Sent) -> tuple[int, Any]:
    headers = {name.lower(): value for name, value in sent.header_lines}
    answer = plane.handle(Request(sent.method, sent.target, headers, sent.content))
    return answer.status, json.loads(answer.body)


def test_what_is_answered_is_what_it_says(plane: Plane, described: dict[str, Any]) -> None:
    checked = 0
    for sent in TABLE:
        status, answer = send(plane, sent)
        if sent.target in described["paths"] and sent.method == "POST" and sent.operation in ROUTES:
            told = described["paths"][sent.target].get("post", {}).get("responses", {})
            if not told:
                continue
            schema = told[str(status)]["content"]["application/json"]["schema"]
            validator(schema).validate(answer)
            checked += 1
    assert checked > 30


def test_what_is_done_was_a_valid_input(plane: Plane, described: dict[str, Any]) -> None:
    """No request is carried out that the description would not allow, and a wrong field is one that it forbids."""
    for sent in TABLE:
        status, _ = send(plane, sent)
        if sent.operation in ROUTES and sent.path is None and isinstance(sent.body, dict) and status in (200, 400):
            schema = described["paths"][sent.target]["post"]["requestBody"]["content"]["application/json"]["schema"]
            valid = validator(schema).is_valid(json.loads(sent.content))
            assert valid == (sent.name != "unknown field"), sent.name
