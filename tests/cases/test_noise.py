"""Kind b: differences that are none, and wishes that look like none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.homes import H100, Home, Ran, entry, pool_id, unchanged


def offered(**fields: Any) -> dict[str, Any]:
    """A pool with one offer."""
    return entry("fra1-h100", [{"toTenantId": "acme", "quota": {"gpu": 32}, **fields}])


def changes(ran: Ran) -> dict[str, tuple[Any, Any]]:
    """Every difference of a plan: before and after, None where there is nothing."""
    found = [change for operation in ran.report["operations"] for change in operation["changes"]]
    return {change["path"]: (change.get("before"), change.get("after")) for change in found}


# K016: what a server fills in.


def test_k016_what_the_files_leave_out_is_no_difference(home: Home) -> None:
    home.wish({"idempotencyKey": "fra1-h100", **H100, "offers": [{"toTenantId": "acme", "quota": {"gpu": 32}}]})
    home.apply()
    for _ in range(3):
        assert home.is_settled()
        with unchanged(home):
            home.apply()


@pytest.mark.parametrize("field", ["agent", "sharing", "policy", "ownerQuota"])
def test_k016_what_is_left_out_or_written_with_its_default_is_one_thing(home: Home, field: str) -> None:
    defaults: dict[str, Any] = {
        "agent": "bcd",
        "sharing": "exclusive",
        "policy": {},
        "ownerQuota": {"gpu": 2147483647},
    }
    home.wish(entry("fra1-h100", []))
    home.apply()
    home.wish(entry("fra1-h100", [], **{field: defaults[field]}))
    assert home.is_settled()


# K017: zero and false are wishes.


def test_k017_an_explicit_zero_is_a_wish(home: Home) -> None:
    home.wish(offered(priority=10, includeDescendants=True))
    home.apply()
    home.wish(offered(priority=0, quota={"gpu": 0}, includeDescendants=False))
    assert changes(home.plan()) == {"priority": (10, 0), "quota.gpu": (32, 0), "includeDescendants": (True, False)}
    home.apply()
    assert home.is_settled()
    with home.hand() as client:
        terms = client.pools.get(pool_id("fra1-h100")).terms("acme")
    assert terms is not None
    assert (terms.priority, terms.include_descendants, dict(terms.quota).get("gpu", 0)) == (0, False, 0)


def test_k017_a_zero_overrides_a_default_of_the_fleet(home: Home) -> None:
    home.wish(offered(priority=0, includeDescendants=False), defaults={"offer": {"priority": 5}})
    home.apply()
    home.wish(offered(priority=0), defaults={"offer": {"priority": 5, "includeDescendants": False}})
    assert home.is_settled()
    home.wish(offered(), defaults={"offer": {"priority": 5}})
    assert changes(home.plan()) == {"priority": (0, 5)}


def test_k017_no_row_and_a_row_of_zero_are_equal(home: Home) -> None:
    home.wish(offered(quota={"gpu": 32, "vcpu": 0}))
    home.apply()
    home.wish(offered(quota={"gpu": 32}))
    assert home.is_settled()
    home.wish(offered(quota={"gpu": 32, "memoryGiB": 0}))
    assert home.is_settled()


def test_a_comparison_that_tells_no_row_from_zero_breaks_the_law(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rows are compared as they are written."""

    def strict(name: str, before: dict[str, int], after: dict[str, int]) -> Any:
        from fleetctl.diff import Change

        for resource in sorted(before.keys() | after.keys()):
            if before.get(resource) != after.get(resource):
                yield Change((name, resource), before.get(resource, 0), after.get(resource, 0))

    monkeypatch.setattr("fleetctl.diff.fields.quota_changes", strict)
    with pytest.raises(AssertionError, match="where False = is_settled"):
        test_k017_no_row_and_a_row_of_zero_are_equal(home)


# K018: sets and lists.


def test_k018_the_order_of_offers_is_no_difference(home: Home) -> None:
    offers = [{"toTenantId": tenant, "quota": {"gpu": 8}} for tenant in ("globex", "acme", "initech")]
    home.wish(entry("fra1-h100", offers))
    home.apply()
    home.wish(entry("fra1-h100", offers[::-1]))
    assert home.is_settled()


def test_k018_the_order_of_a_list_in_a_policy_is_one(home: Home) -> None:
    steps = [{"kind": "diag.nvml"}, {"kind": "burn.gemm"}]
    home.wish(entry("fra1-h100", [], policy={"acceptance": steps}))
    home.apply()
    home.wish(entry("fra1-h100", [], policy={"acceptance": steps[::-1]}))
    assert changes(home.plan()) == {"policy.acceptance": (steps, steps[::-1])}
    home.apply()
    assert home.is_settled()


def test_k018_a_set_in_a_policy_has_neither_order_nor_doubles(home: Home) -> None:
    home.wish(entry("fra1-h100", [], policy={"joinAttestors": ["join-token"]}))
    home.apply()
    home.wish(entry("fra1-h100", [], policy={"joinAttestors": ["join-token", "join-token"]}))
    assert home.is_settled()


# K020, K022: numbers of another type.


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("quota", {"gpu": "32"}, "write 32, without quotes"),
        ("priority", "10", "write 10, without quotes"),
        ("quota", {"gpu": 32.0}, "write 32"),
        ("quota", {"gpu": True}, "not true"),
        ("quota", {"gpu": 63.9}, "not 63.9"),
        ("priority", 1.5, "not 1.5"),
        ("priority", False, "not false"),
        ("includeDescendants", 0, "true or false"),
        ("includeDescendants", "false", "Hint: write false\n"),
    ],
)
def test_k020_k022_a_value_of_another_type_is_refused_and_not_bent(
    home: Home, field: str, value: Any, hint: str
) -> None:
    home.wish(offered())
    home.apply()
    home.wish(offered(**{field: value}))
    with unchanged(home):
        ran = home.run("apply", "--yes")
    assert ran.code == 1, ran.said
    assert f"pools[fra1-h100].offers[acme].{field}" in ran.err
    assert hint in ran.err


@pytest.mark.parametrize("twin", [1, 1.0])
def test_k022_inside_a_policy_numbers_are_equal_by_value(home: Home, twin: float) -> None:
    home.wish(entry("fra1-h100", [], policy={"anything": {"level": 1}}))
    home.apply()
    home.wish(entry("fra1-h100", [], policy={"anything": {"level": twin}}))
    assert home.is_settled()


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, "1"), (None, 0), ([], {}), ("", None)])
def test_k022_inside_a_policy_types_are_told_apart(home: Home, one: Any, other: Any) -> None:
    home.wish(entry("fra1-h100", [], policy={"anything": one}))
    home.apply()
    home.wish(entry("fra1-h100", [], policy={"anything": other}))
    assert home.plan().operations == ["update fra1-h100"]
    home.apply()
    assert home.is_settled()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"maxPending": "6h"}, {"maxPending": "360m"}),
        ({"maxPending": "7d"}, {"maxPending": "168h"}),
        ({"overcommit": 1000}, {"overcommit": 100}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_equal_values_in_other_words_are_no_difference(home: Home, one: Any, other: Any) -> None:
    home.wish(entry("fra1-h100", [], policy=one))
    home.apply()
    home.wish(entry("fra1-h100", [], policy=other))
    assert home.is_settled()


# K023: names that are nearly right.


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("quotas", "quota"), ("includeDescendents", "includeDescendants"), ("Priority", "priority")],
)
def test_k023_a_misspelt_field_is_an_error_with_the_right_one(home: Home, wrong: str, right: str) -> None:
    home.wish(offered(**{wrong: {"gpu": 1}}))
    with unchanged(home):
        ran = home.run("apply", "--yes")
    assert ran.code == 1
    assert f"offers[acme].{wrong}" in ran.err
    assert f'did you mean "{right}"?' in ran.err


def test_k023_inside_a_policy_a_near_miss_is_a_warning(home: Home) -> None:
    home.wish(entry("fra1-h100", [], policy={"singelTenant": True, "ourOwnField": 1}))
    findings = home.plan().report["findings"]
    assert [(f["severity"], f["path"]) for f in findings] == [("warning", "pools[fra1-h100].policy.singelTenant")]
    assert 'did you mean "singleTenant"?' in findings[0]["hint"]
    home.apply()
    with home.hand() as client:
        state = client.pools.get(pool_id("fra1-h100"))
    assert state.pool is not None
    assert state.pool.policy == {"singelTenant": True, "ourOwnField": 1}


# K025: letter case.


@pytest.mark.parametrize(
    ("field", "wrong", "right"),
    [("class", "Metal-Host", "metal-host"), ("gpuModel", "h100", "H100"), ("sharing", "MIG", "mig")],
)
def test_k025_names_of_the_system_are_refused_with_the_right_spelling(
    home: Home, field: str, wrong: str, right: str
) -> None:
    home.wish(entry("fra1-h100", [], **{field: wrong}))
    with unchanged(home):
        ran = home.run("apply", "--yes")
    assert ran.code in (1, 3)
    assert right in ran.said
    assert f"pools[fra1-h100].{field}" in ran.said


def test_k025_a_tenant_in_another_letter_case_is_another_tenant(home: Home) -> None:
    home.wish(entry("fra1-h100", {"acme": 32}))
    home.apply()
    home.wish(entry("fra1-h100", {"ACME": 32, "acme": 32}))
    with unchanged(home):
        blocked = home.apply(code=3)
    [finding] = [f for f in blocked.report["findings"] if f["severity"] == "error"]
    assert (finding["code"], finding["rule"]) == ("NOT_FOUND", "offer.tenant")
    assert finding["source"]["file"] == "fleet.yaml"


def test_k025_a_refused_pool_is_told_once_and_not_again_for_its_offers(home: Home) -> None:
    home.wish(entry("fra1-h100", {"acme": 8, "globex": 8}, gpuModel="h100"))
    errors = [f for f in home.plan(code=3).report["findings"] if f["severity"] == "error"]
    assert [(f["rule"], f["hint"]) for f in errors] == [("pool.model", "use H100")]


# K026: text is kept to the letter.

BLOCK = """\
pools:
  - idempotencyKey: fra1-h100
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
    offers: []
    policy:
      note: {style}
        keep for launch

        and after
"""


@pytest.mark.parametrize("style", ["|", "|+", "|-", ">", ">-", ">+"])
def test_k026_a_block_of_text_is_stored_and_compared_unchanged(home: Home, style: str) -> None:
    text = BLOCK.replace("{style}", style) + "\n\n"
    home.files(fra1=text)
    note = home.plan().report["operations"][0]["after"]["policy"]["note"]
    assert note.endswith("\n") == (not style.endswith("-"))
    home.apply()
    assert home.is_settled()
    home.write("fra1.yaml", text.replace("\n", "\r\n"))
    assert home.is_settled()
    with home.hand() as client:
        state = client.pools.get(pool_id("fra1-h100"))
    assert state.pool is not None
    assert state.pool.policy == {"note": note}


def test_k026_a_final_newline_is_a_difference_when_it_is_one(home: Home) -> None:
    home.files(fra1=BLOCK.replace("{style}", "|"))
    home.apply()
    home.files(fra1=BLOCK.replace("{style}", "|-"))
    assert home.plan().operations == ["update fra1-h100"]


# What a file states exactly, and what it leaves to others.


def test_a_policy_field_that_is_live_alone_is_shown_as_it_goes(home: Home) -> None:
    home.wish(entry("fra1-h100", [], policy={"maxPending": "6h"}))
    home.apply()
    with home.hand() as client:
        client.call("pools/update", {"poolId": pool_id("fra1-h100"), "policy": {"maxPending": "6h", "byHand": [1]}})
    assert changes(home.plan()) == {"policy.byHand": ([1], None)}
    assert home.run("drift").code == 2
    home.apply()
    assert home.is_settled()


def test_quota_rows_that_an_unoffer_leaves_behind_are_no_drift(home: Home) -> None:
    home.wish(entry("racked", {"acme": 32}))
    home.apply()
    with home.hand("sa_acme", "acme") as acme:
        acme.reservations.create(pool_id("racked"), {"gpu": 8})
    home.wish(entry("racked", []))
    home.apply()
    with home.hand() as client:
        [row] = [r for r in client.call("quotas/list", {"poolId": pool_id("racked")})["items"] if r["used"]]
    assert (row["max"], row["used"], row["available"]) == (8, 8, 0)
    assert home.is_settled()


def test_unmanaged_offers_are_left_to_others(home: Home) -> None:
    home.wish(entry("fra1-h100", "unmanaged"))
    home.apply()
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id("fra1-h100"), "toTenantId": "acme", "quota": {"gpu": 1}})
    assert home.is_settled()


def test_unstated_offers_block_the_plan_where_there_are_any(home: Home) -> None:
    home.wish(entry("fra1-h100"))
    home.apply()
    assert home.is_settled()
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id("fra1-h100"), "toTenantId": "acme", "quota": {"gpu": 1}})
    with unchanged(home):
        blocked = home.apply(code=3)
    assert [f["rule"] for f in blocked.report["findings"]] == ["fleet.offersUnstated"]
    assert json.loads(home.plan(code=3).out)["summary"]["blocked"] is True


def test_an_owner_quota_is_kept_once_it_is_written_and_else_left_alone(home: Home) -> None:
    home.wish(entry("fra1-h100", []))
    home.apply()
    with home.hand() as client:
        client.call(
            "quotas/set", {"poolId": pool_id("fra1-h100"), "toTenantId": "root", "quota": {"gpu": 9, "vcpu": 1}}
        )
    assert home.is_settled()
    home.wish(entry("fra1-h100", [], ownerQuota={"gpu": 9}))
    assert changes(home.plan()) == {"ownerQuota.vcpu": (1, None)}
    home.apply()
    assert home.is_settled()
