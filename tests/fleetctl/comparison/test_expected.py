"""Differences that files expect: which hold now, what they cover, and what is said when they are over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain.state import PoolState, Rollup
from fleetctl.comparison.expected import expired, holding, unknown, why
from fleetctl.desired import Expected
from fleetctl.paths import Path
from tests.builders import a_pool, an_offer
from tests.fleetctl.guards.case import pool_id
from tests.model import desired, entry, fleet
from tests.timing import times_as_long

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


# Names and paths that are none.


def live(*keys: str, archived: bool = False) -> dict[str, PoolState]:
    pools = [a_pool(f"pool_{key}", idempotency_key=key, archived_at=1 if archived else None) for key in keys]
    return {pool.id: PoolState.whole(pool, {"acme": an_offer("acme")}, {}, Rollup()) for pool in pools}


def slips(key: str, path: str | None = None, pools: dict[str, PoolState] | None = None) -> list[tuple[str, str]]:
    entries = [
        entry("fra1-a", policy={"maxPending": "6h", "x-own": {"deep": 1, "a..b": 2}}, offers=[], previously="fra1-old"),
        entry("fra1-b", offers=[{"toTenantId": "globex", "quota": {"gpu": 8}}], replaces="fra1-gone"),
    ]
    item = {"key": key, "reason": "trial", **({"path": path} if path is not None else {})}
    wished = desired(fleet(*entries, expected=[item]))
    found = unknown(wished, pools)
    assert {(f.rule, f.severity) for f in found} <= {("fleet.expected", "warning")}
    return [(f.message, f.hint) for f in found]


@pytest.mark.parametrize("key", ["fra1-a", "fra1-b", "fra1-gone", pool_id("fra1-b"), "left", "pool_left"])
def test_what_an_entry_or_a_live_pool_is_called_may_be_expected_to_differ(key: str) -> None:
    assert slips(key, pools=live("left")) == []


def test_a_key_that_nothing_has_is_told_with_the_nearest() -> None:
    assert slips("fra1-aa", pools={}) == [
        (
            "fra1-aa is expected to differ, and neither an entry nor a live pool has this key or id",
            'did you mean "fra1-a"?',
        )
    ]
    [(message, hint)] = slips("zzz", pools=live("left"))
    assert (message.startswith("zzz is expected"), hint) == (True, "write what differs, or take it away")
    [(_, hint)] = slips("fra1-old", pools={})
    assert hint == "its entry is called fra1-a now"


def test_offline_only_what_is_like_an_entry_is_told() -> None:
    assert slips("left") == []
    [(message, _)] = slips("fra1-aa")
    assert message == "fra1-aa is expected to differ, and no entry has this key or id"


@pytest.mark.parametrize(
    "path",
    [
        *("gpuModel", "policy", "policy.maxPending", "policy.gpu.mig", "policy.gpu.mig.devices.1g.10gb"),
        *(
            "policy.x-own",
            "policy.x-own.deep",
            "policy.x-own.a..b",
            "policy.kubernetes.labels.a.b/c",
            "ownerQuota",
            "ownerQuota.gpu.mig",
        ),
        *("offers", "offers[acme]", "offers[acme].quota", "offers[globex].quota.gpu.mig", "offers[acme].priority"),
    ],
)
def test_a_path_that_drift_may_tell_is_expected(path: str) -> None:
    key = "fra1-a" if "acme" not in path else pool_id("fra1-b")
    pools = {pool_id("fra1-b"): live("fra1-b")["pool_fra1-b"]}
    assert slips("fra1-b" if "offers[" in path else key, path, pools) == []


@pytest.mark.parametrize(
    ("path", "slip", "near"),
    [
        ("gpumodel", "gpumodel", "gpuModel"),
        ("gpuModel.x", "x", ""),
        ("polcy.maxPending", "polcy", "policy"),
        ("policy.maxPendng", "maxPendng", "maxPending"),
        ("policy.maxPending.x", "x", ""),
        ("policy.gpu.driver.vrsion", "vrsion", "version"),
        ("policy.acceptance.kind", "kind", ""),
        ("ownerQuota.gpus", "gpus", "gpu"),
        ("offers.acme", "offers.acme", "offers"),
        ("offers[globx]", "globx", "globex"),
        ("offers[acme].qouta.gpu", "qouta", "quota"),
        ("offers[acme].quota.gpus", "gpus", "gpu"),
        ("offers[acme].priority.x", "x", ""),
        ("siteId", "siteId", ""),
    ],
)
def test_a_path_that_leads_nowhere_is_told_with_the_nearest(path: str, slip: str, near: str) -> None:
    pools = {pool_id("fra1-b"): live("fra1-b")["pool_fra1-b"]}
    [(message, hint)] = slips("fra1-b", path, pools)
    assert message == f"fra1-b is expected to differ at {path}, and nothing of a pool is called {slip}"
    assert hint == (f'did you mean "{near}"?' if near else "write what differs, or take it away")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("quotas.gpu", '"offers[acme].quota.gpu", "offers[globex].quota.gpu" and "ownerQuota.gpu"'),
        ("quota.gpu", '"offers[acme].quota.gpu", "offers[globex].quota.gpu" and "ownerQuota.gpu"'),
        ("priorty", '"offers[acme].priority" and "offers[globex].priority"'),
    ],
)
def test_a_term_as_drift_calls_it_is_told_with_whose_it_may_be(path: str, meant: str) -> None:
    pools = {pool_id("fra1-b"): live("fra1-b")["pool_fra1-b"]}
    [(_, hint)] = slips("fra1-b", path, pools)
    assert hint == f"did you mean {meant}?"


@pytest.mark.parametrize(
    "path", ["policy.", ".policy", "policy..x", " ", "..", "ownerQuota.", "offers[]", "offers[acme]."]
)
def test_a_path_with_an_empty_name_is_told_as_that(path: str) -> None:
    """Nothing is near it: neither the whole policy nor a field of it is what was meant."""
    told = f'fra1-b is expected to differ at "{path}", which holds an empty name'
    assert slips("fra1-b", path) == [(told, "write what differs, or take it away")]


def test_a_tenant_is_looked_for_where_live_offers_are_known() -> None:
    assert slips("fra1-b", "offers[initech]") == []


def test_many_that_nothing_meets_are_told_in_time_that_stays_small() -> None:
    items = [{"key": f"zz-{n}", "reason": "trial"} for n in range(3000)]
    wished = desired(fleet(*(entry(f"fra1-{n}") for n in range(3000)), expected=items))
    assert len(unknown(wished, {})) == 3000


def test_many_of_one_pool_cost_no_square() -> None:
    (one,) = expected({"path": "offers[t0]"})

    def prepared(number: int) -> Callable[[], object]:
        many = [replace(one, path=f"offers[t{n}]") for n in range(number)]

        def judge() -> None:
            holds = holding(many, NOW)
            assert all(why(holds, ["a"], [("offers", f"t{n}", "quota", "gpu")]) == "trial" for n in range(number))

        return judge

    assert times_as_long(prepared, 200, 3200) < 50


@pytest.mark.parametrize("path", ["policy.f{}", "quota.r{}"])
def test_many_paths_of_one_large_pool_are_looked_at_without_a_square(path: str) -> None:
    """Of fields that nobody knows, and of terms without a tenant."""

    def prepared(number: int) -> Callable[[], object]:
        items = [{"key": "fra1-a", "path": path.format(n), "reason": "trial"} for n in range(number)]
        offers = [{"toTenantId": f"t{n}", "quota": {"gpu": 1}} for n in range(number)]
        large = entry("fra1-a", offers=offers, policy={f"f{n}": n for n in range(number)})
        wished = desired(fleet(large, expected=items))
        return lambda: unknown(wished, {})

    assert times_as_long(prepared, 100, 1600) < 50
