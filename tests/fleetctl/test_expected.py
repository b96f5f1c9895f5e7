"""Differences that files expect: which hold now, what they cover, and what is said when they are over."""

from __future__ import annotations

from typing import Any

import pytest

from fleetctl.desired import Expected
from fleetctl.expected import expired, holding, why
from fleetctl.paths import Path
from tests.model import desired, entry, fleet

NOW = 1_800_000_000_000
LATER, PAST = "2040-01-01T00:00Z", "2020-01-01T00:00Z"


def expected(*items: dict[str, Any]) -> tuple[Expected, ...]:
    return desired(fleet(entry("a"), expected=[{"key": "a", "reason": "trial", **item} for item in items])).expected


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        (None, True),
        ("policy", True),
        ("policy.maxPending", True),
        ("policy.max", False),
        ("policy.maxPending.x", False),
        ("offers", False),
    ],
)
def test_a_path_covers_what_is_below_it_and_nothing_beside(path: str | None, covered: bool) -> None:
    holds = holding(expected({"path": path} if path else {}), NOW)
    assert why(holds, ["a", "pool_1"], [("policy", "maxPending")]) == ("trial" if covered else None)


ROWS = ("offers", "globex", "quota")
MIG = ("policy", "gpu", "mig", "devices")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("offers[globex].quota.gpu", (*ROWS, "gpu.mig")),
        ("offers[globex].quota.gpu.mig", (*ROWS, "gpu")),
        ("offers[globex.com]", ("offers", "globex.com.eu", "quota", "gpu")),
        ("ownerQuota.gpu", ("ownerQuota", "gpu.mig")),
        ("ownerQuota.gpu.mig", ("ownerQuota", "gpu")),
        ("policy.gpu.mig.devices.1g", (*MIG, "1g.10gb")),
        ("policy.gpu.mig.devices.1g.10gb", (*MIG, "1g")),
        ("policy.note", ("policy", "note[0]")),
    ],
)
def test_a_name_with_dots_is_one_name(text: str, path: Path) -> None:
    """What begins alike is another resource, or another field."""
    assert why(holding(expected({"path": text}), NOW), ["a"], [path]) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("offers[globex].quota.gpu.mig", (*ROWS, "gpu.mig")),
        ("offers[globex].quota", (*ROWS, "gpu.mig")),
        ("offers[globex]", (*ROWS, "gpu.mig")),
        ("offers", (*ROWS, "gpu.mig")),
        ("ownerQuota", ("ownerQuota", "gpu.mig")),
        ("ownerQuota.gpu.mig", ("ownerQuota", "gpu.mig")),
        ("policy.gpu.mig", (*MIG, "1g.10gb")),
        ("policy.gpu.mig.devices.1g.10gb", (*MIG, "1g.10gb")),
        ("policy.my.own", ("policy", "my.own", "field")),
    ],
)
def test_what_holds_a_name_with_dots_covers_it(text: str, path: Path) -> None:
    assert why(holding(expected({"path": text}), NOW), ["a"], [path]) == "trial"


def test_all_paths_must_be_expected_each_for_its_own_reason() -> None:
    holds = holding(expected({"path": "policy"}, {"path": "offers", "reason": "urgent"}), NOW)
    assert why(holds, ["a"], [("policy", "x"), ("offers", "acme", "quota", "gpu")]) == "trial; urgent"
    assert why(holds, ["a"], [("policy", "x"), ("gpuModel",)]) is None
    assert why(holds, ["b"], [("policy", "x")]) is None
    assert why(holds, ["a"], []) is None


def test_one_that_is_over_holds_no_more_and_is_told_where_something_differs_still() -> None:
    items = expected({"path": "policy", "until": LATER}, {"path": "gpuModel", "until": PAST})
    holds = holding(items, NOW)
    assert [why(holds, ["a"], [(path,)]) for path in ("policy", "gpuModel")] == ["trial", None]
    [told] = expired(items, NOW, {"a"})
    assert "a, gpuModel was expected to differ until 2020-01-01 00:00:00 UTC, and counts again" in told
    assert list(expired(items, NOW, {"b"})) == []
