"""The canonical form of a policy: two policies mean the same exactly where their canonical bytes are equal.

Defaults are not filled in: an update replaces a policy whole, so a field that only one side holds is a difference to
show. Strings stay as they are, a final newline included. Runs for both sides of every pool of a plan: it walks only
what the policy holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from better_compute.domain.policy.tree import ROOT, Node
from better_compute.domain.policy.values import effective_ratio, seconds

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def canonical(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a JSON object in which equal values have one spelling.

    A duration is written in seconds (`360m` and `6h` become `21600s`), a ratio is its clamp, a set is sorted without
    doubles, an integral number is an int. A value that is not valid for its field stays the JSON value it is. Applying
    it again changes nothing.
    """
    return {key: _field(value, ROOT.children.get(key)) for key, value in policy.items()}


def canonical_bytes(policy: Mapping[str, Any]) -> bytes:
    """The canonical form as UTF-8 JSON without blanks, keys sorted."""
    return _encode(canonical(policy)).encode("utf-8", "surrogatepass")


def equal(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether two policies mean the same."""
    return left is right or canonical_bytes(left) == canonical_bytes(right)


def _field(value: Any, node: Node | None) -> Any:
    if node is None or not node.compares:
        return _plain(value)
    if isinstance(value, dict):
        return {key: _field(inner, node.children.get(key)) for key, inner in value.items()}
    form = node.entry.form
    if form == "duration":
        length = seconds(value)
        return _plain(value) if length is None else f"{length}s"
    if form == "ratio":
        ratio = effective_ratio(value)
        return _plain(value if ratio is None else ratio)
    if isinstance(value, list) and all(type(member) is str for member in value):
        return sorted(set(value))
    return _plain(value)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
