"""Each module's schema is made from the table, and says the same as the checks as far as a schema can."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from better_compute.domain.policy import check_policy
from better_compute.domain.policy.fields import FIELDS, MODULES, Module
from better_compute.domain.policy.schemas import schema

VALIDATORS = {module: Draft202012Validator(schema(module)) for module in MODULES}

GOOD: list[dict[str, Any]] = [
    {},
    {"anything": {"else": [None, 1.5, ""]}},
    {"acceptance": [{"kind": "diag.nvml"}, {"kind": "burn.1h", "minutes": 60}]},
    {"acceptance": []},
    {"maxPending": "6h"},
    {"maxPending": "0090d"},
    {"singleTenant": False},
    {"overcommit": 2},
    {"overcommit": 1000},
    {"overcommit": {"vcpu": 0.5, "memoryGiB": 1, "diskGiB": 3.5}},
    {"hostReserve": {"vcpu": 4, "memoryGiB": 16.5}},
    {"admission": {"budgetCheck": "meter"}},
    {"joinAttestors": ["join-token", "tpm"]},
    {"hugepages": {"2Mi": 0, "1Gi": 64, "defaultSize": "1Gi"}},
    {"hugepages": {"numa": [{"node": 0, "size": "1Gi", "count": 4}, {"node": 63, "size": "1Gi", "count": 4}]}},
    {
        "kernelModules": [
            {"name": "nvme_tcp", "parameters": ["max_queues=8", "debug"]},
            {"name": "x", "state": "blacklist"},
        ]
    },
    {"cpu": {"isolated": "4-63,68", "reserved": "0-3", "governor": "performance", "smt": "off"}},
    {"cpu": {"mitigations": "auto,nosmt", "numaPolicy": "single-numa-node"}},
    {"iommu": "pt"},
    {"gpu": {"driver": {"version": "595.91.07", "kernelModule": "open"}, "persistence": True, "ecc": True}},
    {"gpu": {"mig": {"strategy": "mixed", "devices": {"1g.10gb": 2, "3g.40gb": 1, "1g.10gb+me": 1}}}},
    {"gpu": {"slots": 48, "powerLimitWatts": 1500, "computeMode": "default"}},
    {"kubernetes": {"version": "v1.31.2", "maxPods": 250, "labels": {"example.com/tier": "gold", "zone": ""}}},
    {"kubernetes": {"taints": [{"key": "dedicated", "value": "acme", "effect": "NoSchedule"}]}},
]

# The field that is wrong, by its path in the table, and policies in which nothing else is.
BAD: list[tuple[str, dict[str, Any]]] = [
    ("acceptance", {"acceptance": {"kind": "diag.nvml"}}),
    ("acceptance", {"acceptance": ["diag.nvml"]}),
    ("acceptance.kind", {"acceptance": [{}]}),
    ("acceptance.kind", {"acceptance": [{"kind": "Diag.NVML"}]}),
    ("acceptance.kind", {"acceptance": [{"kind": ""}]}),
    ("acceptance.kind", {"acceptance": [{"kind": None}]}),
    ("maxPending", {"maxPending": 17}),
    ("maxPending", {"maxPending": "0h"}),
    ("maxPending", {"maxPending": "PT6H"}),
    ("maxPending", {"maxPending": "-6h"}),
    ("maxPending", {"maxPending": "6"}),
    ("maxPending", {"maxPending": ""}),
    ("maxPending", {"maxPending": "٦h"}),
    ("singleTenant", {"singleTenant": "true"}),
    ("singleTenant", {"singleTenant": 1}),
    ("singleTenant", {"singleTenant": None}),
    ("overcommit", {"overcommit": 0}),
    ("overcommit", {"overcommit": -2}),
    ("overcommit", {"overcommit": True}),
    ("overcommit", {"overcommit": "2"}),
    ("overcommit.vcpu", {"overcommit": {"vcpu": 0}}),
    ("overcommit.diskGiB", {"overcommit": {"diskGiB": [2]}}),
    ("hostReserve", {"hostReserve": 4}),
    ("hostReserve.vcpu", {"hostReserve": {"vcpu": -1}}),
    ("hostReserve.vcpu", {"hostReserve": {"vcpu": 1.5}}),
    ("hostReserve.memoryGiB", {"hostReserve": {"memoryGiB": -0.5}}),
    ("hostReserve.memoryGiB", {"hostReserve": {"memoryGiB": "16"}}),
    ("admission", {"admission": "meter"}),
    ("admission.budgetCheck", {"admission": {"budgetCheck": "metre"}}),
    ("joinAttestors", {"joinAttestors": "join-token"}),
    ("joinAttestors", {"joinAttestors": []}),
    ("joinAttestors", {"joinAttestors": [7]}),
    ("joinAttestors", {"joinAttestors": [""]}),
    ("joinAttestors", {"joinAttestors": ["tpm", "tpm"]}),
    ("hugepages", {"hugepages": 64}),
    ("hugepages.1Gi", {"hugepages": {"1Gi": -1}}),
    ("hugepages.2Mi", {"hugepages": {"2Mi": "64"}}),
    ("hugepages.defaultSize", {"hugepages": {"defaultSize": "512Mi"}}),
    ("hugepages.numa", {"hugepages": {"numa": {}}}),
    ("hugepages.numa.node", {"hugepages": {"numa": [{"node": 64, "size": "1Gi", "count": 1}]}}),
    ("hugepages.numa.size", {"hugepages": {"numa": [{"node": 0, "size": "1G", "count": 1}]}}),
    ("hugepages.numa.count", {"hugepages": {"numa": [{"node": 0, "size": "1Gi"}]}}),
    ("kernelModules", {"kernelModules": ["nvme_tcp"]}),
    ("kernelModules.name", {"kernelModules": [{"name": "drivers/nvme.ko"}]}),
    ("kernelModules.name", {"kernelModules": [{"name": "x" * 56}]}),
    ("kernelModules.name", {"kernelModules": [{}]}),
    ("kernelModules.parameters", {"kernelModules": [{"name": "a", "parameters": ["a b"]}]}),
    ("kernelModules.parameters", {"kernelModules": [{"name": "a", "parameters": "a=1"}]}),
    ("kernelModules.state", {"kernelModules": [{"name": "a", "state": "off"}]}),
    ("cpu", {"cpu": "4-63"}),
    ("cpu.isolated", {"cpu": {"isolated": ""}}),
    ("cpu.isolated", {"cpu": {"isolated": "4-"}}),
    ("cpu.reserved", {"cpu": {"reserved": 4}}),
    ("cpu.governor", {"cpu": {"governor": "fast"}}),
    ("cpu.smt", {"cpu": {"smt": True}}),
    ("cpu.mitigations", {"cpu": {"mitigations": "nosmt"}}),
    ("cpu.numaPolicy", {"cpu": {"numaPolicy": "single"}}),
    ("iommu", {"iommu": True}),
    ("iommu", {"iommu": "intel"}),
    ("gpu", {"gpu": []}),
    ("gpu.driver", {"gpu": {"driver": "595.91.07"}}),
    ("gpu.driver.version", {"gpu": {"driver": {"version": "595"}}}),
    ("gpu.driver.version", {"gpu": {"driver": {"version": "440.10"}}}),
    ("gpu.driver.version", {"gpu": {"driver": {"version": 595.91}}}),
    ("gpu.driver.kernelModule", {"gpu": {"driver": {"kernelModule": "nouveau"}}}),
    ("gpu.mig", {"gpu": {"mig": "single"}}),
    ("gpu.mig.strategy", {"gpu": {"mig": {"strategy": "all"}}}),
    ("gpu.mig.devices", {"gpu": {"mig": {"devices": ["1g.10gb"]}}}),
    ("gpu.mig.devices", {"gpu": {"mig": {"devices": {"8g.10gb": 1}}}}),
    ("gpu.mig.devices", {"gpu": {"mig": {"devices": {"1g.10gb": 0}}}}),
    ("gpu.mig.devices", {"gpu": {"mig": {"devices": {"1g.10gb": True}}}}),
    ("gpu.slots", {"gpu": {"slots": 1}}),
    ("gpu.slots", {"gpu": {"slots": 65}}),
    ("gpu.slots", {"gpu": {"slots": "4"}}),
    ("gpu.persistence", {"gpu": {"persistence": "true"}}),
    ("gpu.ecc", {"gpu": {"ecc": 0}}),
    ("gpu.powerLimitWatts", {"gpu": {"powerLimitWatts": 49}}),
    ("gpu.powerLimitWatts", {"gpu": {"powerLimitWatts": 1501}}),
    ("gpu.computeMode", {"gpu": {"computeMode": "shared"}}),
    ("kubernetes", {"kubernetes": "v1.31.2"}),
    ("kubernetes.version", {"kubernetes": {"version": "1.31.2"}}),
    ("kubernetes.version", {"kubernetes": {"version": "v1.31"}}),
    ("kubernetes.version", {"kubernetes": {"version": "v1.31.02"}}),
    ("kubernetes.version", {"kubernetes": {"version": "v1.23.1"}}),
    ("kubernetes.labels", {"kubernetes": {"labels": ["a"]}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"a": 1}}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"a": "x" * 64}}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"-a": "x"}}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"": "x"}}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"kubernetes.io/os": "linux"}}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"node.kubernetes.io/x": "y"}}}),
    ("kubernetes.labels", {"kubernetes": {"labels": {"nvidia.com/gpu.count": "8"}}}),
    ("kubernetes.taints", {"kubernetes": {"taints": {}}}),
    ("kubernetes.taints.effect", {"kubernetes": {"taints": [{"key": "a", "effect": "noSchedule"}]}}),
    ("kubernetes.taints.key", {"kubernetes": {"taints": [{"key": "a b", "effect": "NoExecute"}]}}),
    ("kubernetes.taints.value", {"kubernetes": {"taints": [{"key": "a", "value": 1, "effect": "NoExecute"}]}}),
    ("kubernetes.maxPods", {"kubernetes": {"maxPods": 0}}),
]

# A schema cannot say it: lengths of time, order within a text, what a JSON number was written like, other fields.
BEYOND: list[tuple[str, dict[str, Any]]] = [
    ("maxPending", {"maxPending": "91d"}),
    ("hugepages.1Gi", {"hugepages": {"1Gi": 64.0}}),
    ("cpu.isolated", {"cpu": {"isolated": "63-4"}}),
    ("gpu.mig.devices", {"gpu": {"mig": {"devices": {"1g.11gb": 1}}}}),
    ("acceptance.kind", {"acceptance": [{"kind": "a"}, {"kind": "a"}]}),
]


def by_schema(policy: dict[str, Any]) -> bool:
    return all(validator.is_valid(policy) for validator in VALIDATORS.values())


def refusing_rules(policy: dict[str, Any]) -> set[str]:
    found = check_policy(policy, sharing=None, class_=None, attestors=frozenset({"tpm"}))
    return {problem.rule for problem in found if problem.severity == "error"}


@pytest.mark.parametrize("module", MODULES)
def test_the_schemas_are_schemas(module: Module) -> None:
    Draft202012Validator.check_schema(schema(module))


@pytest.mark.parametrize("policy", GOOD)
def test_schema_and_checks_accept_the_same(policy: dict[str, Any]) -> None:
    assert by_schema(policy)
    assert refusing_rules(policy) == set()


@pytest.mark.parametrize(("field", "policy"), BAD)
def test_schema_and_checks_refuse_the_same(field: str, policy: dict[str, Any]) -> None:
    assert not by_schema(policy)
    assert refusing_rules(policy) == {f"policy.{field}"}


@pytest.mark.parametrize(("field", "policy"), BEYOND)
def test_the_checks_know_more_than_a_schema_can_say(field: str, policy: dict[str, Any]) -> None:
    assert by_schema(policy)
    assert refusing_rules(policy) == {f"policy.{field}"}


def test_every_field_is_tried_with_a_good_and_a_bad_value() -> None:
    names = {path.replace("[]", "").replace("{}", "") for path in FIELDS}
    assert names - {field for field, _ in BAD} == {"overcommit.memoryGiB"}
    written = json.dumps(GOOD)
    assert {name for name in names if f'"{name.rpartition(".")[2]}"' not in written} == set()


def test_a_field_belongs_to_one_module_and_the_others_leave_it_open() -> None:
    assert not VALIDATORS["capacity"].is_valid({"maxPending": 17})
    assert VALIDATORS["server"].is_valid({"maxPending": 17})
    assert VALIDATORS["provision"].is_valid({"maxPending": 17})


def test_the_schema_says_what_does_not_compare_as_json() -> None:
    marked = {
        name: entry["x-form"]
        for module in MODULES
        for name, entry in schema(module)["properties"].items()
        if "x-form" in entry
    }
    assert marked == {"maxPending": "duration", "overcommit": "ratio", "joinAttestors": "set"}
