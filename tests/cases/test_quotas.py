"""Kind g: no row, a row of nothing, a row without limit, and a row below what is in use."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.problems import ComputeError
from tests.e2e.homes import Home, Ran, entry, pool_id, unchanged


def warnings(ran: Ran) -> list[tuple[str, str]]:
    """Rule and path of every finding of a plan, none of which blocks."""
    assert {f["severity"] for f in ran.report["findings"]} <= {"warning"}
    return sorted((f["rule"], f["path"]) for f in ran.report["findings"])


def test_k063_a_mig_pool_without_its_own_row_grants_nothing_and_is_told(home: Home) -> None:
    home.wish(entry("fra1-mig", {"acme": 4}, sharing="mig"))
    planned = home.plan()
    assert warnings(planned) == [
        ("pool.ownerQuota", "pools[fra1-mig].ownerQuota"),
        ("quota.value", "pools[fra1-mig].offers[acme].quota"),
        ("quota.value", "pools[fra1-mig].offers[acme].quota.gpu"),
    ]
    assert "no gpu.mig row: a missing row grants 0" in planned.out
    assert "unlimited" not in home.run("plan").out.partition("offer ")[2].partition("\n")[0]


def test_k063_with_its_own_rows_nothing_is_told(home: Home) -> None:
    offers = [{"toTenantId": "acme", "quota": {"gpu.mig": 4}}]
    home.wish(entry("fra1-mig", offers, sharing="mig", ownerQuota={"gpu.mig": 7}))
    assert warnings(home.plan()) == []


def test_k065_the_largest_value_is_taken(home: Home) -> None:
    home.wish(entry("fra1-h100", {"acme": 2147483647}))
    home.apply()
    with home.hand() as client:
        assert client.pools.get(pool_id("fra1-h100")).limits("acme") == {"gpu": 2147483647}
    assert home.is_settled()


@pytest.mark.parametrize("value", [2147483648, 4294967296, 99999999999, 10**20, -1])
def test_k065_what_is_larger_is_refused_by_files_and_server(home: Home, value: int) -> None:
    home.wish(entry("fra1-h100", {"acme": 1}))
    home.apply()
    home.wish(entry("fra1-h100", {"acme": value}))
    with unchanged(home):
        ran = home.run("apply", "--yes")
        assert ran.code == 1
        assert (
            f"pools[fra1-h100].offers[acme].quota.gpu: it must be a whole number from 0 to 2147483647, not {value}"
            in ran.err
        )
        for operation in ("pools/offer", "quotas/set"):
            body = {"poolId": pool_id("fra1-h100"), "toTenantId": "acme", "quota": {"gpu": value}}
            with home.hand() as client, pytest.raises(ComputeError) as caught:
                client.call(operation, body)
            assert caught.value.code == "INVALID_INPUT"


def test_k068_nothing_zero_and_unlimited_look_different(home: Home) -> None:
    home.wish(
        entry(
            "fra1-h100",
            [{"toTenantId": "acme", "quota": {"gpu": 0}}, {"toTenantId": "globex", "quota": {"vcpu": 64}}],
        )
    )
    text = home.run("plan").out
    lines = {
        word: line for line in text.splitlines() for word in ("owner quota", "to acme", "to globex") if word in line
    }
    assert "gpu unlimited (2147483647)" in lines["owner quota"]
    assert "gpu 0 " in lines["to acme"]
    assert "gpu no row (grants 0), vcpu 64" in lines["to globex"]
    home.apply()
    assert home.is_settled()


def test_k068_a_row_that_goes_and_a_row_that_falls_to_zero_look_different(home: Home) -> None:
    quota: dict[str, Any] = {"gpu": 8, "vcpu": 64}
    home.wish(entry("fra1-h100", [{"toTenantId": "acme", "quota": quota}]))
    home.apply()
    home.wish(entry("fra1-h100", [{"toTenantId": "acme", "quota": {"gpu": 0}}]))
    [operation] = home.plan().report["operations"]
    assert operation["changes"] == [
        {"path": "quota.gpu", "before": 8, "after": 0},
        {"path": "quota.vcpu", "before": 64},
    ]
    text = home.run("plan").out
    assert "gpu 8 -> 0" in text
    assert "vcpu 64 -> no row (grants 0)" in text
