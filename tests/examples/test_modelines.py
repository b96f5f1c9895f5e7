"""Every example begins with the line that leads an editor to its schema, and keeps to that."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fleetctl.files import read_text
from fleetctl.formatting import format_bytes

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "fleet-examples").rglob("*.y*ml") if "expected" not in path.parts)
SCHEMAS = {"world": "world.v1.json", "test": "fleet-test.v1.json", "fleet": "fleet.v1.json"}
_MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)")


def schema_of(path: Path) -> Path:
    """The schema that the first line of a file names."""
    with path.open() as stream:
        found = _MODELINE.fullmatch(stream.readline().rstrip("\n"))
    assert found, f"{path.relative_to(ROOT)}: the first line names no schema"
    return (path.parent / found[1]).resolve()


def what(path: Path) -> str:
    return "test" if path.name.endswith(".fleet-test.yaml") else "world" if path.stem.startswith("world") else "fleet"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "fleet-examples")))
def test_an_example_leads_to_its_schema_and_keeps_to_it(path: Path) -> None:
    schema = schema_of(path)
    assert schema == ROOT / "schemas" / SCHEMAS[what(path)]
    validator = Draft202012Validator(json.loads(schema.read_text()))
    for document in read_text(path.read_bytes(), path.name):
        assert [error.message for error in validator.iter_errors(document.root)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "fleet-examples")))
def test_an_example_is_formatted(path: Path) -> None:
    assert format_bytes(path.read_bytes(), path.name) == path.read_bytes(), "run `fleetctl fmt`"
