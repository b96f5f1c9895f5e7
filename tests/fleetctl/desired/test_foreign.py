"""Files of other tools in a fleet's directory: each is one finding that says what to do with it."""

from __future__ import annotations

import json

import pytest

from tests.reading import HEAD, POOL, desired, refusal, refused, said

FLEET = f"{HEAD}pools:\n{POOL}"
VALUES = "replicaCount: 2\nimage: {repository: web, tag: v1}\nservice: {port: 80}\nresources: {}\nname: web\n"
FOREIGN = {
    "values": VALUES,
    "chart": "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: 1.16.0\ntype: application\n",
    "compose": "services: {web: {image: nginx}}\nvolumes: {}\nnetworks: {}\n",
    "manifest": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n",
    "manifests": "apiVersion: v1\nkind: Service\nspec: {}\n---\napiVersion: v1\nkind: Secret\ndata: {}\n",
    "workflow": "name: ci\non: [push]\ndefaults: {run: {shell: bash}}\njobs: {}\n",
    "settings": "server: {port: 8080}\nexclude: [tmp]\nlogging: debug\nname: web\nworkers: 4\n",
}
PLAN = {"formatVersion": 1, "kind": "plan", "fleet": "demo", "tenantId": "root", "caller": "sa_fleet", "operations": []}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=list(FOREIGN))
@pytest.mark.parametrize("beside", [True, False])
def test_a_file_of_another_tool_is_one_finding(text: str, beside: bool) -> None:
    problem = refusal(*([FLEET] if beside else []), text)
    file = f"{int(beside)}.yaml"
    assert (problem.rule, problem.message, str(problem.source)) == (
        "fleet.document",
        "this is no fleet document",
        f"{file}:1:1",
    )
    assert problem.hint == f"move it out of the fleet, or write its name under exclude: [{file}]"


def test_what_is_wrong_with_the_fleet_is_found_beside_it() -> None:
    found = refused(FLEET.replace("gpuModel", "gpumodel"), VALUES)
    assert [p.rule for p in found] == ["fleet.unknown", "fleet.document"], said(found)


def test_a_plan_file_is_told_as_one_with_the_flag_that_takes_it() -> None:
    problem = refusal(json.dumps(PLAN))
    assert problem.message == "this is a plan file, and no fleet document"
    assert problem.hint.startswith("did you mean --plan 0.yaml? ")


def test_a_report_is_told_as_one() -> None:
    assert refusal(FLEET, json.dumps({**PLAN, "kind": "drift"})).message.startswith("this is a report of fleetctl")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("pool: []\n", "fleet.unknown"),
        ("apiversion: fleet/v1\ntenant: root\n", "fleet.unknown"),
        ("apiVersion: fleet/v2\nthings: []\n", "fleet.type"),
        ("apiVersion: v1\n", "fleet.type"),
        ("apiVersion: v1\npools: []\nmetadata: {}\n", "fleet.type"),
        ("pools: []\nname: web\nservices: {}\n", "fleet.unknown"),
        ("defaults: {}\nname: web\n", "fleet.unknown"),
        ("defaults: {}\nofers: []\nname: web\n", "fleet.unknown"),
    ],
)
def test_a_fleet_document_with_a_slip_in_it_is_one_all_the_same(text: str, rule: str) -> None:
    assert rule in {p.rule for p in refused(FLEET, text)}


@pytest.mark.parametrize("text", ["x-limits: &a {gpu: 8}\n", "{}\n"])
def test_a_document_of_nothing_but_anchors_is_none_of_another_tool(text: str) -> None:
    assert len(desired(FLEET, text).entries) == 1
