"""Named policies: merged as RFC 7396 says, and what is wrong in them is found where it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.problems import Source
from fleetctl.desired import check
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.policies import merged
from fleetctl.files import Map, read_text
from tests.reading import HEAD, desired, judged, refusal, refused, said

POLICIES = """\
policies:
  std:
    maxPending: 6h
    acceptance: [{kind: diag.nvml}]
    hostReserve: {vcpu: 4, memoryGiB: 16}
"""


def pools(*entries: str) -> str:
    fields = "siteId: s, class: metal-host, gpuModel: H100"
    return "pools:\n" + "".join(f"  - {{idempotencyKey: k{n}, {fields}, {more}}}\n" for n, more in enumerate(entries))


def policy(more: str, policies: str = POLICIES) -> Mapping[str, Any]:
    (entry,) = desired(HEAD + policies + pools(more)).entries.values()
    assert entry.pool
    return entry.pool.policy


@pytest.mark.parametrize("own", ["", ", policy: {}"])
def test_a_reference_alone_is_that_policy(own: str) -> None:
    assert policy("policyRef: std" + own) == {
        "maxPending": "6h",
        "acceptance": [{"kind": "diag.nvml"}],
        "hostReserve": {"vcpu": 4, "memoryGiB": 16},
    }


def test_null_removes_a_field_maps_are_merged_and_lists_are_taken_whole() -> None:
    own = "policy: {maxPending: null, acceptance: [null, {kind: burn.gemm}], hostReserve: {vcpu: null}, a: {b: null}}"
    assert policy("policyRef: std, " + own) == {
        "acceptance": [None, {"kind": "burn.gemm"}],
        "hostReserve": {"memoryGiB": 16},
        "a": {},
    }


def test_a_null_of_the_named_policy_and_one_without_a_reference_are_values() -> None:
    assert policy("policyRef: std", "policies: {std: {note: null}}\n") == {"note": None}
    assert policy("policy: {note: null}") == {"note": None}


def test_policies_of_all_documents_are_united() -> None:
    one, other = "policies: {a: {note: x}}", "policies: {b: {note: y}}"
    made = desired(HEAD + pools("policyRef: b", "policyRef: a"), one, other)
    assert sorted(e.pool.policy["note"] for e in made.entries.values() if e.pool) == ["x", "y"]
    assert made.files == {"0.yaml", "1.yaml", "2.yaml"}


def test_a_policy_that_no_entry_names_is_no_mistake() -> None:
    assert judged(HEAD + POLICIES + pools("policy: {}")) == []


def test_a_fleet_with_references_wishes_what_one_without_them_does() -> None:
    short = desired(HEAD + POLICIES + pools("policyRef: std, policy: {hostReserve: {vcpu: 2}, maxPending: null}"))
    long = desired(HEAD + pools("policy: {hostReserve: {vcpu: 2, memoryGiB: 16}, acceptance: [{kind: diag.nvml}]}"))
    assert canonical_inputs(short) == canonical_inputs(long)
    assert [e.pool for e in short.entries.values()] == [e.pool for e in long.entries.values()]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sdt", 'did you mean "std"?'),
        ("STD", 'did you mean "std"?'),
        ("h100-standard", "write it under policies: in any document of the fleet"),
    ],
)
def test_a_reference_to_no_policy_is_refused_with_the_nearest(name: str, hint: str) -> None:
    problem = refusal(HEAD + POLICIES + pools(f"policyRef: {name}"))
    assert (problem.rule, problem.path, problem.hint) == ("fleet.policyRef", "pools[k0].policyRef", hint)
    assert problem.source == Source("0.yaml", 10, 83)


def test_a_name_that_stands_twice_is_refused_with_both_places() -> None:
    problem = refusal(HEAD + POLICIES + pools("policyRef: std"), "\npolicies: {std: {}}")
    assert (problem.rule, problem.path, problem.source) == ("fleet.twice", "policies.std", Source("1.yaml", 2, 12))
    assert "0.yaml:5:3" in problem.message


@pytest.mark.parametrize(
    ("policies", "path", "words"),
    [
        ("policies:\n", "policies", "write {} for none here"),
        ("policies: []\n", "policies", "a map of names to policies, not an empty list"),
        ("policies: {std: }\n", "policies.std", "write {} for no field"),
        ("policies: {std: h100}\n", "policies.std", "a map of policy fields"),
        ("policies: {std: []}\n", "policies.std", "not an empty list"),
        ("policies: {a b: {}}\n", "policies.a b", "write a-b"),
        ("policies: {é: {}}\n", "policies.é", "write e"),
        ("policy: {std: {}}\n", "policy", "a field of its pools[]"),
        ("polices: {std: {}}\n", "polices", 'did you mean "policies"?'),
    ],
)
def test_what_is_wrong_with_the_policies_is_one_finding_whatever_refers_to_them(
    policies: str, path: str, words: str
) -> None:
    (problem,) = found = [p for p in refused(HEAD + policies + pools("policy: {}", "policyRef: std")) if p.path == path]
    assert words in f"{problem.message} {problem.hint}", said(found)
    if not path.startswith("policy"):
        assert len(refused(HEAD + policies + pools("policyRef: std"))) == 1


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ("policyRef: ", "write the name of one of the policies"),
        ("policyRef: 3", 'in quotes it is text: "3"'),
        ('policyRef: ""', "not empty"),
        ("policyRef: [std]", "not a list"),
        ("policyRef: {maxPending: 6h}", "not a map"),
        ("policyRef: std, policy: ", "write {} for no policy"),
        ("policyRef: std, policy: []", "not an empty list"),
        ("policy: std", "the name of one of the policies stands in policyRef"),
        ("policyref: std", 'did you mean "policyRef"?'),
    ],
)
def test_references_are_exact(own: str, words: str) -> None:
    problem = refusal(HEAD + POLICIES + pools(own))
    assert words in f"{problem.message} {problem.hint}"


def test_what_a_rule_refuses_is_found_where_it_is_written() -> None:
    fields = ["hostReserve: {vcpu: 4, memoryGiB: -16}", "hugepages: {1Gi: -1}", "maxPending: 6 h"]
    base = "policies:\n  std:\n" + "".join(f"    {field}\n" for field in fields)
    own = "policyRef: std, policy: {hostReserve: {vcpu: -5}, acceptance: [{kind: 3}], hugepages: {1Gi: 2}}"
    text = pools(own)
    problems = judged(HEAD + text, base)
    assert {p.path.partition("policy.")[2]: str(p.source) for p in problems} == {
        "hostReserve.memoryGiB": "1.yaml:3:39",
        "maxPending": "1.yaml:5:17",
        "hostReserve.vcpu": f"0.yaml:5:{text.splitlines()[1].index('-5') + 1}",
        "acceptance[0].kind": f"0.yaml:5:{text.splitlines()[1].index('3}]') + 1}",
    }


def test_what_many_entries_take_from_a_policy_is_told_once() -> None:
    text = HEAD + POLICIES.replace("6h", "6 h") + pools(*["policyRef: std"] * 20)
    (problem,) = judged(text)
    assert problem.source == Source("0.yaml", 6, 17)


def test_an_entry_points_to_its_reference_where_it_has_no_policy_of_its_own() -> None:
    (entry,) = desired(HEAD + POLICIES + pools("policyRef: std")).entries.values()
    assert entry.place.source("policy") == entry.place.source("policyRef") == Source("0.yaml", 10, 83)
    assert check.problems(desired(HEAD + POLICIES + pools("policyRef: std"))) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
MAPS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(MAPS, MAPS)
def test_merging_is_that_of_rfc_7396(base: dict[str, Any], patch: dict[str, Any]) -> None:
    def apply(target: Any, change: Any) -> Any:
        if not isinstance(change, dict):
            return change
        result = dict(target) if isinstance(target, dict) else {}
        for name, value in change.items():
            result.pop(name, None) if value is None else result.update({name: apply(result.get(name), value)})
        return result

    (one,) = read_text(json.dumps({"x": base, "y": patch}).encode(), "a.yaml")
    made = merged(one.root["x"], one.root["y"])
    assert made == apply(base, patch)
    assert isinstance(made, Map)
    assert all(one.root.lines.text[made.offset(name, of_key=True)] == '"' for name in made)
