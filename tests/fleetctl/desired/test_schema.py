"""The JSON Schema for editors: in step with the models, and of one mind with what `validate` says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from fleetctl.desired import check, shape
from fleetctl.desired.load import assemble
from fleetctl.desired.records import Record, meaning
from fleetctl.desired.schema import schema
from fleetctl.files import FilesError
from tests.fleets import Fleet, fleets
from tests.reading import documents

VALIDATOR = Draft202012Validator(schema())

POOL = {"idempotencyKey": "fra1-a", "siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"}
OFFER = {"toTenantId": "acme", "quota": {"gpu": 8}}
HEAD = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}
KEEP = HEAD | {"pools": [POOL]}
ABSENT = object()
WINDOW = {"from": "2026-12-20T00:00Z", "to": "2027-01-02T00:00:00+01:00", "reason": "holidays"}
CHECK = {"name": "a", "severity": "deny", "expr": "true", "message": "all is well"}
EXPECTED = {"key": "fra1-a", "reason": "moving"}
TEMPLATE = {"forEach": {"site": ["fra1", "ams1"], "n": [1, 2]}, "idempotencyKey": "${site}-a-${n}"}
STD = KEEP | {"policies": {"std": {"maxPending": "6h", "acceptance": [{"kind": "diag.nvml"}]}}}


def pool(**fields: Any) -> dict[str, Any]:
    entry = {name: value for name, value in (POOL | fields).items() if value is not ABSENT}
    return HEAD | {"pools": [entry]}


def offer(**fields: Any) -> dict[str, Any]:
    return pool(offers=[{name: value for name, value in (OFFER | fields).items() if value is not ABSENT}])


def validates(document: dict[str, Any]) -> bool:
    """Whether `validate` would let the document pass."""
    try:
        return all(
            p.severity != "error" for p in check.problems(assemble(documents(json.dumps(document)), Path("fleet")))
        )
    except FilesError:
        return False


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_every_field_is_described() -> None:
    records = [schema(), *schema()["$defs"].values()]
    silent = [
        (record.get("title", record["description"]), name)
        for record in records
        for name, field in record["properties"].items()
        if not field.get("description")
    ]
    assert silent == []


def test_what_a_required_field_means_reads_well_behind_a_colon() -> None:
    """`it is missing: …` has one of its own."""
    records: list[type[Record]] = [shape.Check, shape.Embedded, shape.Expected, shape.Freeze, shape.ListedOffer]
    needed = {
        field.description or "" for each in records for field in each.model_fields.values() if field.is_required()
    }
    needed |= {meaning(shape.Pool, name) for name in shape.POOL_NEEDS}
    assert len(needed) > 10
    assert [each for each in needed if ":" in each] == []


def test_no_pattern_counts_far() -> None:
    """To compile one that does takes longer than to read most fleets."""
    counts = re.findall(r'"pattern": "[^"]*[{][0-9]*,?([0-9]+)[}]', json.dumps(schema()))
    assert "127" in counts
    assert max(map(int, counts)) < 1024


GOOD = [
    KEEP,
    KEEP | {"x-anchors": [1, {"a": None}], "x-": 3},
    KEEP | {"fleet": "platform", "keyPrefix": "fra1-", "exclude": ["notes/*.yaml"], "allowEmpty": False},
    KEEP | {"server": "https://compute.example.com:8443/api"},
    KEEP | {"server": "http://[::1]:80"},
    KEEP | {"server": {"embedded": ".fleet/c.db", "world": "world.yaml"}},
    KEEP | {"server": {"embedded": "é" * 1024}},
    pool(forEach={"site": ["", "b"]}, idempotencyKey="a${site}"),
    KEEP | {"defaults": {"pool": {"class": "vps-host", "sharing": "mig"}, "offer": {"priority": -3}}},
    HEAD | {"pools": [], "allowEmpty": True},
    HEAD | {"pools": [{"idempotencyKey": "fra1-a", "archived": True}, {"id": "pool_x", "archived": True}]},
    KEEP | {"offers": [{"pool": "fra1-a", **OFFER}]},
    pool(id="pool_x", idempotencyKey=ABSENT),
    pool(policy={"maxPending": "6h", "anything": {"at": [None, 1.5]}}, ownerQuota={"gpu": 2147483647}),
    pool(**{"class": "provider", "agent": "none", "providerAccountId": "pa_north"}),
    pool(offers="unmanaged"),
    pool(offers=[]),
    pool(**TEMPLATE),
    pool(**TEMPLATE, siteId="site_${site}", gpuModel="H${n}00"),
    pool(**TEMPLATE, id="pool_${site}${n}", offers=[OFFER | {"toTenantId": "${site}"}], policy={"maxPending": "${n}h"}),
    pool(previously="fra1-b", protect=True),
    pool(replaces="fra1-b", released=False),
    HEAD | {"pools": [{"idempotencyKey": "fra1-a", "released": True}, {"id": "pool_x", "released": True}]},
    STD,
    STD | {"pools": [POOL | {"policyRef": "std"}]},
    STD | {"pools": [POOL | {"policyRef": "std", "policy": {"maxPending": None, "overcommit": {"vcpu": None}}}]},
    STD | {"pools": [POOL | {"policyRef": "std", "policy": {"gpu": {"mig": None}, "note": None}}]},
    KEEP | {"policies": {}, "checks": [], "prices": {}, "expected": [], "guards": {}, "previousCallers": []},
    KEEP | {"previousCallers": ["sa_old"], "prices": {"H100": 2.1, "L40S": 0}},
    KEEP | {"expected": [EXPECTED, EXPECTED | {"path": "policy.maxPending", "until": "2026-12-20T00:00Z"}]},
    KEEP | {"checks": [CHECK, CHECK | {"name": "b", "severity": "warn", "each": "pool", "expr": "true\n&& true"}]},
    KEEP | {"guards": {"maxArchives": 0, "maxArchivePercent": 12.5, "maxOversell": None, "allowBelowUse": True}},
    KEEP | {"guards": {"maxOversell": 1.5, "protect": ["fra1-a", "pool_x"], "freeze": [WINDOW]}},
    offer(quota={"gpu": 0, "vcpu": 1, "licences": 3}, priority=-1000, includeDescendants=True),
]
BAD = [
    KEEP | {"apiVersion": "fleet/v2"},
    KEEP | {"tenantId": ""},
    KEEP | {"tenantId": None},
    KEEP | {"keyPrefix": "fr"},
    KEEP | {"tenant": "root"},
    KEEP | {"server": "compute.example.com"},
    KEEP | {"server": {"world": "w"}},
    KEEP | {"server": {"embedded": ""}},
    KEEP | {"server": {"embedded": "a\nb"}},
    KEEP | {"server": {"embedded": "a" * 1025}},
    KEEP | {"server": 3},
    KEEP | {"defaults": {"pool": {"archived": True}}},
    KEEP | {"defaults": {"offer": {"toTenantId": "acme"}}},
    KEEP | {"exclude": "a"},
    KEEP | {"allowEmpty": "yes"},
    KEEP | {"pools": None},
    KEEP | {"pools": {"a": POOL}},
    KEEP | {"pools": [None]},
    KEEP | {"offers": [OFFER]},
    pool(idempotencyKey=ABSENT),
    pool(idempotencyKey="a b"),
    pool(idempotencyKey="é"),
    pool(idempotencyKey=3),
    pool(**{"class": "Metal-Host"}),
    pool(gpuModel="h100"),
    pool(gpuModel=""),
    pool(sharing="solo"),
    pool(agent=None),
    pool(policy=None),
    pool(policy=[]),
    pool(policy={"maxPending": "6 hours"}),
    pool(ownerQuota={}),
    pool(ownerQuota={"gpu": -1}),
    pool(offers=None),
    pool(offers="none"),
    pool(offers={"acme": {"gpu": 8}}),
    pool(archived="true"),
    pool(colour="red"),
    offer(toTenantId=ABSENT),
    offer(quota=ABSENT),
    offer(quota={}),
    offer(quota={"gpu": "32"}),
    offer(quota={"gpu": True}),
    offer(quota={"gpu": 63.9}),
    offer(quota={"gpu": 2147483648}),
    offer(quota={"gpu": None}),
    offer(quota={"GPU": 1}),
    offer(priority="10"),
    offer(priority=1001),
    offer(priority=None),
    offer(includeDescendants="on"),
    offer(quotas={"gpu": 1}),
    pool(idempotencyKey="${site}-a"),
    pool(siteId="site_${site}"),
    pool(offers=[OFFER | {"toTenantId": "${site}"}]),
    pool(**TEMPLATE | {"forEach": {}}),
    pool(**TEMPLATE | {"forEach": None}),
    pool(**TEMPLATE | {"forEach": {"site": []}}),
    pool(**TEMPLATE | {"forEach": {"site": "fra1", "n": [1]}}),
    pool(**TEMPLATE | {"forEach": {"site": [None], "n": [1]}}),
    pool(**TEMPLATE | {"forEach": {"site": ["a", "a"], "n": [1]}}),
    pool(**TEMPLATE | {"forEach": {"a b": ["a"]}}),
    pool(**TEMPLATE, ownerQuota={"gpu": "${n}"}),
    pool(**TEMPLATE, archived="${n}"),
    pool(**TEMPLATE, sharing="solo"),
    pool(**TEMPLATE, colour="${site}"),
    pool(previously=""),
    pool(replaces=None),
    pool(released="yes"),
    pool(protect=1),
    pool(policyRef=3),
    STD | {"pools": [POOL | {"policyRef": "std", "policy": {"maxPending": "6 hours"}}]},
    STD | {"pools": [POOL | {"policyRef": "std", "policy": {"acceptance": [{"kind": None}]}}]},
    pool(policy={"maxPending": None}),
    KEEP | {"policies": None},
    KEEP | {"policies": {"std": None}},
    KEEP | {"policies": {"a b": {}}},
    KEEP | {"previousCallers": "sa_old"},
    KEEP | {"prices": {"h100": 1}},
    KEEP | {"prices": {"H100": -1}},
    KEEP | {"prices": {"H100": "1"}},
    KEEP | {"expected": [{"key": "fra1-a"}]},
    KEEP | {"expected": [EXPECTED | {"until": "2026-12-20"}]},
    KEEP | {"checks": [CHECK | {"severity": "error"}]},
    KEEP | {"checks": [CHECK | {"each": "pools"}]},
    KEEP | {"checks": [CHECK | {"expr": " "}]},
    KEEP | {"checks": [CHECK | {"message": ""}]},
    KEEP | {"checks": {"a": CHECK}},
    KEEP | {"guards": None},
    KEEP | {"guards": {"maxArchives": None}},
    KEEP | {"guards": {"maxArchives": -1}},
    KEEP | {"guards": {"maxArchivePercent": 101}},
    KEEP | {"guards": {"maxOversell": "1.5"}},
    KEEP | {"guards": {"protect": "fra1-a"}},
    KEEP | {"guards": {"freeze": [WINDOW | {"to": "2027-01-02T00:00"}]}},
    KEEP | {"guards": {"freeze": [{"from": "2026-12-20T00:00Z"}]}},
    KEEP | {"guards": {"limit": 3}},
]


@pytest.mark.parametrize("document", GOOD, ids=json.dumps)
def test_what_is_right_is_right_for_both(document: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(document)
    assert validates(document)


@pytest.mark.parametrize("document", BAD, ids=json.dumps)
def test_what_is_wrong_is_wrong_for_both(document: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(document)
    assert not validates(document)


def test_a_fraction_of_zero_is_a_whole_number_to_json_schema_alone() -> None:
    assert VALIDATOR.is_valid(offer(quota={"gpu": 32.0}))
    assert not validates(offer(quota={"gpu": 32.0}))


@given(fleets())
def test_generated_fleets_are_valid(fleet: Fleet) -> None:
    for document in fleet.documents():
        assert [error.message for error in VALIDATOR.iter_errors(document)] == []
