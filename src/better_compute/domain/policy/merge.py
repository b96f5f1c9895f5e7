"""How a policy that is written at a pool is laid over the one it refers to."""

from __future__ import annotations

from typing import Any


def merge(base: Any, patch: Any) -> Any:
    """`patch` over `base` by JSON merge patch (RFC 7396): objects merge, null removes a field, all else replaces.

    Neither input changes; parts that stay as they are may be shared with the result.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged
