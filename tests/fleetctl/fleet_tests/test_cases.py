"""Fleet tests are found, and read strictly: whatever is wrong with one is told with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic.fields import FieldInfo

from fleetctl.catalogue import CODES, rules
from fleetctl.desired.records import Record
from fleetctl.diff import Cause
from fleetctl.files import FilesError
from fleetctl.fleet_tests import cases, shape
from fleetctl.plan.operation import Action, ReasonCode, Severity
from fleetctl.report import forms, schemas


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refused(path: Path) -> list[tuple[str, str, str]]:
    """Place, rule and hint of each problem."""
    with pytest.raises(FilesError) as caught:
        cases(path)
    return [(str(p.source), p.rule, p.hint) for p in caught.value.problems]


class TestFinding:
    def test_all_below_a_directory_in_the_order_of_their_files(self, tmp_path: Path) -> None:
        for name in ("b.fleet-test.yaml", "a/x.fleet-test.yaml", "expected/y.fleet-test.yaml"):
            write(tmp_path, name, "expect: {}")
        for name in (".git/z.fleet-test.yaml", "fleet.yaml", "c.fleet-test.yml", ".d.fleet-test.yaml"):
            write(tmp_path, name, "nonsense: [")
        found = [case.name for case in cases(tmp_path)]
        assert found == ["a/x.fleet-test.yaml", "b.fleet-test.yaml", "expected/y.fleet-test.yaml"]

    def test_one_file_whatever_its_name(self, tmp_path: Path) -> None:
        (case,) = cases(write(tmp_path, "one.yaml", "expect: {}"))
        assert (case.name, case.fleet, case.live, case.exit_code) == ("one.yaml", tmp_path / ".", None, 0)

    def test_none_is_an_error(self, tmp_path: Path) -> None:
        write(tmp_path, "fleet.yaml", "apiVersion: fleet/v1")
        assert [rule for _, rule, _ in refused(tmp_path)] == ["test.none"]
        assert refused(tmp_path / "nowhere")[0][1] == "files.unreadable"
        assert refused(write(tmp_path, "a.fleet-test.yaml", "# nothing\n"))[0][1] == "files.empty"


class TestReading:
    def test_each_document_is_a_test_with_paths_from_its_file(self, tmp_path: Path) -> None:
        text = dedent("""\
        name: first
        fleet: ../fleet
        live: live.json
        now: 2026-12-24T00:00Z
        expect: {exitCode: 3, operations: [{action: create}], findings: [], others: true}
        ---
        expect: {}
        """)
        first, second = cases(write(tmp_path, "t/a.fleet-test.yaml", text))
        assert (first.name, first.fleet, first.live) == ("first", tmp_path / "t/../fleet", tmp_path / "t/live.json")
        assert (first.now, first.exit_code, first.others) == (1798070400000, 3, True)
        assert (first.operations, first.findings) == ([{"action": "create"}], [])
        assert (second.name, second.operations, second.findings) == ("a.fleet-test.yaml (2)", None, None)

    @pytest.mark.parametrize(
        ("text", "place", "rule", "hint"),
        [
            ("name: x", "1:1", "fleet.required", ""),
            ("expect: {}\nliv: x", "2:1", "fleet.unknown", 'did you mean "live"?'),
            ("expect:", "1:8", "fleet.null", "leave it out, or give it a value"),
            ("expect: {operations: null}", "1:22", "fleet.null", "write [] for none, or leave it out"),
            ("expect: {exitCode: 4}", "1:20", "fleet.type", ""),
            ("expect: {others: no}", "1:18", "fleet.type", "write false"),
            ("expect: {operations: {action: create}}", "1:22", "fleet.type", ""),
            ("expect: {operations: [create]}", "1:23", "fleet.type", ""),
            ("expect:\n  operations:\n    - {acton: create}", "3:8", "fleet.unknown", 'did you mean "action"?'),
            ("expect: {operations: [{action: unofer}]}", "1:32", "fleet.type", 'did you mean "unoffer"?'),
            ("expect: {operations: [{action: null}]}", "1:32", "fleet.null", "leave it out, or give it a value"),
            ("expect: {operations: [{severity: low}]}", "1:34", "fleet.type", 'did you mean "lowers"?'),
            ("expect: {operations: [{causes: [drfit]}]}", "1:33", "fleet.type", 'did you mean "drift"?'),
            ("expect: {operations: [{causes: drift}]}", "1:32", "fleet.type", ""),
            ("expect: {operations: [{reason: {code: chnged}}]}", "1:39", "fleet.type", 'did you mean "changed"?'),
            ("expect: {operations: [{reason: changed}]}", "1:32", "fleet.type", ""),
            ("expect: {findings: [{severity: err}]}", "1:32", "fleet.type", 'did you mean "error"?'),
            ("expect: {findings: [{ruel: x}]}", "1:22", "fleet.unknown", 'did you mean "rule"?'),
            ("expect: {}\nnow: 2026-12-24", "2:6", "fleet.type", "write 2026-12-24T00:00Z"),
            ("expect: {}\nexpect: {}", "2:1", "yaml.duplicateKey", "keep one of them"),
        ],
    )
    def test_a_mistake_has_its_place_and_a_hint(
        self, tmp_path: Path, text: str, place: str, rule: str, hint: str
    ) -> None:
        assert refused(write(tmp_path, "a.fleet-test.yaml", text)) == [(f"a.fleet-test.yaml:{place}", rule, hint)]

    def test_the_mistakes_of_all_files_are_told(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            write(tmp_path, f"{name}.fleet-test.yaml", "expect: {nothing: 1}\n---\nexpect: {}\nmore: 1")
        assert [place for place, _, _ in refused(tmp_path)] == [
            f"{name}.fleet-test.yaml:{place}" for name in ("a", "b") for place in ("1:10", "4:1")
        ]


class TestSchema:
    def test_says_of_documents_what_reading_does(self) -> None:
        validator = Draft202012Validator(shape.schema())
        good = '{"name": "x", "x-anchor": 1, "expect": {"operations": [{"action": "offer", "toTenantId": null}]}}'
        assert validator.is_valid(json.loads(good))
        assert not any(
            map(validator.is_valid, ({}, {"expect": None}, {"expect": {}, "other": 1}, {"expect": {"exitCode": 5}}))
        )

    def test_names_the_fields_of_the_plan_report(self) -> None:
        for record, form in ((shape.ExpectedOperation, forms.Operation), (shape.ExpectedFinding, forms.Problem)):
            names = {field.alias for field in record.model_fields.values()}
            assert names <= form.__annotations__.keys()
            assert form.__annotations__.keys() - names <= {"n", "digest"}

    @pytest.mark.parametrize(
        ("record", "part"), [(shape.ExpectedOperation, "operations"), (shape.ExpectedFinding, "findings")]
    )
    def test_its_examples_could_stand_in_a_plan(self, record: type[Record], part: str) -> None:
        validator = Draft202012Validator(without_required(schemas.schema("plan.v1")))
        found = [(field.alias, example) for field in record.model_fields.values() for example in examples(field)]
        assert len(found) >= 1
        for name, example in found:
            assert [e.message for e in validator.iter_errors({part: [{name: example}]})] == [], name

    def test_it_names_every_word_that_the_plan_knows(self) -> None:
        known = {"action": Action, "severity": Severity, "causes": Cause, "reason": ReasonCode}
        for name, words in known.items():
            said = re.findall(
                r"\w+", str(shape.ExpectedOperation.model_fields[name].description).rpartition("one of")[2]
            )
            assert [word for word in said if word in get_args(words)] == [*get_args(words)], name

    def test_it_names_codes_and_rules_that_there_are(self) -> None:
        code, rule = (shape.ExpectedFinding.model_fields[name].description for name in ("code", "rule"))
        assert set(re.findall(r"[A-Z_]{3,}", str(code))) & CODES.keys()
        assert set(re.findall(r"[a-z]+\.[a-z]+", str(rule))) & rules().keys()


def examples(field: FieldInfo) -> list[Any]:
    """What stands in brackets in the description of a field."""
    return [yaml.safe_load(text) for text in re.findall(r"\[\{.*\}\]|(?<!\[)\{.*\}", str(field.description))]


def without_required(schema: Any) -> Any:
    """A schema of parts: of each map some fields are enough."""
    if isinstance(schema, dict):
        return {name: without_required(inner) for name, inner in schema.items() if name != "required"}
    return [*map(without_required, schema)] if isinstance(schema, list) else schema
