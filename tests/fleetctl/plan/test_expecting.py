"""What a plan takes back though the files expect it: whoever reviews it is told, by operation and as a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import Home, entry, pool_id

POOLS = [entry("fra1-a", {"acme": 8, "globex": 8}, policy={"maxPending": "6h"}), entry("fra1-b", {"globex": 8})]
LATER = {"until": "2999-01-01T00:00Z"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """With everything changed by hand."""
    home = Home(tmp_path)
    home.wish(*POOLS)
    home.apply()
    with home.hand() as hand:
        for tenant, gpu in (("acme", 9), ("initech", 4)):
            hand.call("pools/offer", {"poolId": pool_id("fra1-a"), "toTenantId": tenant, "quota": {"gpu": gpu}})
        hand.call("pools/unoffer", {"poolId": pool_id("fra1-a"), "toTenantId": "globex"})
        hand.call("pools/update", {"poolId": pool_id("fra1-a"), "policy": {"maxPending": "7d"}})
    return home


def expecting(home: Home, *items: dict[str, Any]) -> None:
    home.wish(*POOLS, expected=[{"key": "fra1-a", "reason": "trial", **item} for item in items])


def told(home: Home) -> dict[str, list[str]]:
    """What is said of it, by operation."""
    operations = home.plan().report["operations"]
    says = {f"{o['action']} {o['toTenantId'] or ''}".strip(): o["effects"] for o in operations}
    found = {name: [effect for effect in effects if "expect" in effect] for name, effects in says.items()}
    return {name: effects for name, effects in found.items() if effects}


@pytest.mark.parametrize(
    ("path", "operations"),
    [
        (None, {"update", "offer acme", "offer globex", "unoffer initech"}),
        ("policy.maxPending", {"update"}),
        ("policy", {"update"}),
        ("offers", {"offer acme", "offer globex", "unoffer initech"}),
        ("offers[acme].quota.gpu", {"offer acme"}),
        ("offers[globex]", {"offer globex"}),
        ("offers[initech].quota", set()),
    ],
)
def test_each_operation_says_what_it_takes_back(home: Home, path: str | None, operations: set[str]) -> None:
    expecting(home, {**({"path": path} if path else {}), **LATER})
    said = "takes back what the files expect to differ until 2999-01-01 00:00:00 UTC: trial"
    assert told(home) == {name: [said] for name in operations}


def test_a_warning_says_where_it_stands_and_how_it_stays(home: Home) -> None:
    expecting(home, {"path": "offers", **LATER})
    [found] = [f for f in home.plan().report["findings"] if f["rule"] == "plan.expected"]
    assert found["severity"] == "warning"
    assert found["source"]["line"] > 1
    until = "until 2999-01-01 00:00:00 UTC"
    assert found["message"] == f"fra1-a, offers, is expected to differ {until}, and 3 operations take that back"
    assert found["hint"].startswith("if it is to stay, leave it out by --except key=fra1-a, or")
    shown = home.run("plan").out
    assert f"! takes back what the files expect to differ {until}: trial" in shown
    assert home.plan("--except", "key=fra1-a").operations == []


def test_what_is_over_or_is_of_another_pool_is_not_told(home: Home) -> None:
    expecting(home, {"until": "2020-01-01T00:00Z"}, {"key": "fra1-b"})
    assert told(home) == {}


def test_a_new_pool_is_told_and_not_each_of_its_offers(home: Home) -> None:
    home.wish(*POOLS, entry("fra1-c", {"acme": 1}), expected=[{"key": "fra1-c", "reason": "trial"}])
    assert told(home) == {"create": ["takes back what the files expect to differ: trial"]}


def test_the_digest_is_of_what_is_done_and_of_nothing_that_is_said(home: Home) -> None:
    before = home.plan().report["digest"]
    expecting(home, {})
    assert home.plan().report["digest"] == before
