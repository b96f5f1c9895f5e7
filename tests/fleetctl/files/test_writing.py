"""What is written as YAML is read back as it was, by this reader and, where it may, by an older one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.files import read_text
from fleetctl.files.writing import to_yaml

WORDS = "no on Yes OFF y N true False null NULL ~ a:b # = << --- ... *a &a !a @a `a %a | > {a} [a] a] ' \" \\ \\u0041"
NUMERALS = (
    "0010 007 1e3 1E3 0x1f 0o17 0b1 1_000 12:30 12:30:45 1.5 .5 5. -1 +1 2026-12-20 2026-12-20T00:00Z .inf .nan -.INF"
)
NAMES = "6h 1g.10gb 7d 90s ${site} $${ zażółć \U0001f600 NVIDIA_H100"
BLANKS = ("", " ", " a", "a ", "a: b", "a #b", "--- a", "- a", "? a", "a, b", "NVIDIA H100 80GB HBM3")
CONTROLS = (
    "a\nb",
    "\n",
    "\r",
    "a\r\nb",
    "\ttab",
    "tab\t",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\ufffe",
    "\uffff",
    "\u202ex",
    "\xa0",
)
TRAPS = (*WORDS.split(), *NUMERALS.split(), *NAMES.split(), *BLANKS, *CONTROLS, "a" * 3000, "é" * 3000)
REFUSED = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), *range(127, 160))))
HOSTILE = st.sampled_from(TRAPS) | st.text(st.characters(codec="utf-8", exclude_characters=REFUSED), max_size=20)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-(2.0**53), 2.0**53, allow_nan=False)
LEAVES = st.none() | st.booleans() | NUMBERS | HOSTILE
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE, inner, max_size=4))


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
