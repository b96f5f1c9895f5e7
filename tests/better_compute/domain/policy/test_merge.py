"""The policy at a pool is laid over the one it refers to as RFC 7396 says."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from better_compute.domain.policy import merge
from tests.better_compute.domain.policy.strategies import json_values, law


@pytest.mark.parametrize(
    ("base", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {"b": [None]}, {"a": 1, "b": [None]}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 0}, {"a": False}, {"a": False}),
    ],
)
def test_a_patch_is_merged(base: Any, patch: Any, result: Any) -> None:
    assert repr(merge(base, patch)) == repr(result)


@law
@given(json_values, json_values)
def test_merging_again_changes_nothing_and_neither_input_is_touched(base: Any, patch: Any) -> None:
    before = copy.deepcopy((base, patch))
    merged = merge(base, patch)
    assert merge(merged, patch) == merged
    assert (base, patch) == before
