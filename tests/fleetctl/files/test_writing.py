"""What is written as YAML is read back as it was, by this reader and, where it may, by an older one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.files import read_text
from fleetctl.files.writing import to_yaml
from tests.fleetctl.files.hostile import HOSTILE, TRAPS, VALUES


def same(left: Any, right: Any) -> bool:
    """Equal to the type."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [*left] == [*right] and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


def read(text: str) -> Any:
    (document,) = read_text(text.encode(), "x.yaml")
    return document.root


@given(st.dictionaries(HOSTILE, VALUES, min_size=1, max_size=4))
def test_everything_is_read_back_as_it_was(value: dict[str, Any]) -> None:
    assert same(read(to_yaml(value)), value)


@pytest.mark.parametrize("text", TRAPS)
def test_a_text_stays_a_text_for_readers_of_yaml_1_1_too(text: str) -> None:
    for value in ({text: text}, {"a": {"b": {"c": {text: [text, {text: text}]}}}}):
        written = to_yaml(value)
        assert read(written) == value
        assert yaml.safe_load(written) == value


@given(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e-7, -1e22, 5e-324, -0.0]))
def test_a_number_is_one_for_readers_of_yaml_1_1_too(value: float) -> None:
    written = to_yaml({"a": value})
    assert same(read(written), {"a": value})
    assert same(yaml.safe_load(written), {"a": value})


def test_what_is_deep_is_read_back() -> None:
    value: Any = "no"
    for depth in range(60):
        value = [value, {}] if depth % 3 else {"a": value, "b": []}
    assert read(to_yaml({"deep": value})) == {"deep": value}


def test_it_is_written_as_people_would() -> None:
    entry = {
        "idempotencyKey": "fra1-h100",
        "policy": {"maxPending": "6h", "gpu": {"mig": {"devices": {"1g.10gb": 7}}}, "iommu": "on"},
        "offers": [{"toTenantId": "acme", "quota": {"gpu": 32}}, {"toTenantId": "no", "quota": {"gpu": 8}}],
    }
    assert (
        to_yaml({"tenantId": "root", "pools": [entry]})
        == """\
tenantId: root
pools:
  - idempotencyKey: fra1-h100
    policy: {maxPending: 6h, gpu: {mig: {devices: {1g.10gb: 7}}}, iommu: "on"}
    offers:
      - {toTenantId: acme, quota: {gpu: 32}}
      - {toTenantId: "no", quota: {gpu: 8}}
"""
    )


def test_what_has_no_room_on_one_line_has_several() -> None:
    written = to_yaml({"a": {"b": {"names": ["abcdefghi"] * 9, "more": ["abcdefghi"] * 8}}})
    assert max(map(len, written.splitlines())) <= 100
    assert written.count("\n      - abcdefghi") == 9
    assert "more: [abcdefghi, abcdefghi" in written


def test_what_shows_nothing_is_seen() -> None:
    assert to_yaml({"a": "b\u202e\u200bc\xa0\U000e0101"}) == 'a: "b\\u202e\\u200bc\\u00a0\\U000e0101"\n'
