"""The JSON Schema of world files: in step with the models, and of one mind with reading."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from better_compute.bootstrap.world_file import read_world
from better_compute.bootstrap.world_schema import schema
from better_compute.domain.problems import ComputeError

VALIDATOR = Draft202012Validator(schema())
GOOD: dict[str, Any] = {
    "instance": "quickstart",
    "tenants": [{"id": "emea", "parentId": "acme"}, {"id": "acme"}],
    "sites": [{"id": "site_fra1", "tenantId": "root", "kind": "shared", "region": "eu-central", "name": "Frankfurt"}],
    "identities": [{"id": "sa_fleet", "tenantId": "root", "kind": "service"}],
    "providerAccounts": [{"id": "pa_north", "tenantId": "root", "name": None}],
    "machines": [
        {"pool": "k", "count": 2, "gpus": {"name": "NVIDIA L40S", "count": 8}, "vcpu": 8, "attributes": {"rack": 7}}
    ],
}
WRONG: dict[str, dict[str, Any]] = {
    "an unknown field": {"tenant": []},
    "a list without a value": {"tenants": None},
    "an unknown field of an entry": {"tenants": [{"id": "acme", "parent": "root"}]},
    "a missing field": {"sites": [{"id": "s", "tenantId": "root", "kind": "shared"}]},
    "an id that is none": {"tenants": [{"id": "a b"}]},
    "a number for an id": {"tenants": [{"id": 7}]},
    "a word that is none": {"identities": [{"id": "a", "tenantId": "root", "kind": "robot"}]},
    "a count of none": {"machines": [{"pool": "k", "count": 0}]},
    "a blank name": {"sites": [{"id": "s", "tenantId": "root", "kind": "shared", "region": " "}]},
    "a fraction": {"machines": [{"pool": "k", "vcpu": 1.5}]},
    "an attribute with no name": {"machines": [{"pool": "k", "attributes": {"a b": 1}}]},
}


def reads(tmp_path: Path, content: dict[str, Any]) -> bool:
    path = tmp_path / "world.yaml"
    path.write_text(json.dumps(content))
    try:
        read_world(path)
    except ComputeError:
        return False
    return True


def test_it_is_a_schema_whose_records_say_what_they_are() -> None:
    Draft202012Validator.check_schema(schema())
    assert all(record["description"] for record in (schema(), *schema()["$defs"].values()))


def test_editors_read_its_patterns() -> None:
    """They know the escapes of ECMAScript, and have no others."""
    patterns = re.findall(r'"pattern": "(.*)"', json.dumps(schema(), indent=2))
    assert patterns
    assert not [pattern for pattern in patterns if re.search(r"\\\\[UNAZ]|\(\?[^:=!]", pattern)]


def test_what_is_right_passes_both(tmp_path: Path) -> None:
    assert list(VALIDATOR.iter_errors(GOOD)) == []
    assert reads(tmp_path, GOOD)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_passes_neither(tmp_path: Path, name: str) -> None:
    assert list(VALIDATOR.iter_errors(WRONG[name]))
    assert not reads(tmp_path, WRONG[name])
