"""Kind f: what must be done before what. More scenarios stand in `tests/e2e/test_scenarios.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.homes import Home, entry, fleetctl, pool_id, served, unchanged
from tests.e2e.proxy import Exchange

POOL = """\
pools:
  - idempotencyKey: fra1-h100
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
"""
OFFERS = """\
offers:
  - pool: fra1-h100
    toTenantId: acme
    quota: {gpu: 32}
  - {pool: fra1-h100, toTenantId: globex, quota: {gpu: 16}}
"""


def single(tenant: str) -> dict[str, Any]:
    return entry("fra1-h100", {tenant: 32}, policy={"singleTenant": True})


def test_k055_a_swap_whose_second_half_fails_says_so_and_is_finished_by_a_rerun(home: Home) -> None:
    home.wish(single("acme"))
    home.apply()
    home.wish(single("globex"))
    planned = home.plan()
    assert planned.operations == ["withdraw fra1-h100 to acme", "offer fra1-h100 to globex"]
    assert "nobody holds the pool between acme and its next tenant" in planned.out
    with served(home) as (_, proxy):
        proxy.reset(lambda e: e.refuse(500, "INTERNAL_ERROR") if e.operation == "pools/offer" else e.pass_on())
        file = home.directory.parent / "report.json"
        report = home.apply("--report", file, code=5).report
        assert [o["action"] for o in report["done"]] == ["unoffer"]
        assert [o["action"] for o in report["failed"]] == ["offer"]
        [gap] = report["done"][0]["meanwhile"]
        assert gap == "nobody holds the pool between acme and its next tenant"
        assert gap in fleetctl("show", file).out.partition("Meanwhile")[2]
        with home.hand() as client:
            assert client.pools.get(pool_id("fra1-h100")).offers == {}
        proxy.reset()
        again = home.apply().report
        assert [(o["action"], o["meanwhile"]) for o in again["done"]] == [("offer", [])]
        assert home.is_settled()


def test_k056_the_old_pool_goes_last(home: Home) -> None:
    home.wish(entry("old", {"acme": 32}))
    home.apply()
    home.wish({"idempotencyKey": "old", "archived": True}, entry("new", {"acme": 32}))
    assert home.plan().operations == ["create new", "offer new to acme", "archive old"]
    home.apply("--allow", "archives=1", "--reason", "moved")
    assert [event.type for event in home.events()[2:]] == ["pool.created", "pool.offered", "pool.archived"]


@pytest.mark.parametrize(("what", "code"), [("pools/create", 1), ("pools/offer", 5)])
def test_k056_what_fails_on_the_way_leaves_the_old_pool_as_it_was(home: Home, what: str, code: int) -> None:
    home.wish(entry("old", {"acme": 32}))
    home.apply()
    home.wish({"idempotencyKey": "old", "archived": True}, entry("new", {"acme": 32}))
    allowed = ("--allow", "archives=1", "--reason", "moved")
    with served(home) as (_, proxy):
        proxy.reset(lambda e: e.refuse(409, "CONFLICT") if e.operation == what else e.pass_on())
        report = home.apply(*allowed, code=code).report
        assert report["blocked"][-1]["action"] == "archive"
        assert "pools/archive" not in [exchange.operation for exchange in proxy.writes]
        with home.hand() as client:
            old = client.pools.get(pool_id("old"))
        assert old.pool is not None
        assert not old.pool.archived
        assert old.limits("acme") == {"gpu": 32}
        proxy.reset()
        home.apply(*allowed)
        assert home.is_settled()


def test_k057_offers_are_judged_with_their_pool_that_is_not_born_yet(home: Home) -> None:
    home.files(fleet2=POOL + OFFERS)
    assert home.plan().operations == ["create fra1-h100", "offer fra1-h100 to acme", "offer fra1-h100 to globex"]
    home.apply()
    assert home.is_settled()


def test_k057_what_is_really_refused_is_found_before_anything_is_written(home: Home) -> None:
    slices = f"{POOL}    sharing: timeslice\n    policy: {{gpu: {{slots: 4}}}}\n    ownerQuota: {{gpu.slot: 8}}\n"
    home.files(fra1=slices + OFFERS)
    with unchanged(home):
        blocked = home.apply(code=3)
    errors = [f for f in blocked.report["findings"] if f["severity"] == "error"]
    assert [(f["rule"], f["code"], f["source"]["line"]) for f in errors] == [
        ("offer.sharing", "INVALID_STATE", n) for n in (11, 13)
    ]


@pytest.mark.parametrize("names", [("00-offers", "99-pools"), ("99-offers", "00-pools"), ("a", "b"), ("b", "a")])
def test_k059_the_names_of_files_have_no_say(home: Home, names: tuple[str, str]) -> None:
    home.files(**{names[0]: OFFERS, names[1]: POOL})
    planned = home.plan()
    assert planned.operations == ["create fra1-h100", "offer fra1-h100 to acme", "offer fra1-h100 to globex"]
    assert planned.report["digest"] == _digest(home)
    assert home.apply().report["summary"]["done"] == 3
    assert home.is_settled()


def _digest(home: Home) -> Any:
    """Of the same fleet in one file."""
    file = home.directory.parent / "one.yaml"
    file.write_text(json.dumps({**home.root, "server": {"embedded": home.database.name}}) + "\n---\n" + POOL + OFFERS)
    home.directory, before = file, home.directory
    digest = home.plan().report["digest"]
    home.directory = before
    return digest


def test_a_write_names_its_precondition(home: Home) -> None:
    """Every write is judged again at its moment: none goes out without what must still hold."""
    home.wish(entry("a", {"acme": 8, "globex": 8}), entry("b", {"acme": 8}))
    home.apply()
    home.wish(
        entry("a", {"acme": 9}, policy={"maxPending": "6h"}, ownerQuota={"gpu": 64}),
        {"idempotencyKey": "b", "archived": True},
        entry("c", []),
    )
    bodies: dict[str, Any] = {}

    def rule(exchange: Exchange) -> None:
        if exchange.write:
            bodies[exchange.operation] = exchange.body
        exchange.pass_on()

    with served(home) as (_, proxy):
        proxy.reset(rule)
        home.apply("--allow", "archives=1", "--reason", "test")
    assert bodies["pools/create"]["idempotencyKey"] == "c"
    assert bodies["pools/update"]["expectedVersion"] == 1
    assert bodies["pools/offer"]["expectedVersion"] in (2, 3)
    assert bodies["pools/unoffer"]["expectedVersion"] in (2, 3)
    assert bodies["quotas/set"]["expectedVersion"] == 1
    assert (bodies["pools/archive"]["expectedVersion"], bodies["pools/archive"]["expectedOffersVersion"]) == (1, 2)
    assert "expectedOffersVersion" not in bodies["pools/update"]
