"""Two policies mean the same exactly where their canonical bytes are equal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from better_compute.domain.policy import canonical, canonical_bytes, equal
from tests.better_compute.domain.policy.strategies import json_values, law, policies


def alike(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Both ways in which two policies can be asked for; they must agree."""
    by_bytes = canonical_bytes(left) == canonical_bytes(right)
    assert equal(left, right) is equal(right, left) is by_bytes
    return by_bytes


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"maxPending": "360m"}, {"maxPending": "6h"}),
        ({"maxPending": "90d"}, {"maxPending": "7776000s"}),
        ({"maxPending": "06h"}, {"maxPending": "6h"}),
        ({"overcommit": 200}, {"overcommit": 100}),
        ({"overcommit": 0.01}, {"overcommit": 0.1}),
        ({"overcommit": {"vcpu": 1e9}}, {"overcommit": {"vcpu": 100.0}}),
        ({"joinAttestors": ["tpm", "join-token", "tpm"]}, {"joinAttestors": ["join-token", "tpm"]}),
        ({"note": 1}, {"note": 1.0}),
        ({"note": 0}, {"note": -0.0}),
        ({"note": [{"a": 2.0, "b": 1}]}, {"note": [{"b": 1.0, "a": 2}]}),
        ({"hugepages": {"1Gi": 64, "2Mi": 0}}, {"hugepages": {"2Mi": 0, "1Gi": 64.0}}),
        ({}, {}),
    ],
)
def test_two_spellings_of_one_policy_are_equal(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert alike(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"maxPending": "6h"}, {"maxPending": "7h"}),
        ({"maxPending": "17s"}, {"maxPending": 17}),
        ({"maxPending": "6h"}, {"maxPending": 21600}),
        ({"maxPending": "6h"}, {"maxPending": "6H"}),
        ({"maxPending": "0s"}, {"maxPending": "0h"}),
        ({"maxPending": "91d"}, {"maxPending": "2184h"}),
        ({"maxPending": "6h"}, {"maxPending": "6h\n"}),
        ({"MaxPending": "360m"}, {"MaxPending": "6h"}),
        ({"note": {"maxPending": "360m"}}, {"note": {"maxPending": "6h"}}),
        ({"overcommit": 0}, {"overcommit": 0.1}),
        ({"overcommit": -1}, {"overcommit": 0.1}),
        ({"overcommit": True}, {"overcommit": 1}),
        ({"overcommit": "200"}, {"overcommit": "100"}),
        ({"overcommit": {"gpu": 200}}, {"overcommit": {"gpu": 100}}),
        ({"acceptance": [{"kind": "a"}, {"kind": "b"}]}, {"acceptance": [{"kind": "b"}, {"kind": "a"}]}),
        ({"joinAttestors": ["a", 1]}, {"joinAttestors": [1, "a"]}),
        ({"note": True}, {"note": 1}),
        ({"note": False}, {"note": 0}),
        ({"note": "1"}, {"note": 1}),
        ({"note": None}, {}),
        ({"note": None}, {"note": ""}),
        ({"note": []}, {"note": {}}),
        ({"note": "keep for launch\n"}, {"note": "keep for launch"}),
        ({"note": "é"}, {"note": "e\u0301"}),
        ({"note": "\ud83d\ude00"}, {"note": "\U0001f600"}),
        ({"note": "\ud800"}, {"note": "\ud801"}),
        ({"singleTenant": False}, {}),
        ({"note": 2**53}, {"note": 2**53 + 1}),
        ({"note": 10**22}, {"note": 10**22 + 1}),
    ],
)  # fmt: skip
def test_different_policies_are_not_equal(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert not alike(left, right)


def test_the_canonical_form_holds_what_the_policy_holds_and_nothing_more() -> None:
    policy = {
        "maxPending": "6h",
        "overcommit": {"vcpu": 1000},
        "note": "as given\n",
        "hostReserve": {"memoryGiB": 16.0},
    }
    assert canonical(policy) == {
        "maxPending": "21600s",
        "overcommit": {"vcpu": 100},
        "note": "as given\n",
        "hostReserve": {"memoryGiB": 16},
    }


def test_the_bytes_are_compact_sorted_json() -> None:
    policy = {"singleTenant": True, "maxPending": "1m", "note": "ż"}
    assert canonical_bytes(policy) == '{"maxPending":"60s","note":"ż","singleTenant":true}'.encode()


def test_a_policy_is_not_changed_by_comparing_it() -> None:
    policy = {"joinAttestors": ["b", "a"], "overcommit": {"vcpu": 200}}
    canonical(policy)
    assert policy == {"joinAttestors": ["b", "a"], "overcommit": {"vcpu": 200}}


@law
@given(policies)
def test_the_canonical_form_is_its_own_canonical_form(policy: dict[str, Any]) -> None:
    once = canonical(policy)
    assert canonical_bytes(once) == canonical_bytes(policy)
    assert json.dumps(canonical(once)) == json.dumps(once)


@law
@given(policies, policies, policies)
def test_equality_is_an_equivalence(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert alike(a, json.loads(json.dumps(a)))
    if alike(a, b) and alike(b, c):
        assert alike(a, c)


def same(a: Any, b: Any) -> bool:
    """What the canonical form must tell apart in fields that compare as JSON, written in the slow and plain way."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return isinstance(a, bool) is isinstance(b, bool) and bool(a == b)


@law
@given(json_values, json_values)
def test_unknown_fields_compare_as_json(left: Any, right: Any) -> None:
    for other in (left, right, json.loads(json.dumps(left))):
        assert alike({"note": left}, {"note": other}) is same(left, other)
