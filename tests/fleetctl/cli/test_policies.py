"""`validate` says of every field of a policy what the API says, with the place in the file."""

from __future__ import annotations

import json
import re
from typing import Any

from ruamel.yaml import YAML, MappingNode, Node, ScalarNode

from tests.better_compute.domain.policy.table import SEVERITY, Case, cases
from tests.fleetctl.cli.runs import ROOT, Fleet

FIRST_LINE = 9
ATTESTORS = {"tpm", "sev", "join-tokens"}
"""Whether a server runs these, only the server knows."""
STEP = re.compile(r'\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<name>[^.\[]+)')


def known_offline(case: Case) -> bool:
    names = case.policy.get("joinAttestors", [])
    return case.alone and not (isinstance(names, list) and ATTESTORS & set(names))


def line_of(key: str, case: Case) -> str:
    pool = {"idempotencyKey": key, **case.fields, "policy": case.policy}
    return f"  - {json.dumps(pool, ensure_ascii=False)}\n"


def column_of(line: str, path: str) -> int:
    """Where the value at the path of the line's pool stands, or what comes nearest above it; from 1."""
    (node,) = YAML(typ="safe", pure=True).compose(line).value
    for step in STEP.finditer(path):
        name = json.loads(step["quoted"]) if step["quoted"] else step["name"]
        below = _below(node, name, step["index"])
        if below is None:
            break
        node = below
    column: int = node.start_mark.column + 1
    return column


def _below(node: Node, name: str | None, index: str | None) -> Node | None:
    if index is not None:
        found: Node = node.value[int(index)]
        return found
    if not isinstance(node, MappingNode):
        return None
    return next((value for key, value in node.value if isinstance(key, ScalarNode) and key.value == name), None)


def test_every_value_is_judged_where_it_stands(fleet: Fleet) -> None:
    judged = {f"fra1-{n}": case for n, case in enumerate(cases()) if known_offline(case)}
    assert len(judged) > 200
    lines = {key: line_of(key, case) for key, case in judged.items()}
    fleet.write("".join(lines.values()), ROOT)

    ran = fleet.on("validate", "--format", "json")
    assert ran.code == 1, ran.err
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in judged}
    for problem in json.loads(ran.out)["problems"]:
        found[problem["path"].partition("]")[0].removeprefix("pools[")].append(problem)

    for number, (key, case) in enumerate(judged.items()):
        if case.verdict == "fine":
            assert found[key] == [], case
            continue
        (problem,) = found[key]
        assert problem["severity"] == SEVERITY[case.verdict], case
        assert problem["path"] == f"pools[{key}].{case.path}"
        assert problem.get("hint", "") == case.hint, case
        place = {"file": "fleet.yaml", "line": FIRST_LINE + number, "column": column_of(lines[key], case.path)}
        assert problem["source"] == place, case
