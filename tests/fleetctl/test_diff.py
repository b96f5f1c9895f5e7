"""What differs between two policies and two offers, as a reader sees it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from better_compute.domain.policy import canonical_bytes
from better_compute.domain.state import Terms
from fleetctl.diff import ABSENT, Change, offer_changes, policy_changes

SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, "", "6h", "360m", "1"])
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c.d"]), v, max_size=3)
)
POLICIES = st.dictionaries(st.sampled_from(["maxPending", "note", "joinAttestors", "hugepages", "gpu", "x"]), VALUES)


@given(POLICIES, POLICIES)
@settings(max_examples=400, deadline=None)
def test_policies_differ_exactly_when_a_difference_is_shown(one: dict[str, Any], other: dict[str, Any]) -> None:
    changes = policy_changes(one, other)
    assert bool(changes) == (canonical_bytes(one) != canonical_bytes(other))
    assert len({change.path for change in changes}) == len(changes)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"maxPending": "6h"}, {"maxPending": "360m"}, []),
        ({"maxPending": "6h"}, {"maxPending": "12h"}, [("policy.maxPending", "6h", "12h")]),
        ({"n": 1}, {"n": 1.0}, []),
        ({"n": 1}, {"n": True}, [("policy.n", 1, True)]),
        ({"n": None}, {}, [("policy.n", None, ABSENT)]),
        ({"joinAttestors": ["a", "b"]}, {"joinAttestors": ["b", "a"]}, []),
        ({"joinAttestors": ["a"]}, {"joinAttestors": ["b", "a"]}, [("policy.joinAttestors", ["a"], ["b", "a"])]),
        ({"l": [1, 2]}, {"l": [2, 1]}, [("policy.l", [1, 2], [2, 1])]),
        (
            {"gpu": {"slots": 4, "ecc": True}},
            {"gpu": {"slots": 8, "persistence": True}},
            [
                ("policy.gpu.ecc", True, ABSENT),
                ("policy.gpu.persistence", ABSENT, True),
                ("policy.gpu.slots", 4, 8),
            ],
        ),
    ],
)
def test_a_policy_is_shown_leaf_by_leaf(before: Any, after: Any, changes: list[tuple[str, Any, Any]]) -> None:
    assert policy_changes(before, after) == tuple(Change(*change) for change in changes)


def test_live_only_fields_are_shown_as_removed_line_by_line() -> None:
    live = {"acceptance": [{"kind": "diag.nvml"}], "maxPending": "6h", "hugepages": {"1Gi": 64}}
    assert [(c.path, c.after) for c in policy_changes(live, {"note": "new"})] == [
        ("policy.acceptance", ABSENT),
        ("policy.hugepages", ABSENT),
        ("policy.maxPending", ABSENT),
        ("policy.note", "new"),
    ]


def test_a_row_of_zero_and_no_row_are_equal_in_an_offer() -> None:
    assert offer_changes(Terms({"gpu": 1, "vcpu": 0}), Terms({"gpu": 1})) == ()


def test_a_row_that_goes_and_one_that_falls_to_zero_look_different() -> None:
    gone = offer_changes(Terms({"gpu": 1, "vcpu": 8}), Terms({"gpu": 0}))
    assert gone == (Change("quota.gpu", 1, 0), Change("quota.vcpu", 8, ABSENT))


def test_priority_and_descendants_are_compared_by_value_and_not_by_truth() -> None:
    changes = offer_changes(Terms({}, 10, True), Terms({}, 0, False))
    assert changes == (Change("priority", 10, 0), Change("includeDescendants", True, False))
