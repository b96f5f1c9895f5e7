"""The rules of rules.md under Offers and quotas, each by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.events import PoolOffered, PoolUnoffered, QuotaUpdated
from better_compute.domain.facts import Facts
from better_compute.domain.quotas import MOST_ROWS, check_quota
from better_compute.domain.state import PoolState, QuotaRow, Terms
from tests.decisions import (
    FACTS,
    after,
    allowed,
    archive,
    create,
    holding,
    offer,
    pool,
    problems,
    refused,
    set_quota,
    unoffer,
    update,
    using,
    warned,
)

SLICED: dict[str, Any] = {"policy": {"gpu": {"slots": 4}}, "owner_quota": {"gpu.slot": 8}}
SINGLE: dict[str, Any] = {"policy": {"singleTenant": True}}


def scalars(rows: int, limit: int = 1) -> dict[str, int]:
    """A quota of so many rows, none of them of an atom."""
    return {f"scalar{n}": limit for n in range(rows)}


@pytest.mark.parametrize("sharing", ["timeslice", "mps"])
def test_offer_sharing_goes_to_the_owner_only(sharing: str) -> None:
    state = pool(sharing=sharing, **SLICED)
    assert refused(state, offer("acme", {"gpu.slot": 4})) == ("INVALID_STATE", "offer.sharing")
    assert allowed(state, offer("root", {"gpu.slot": 4})).changed


@pytest.mark.parametrize("sharing", ["exclusive", "mig"])
def test_offer_sharing_that_isolates_goes_to_others(sharing: str) -> None:
    assert allowed(pool(sharing=sharing), offer("acme", {"gpu": 1, "gpu.mig": 1})).changed


def test_offer_tenant_owned_machines_keep_a_pool_with_its_owner() -> None:
    state = holding(pool(), nodes=1, tenant_owned_nodes=1)
    assert refused(state, offer("acme")) == ("INVALID_STATE", "offer.tenantOwned")
    assert allowed(state, offer("root")).changed


def test_offer_single_is_for_one_tenant_besides_the_owner() -> None:
    state = after(create(**SINGLE), offer("root"), offer("acme"))
    assert refused(state, offer("globex")) == ("INVALID_STATE", "offer.single")
    assert allowed(state, offer("acme", {"gpu": 1})).changed
    assert allowed(after(unoffer("acme"), state=state), offer("globex")).changed


def test_offer_single_never_includes_descendants() -> None:
    assert refused(pool(**SINGLE), offer(include_descendants=True)) == ("INVALID_STATE", "offer.single")


def test_offer_single_reads_true_alone() -> None:
    state = after(create(policy={"singleTenant": False}), offer("acme"))
    assert allowed(state, offer("globex")).changed


def test_offer_archived_pool_cannot_be_offered() -> None:
    state = after(create(), archive())
    assert refused(state, offer("acme")) == ("INVALID_STATE", "offer.archived")
    assert refused(state, offer("root")) == ("INVALID_STATE", "offer.archived")


@pytest.mark.parametrize("priority", [-1000, 0, 1000])
def test_offer_priority_is_stored(priority: int) -> None:
    assert after(create(), offer(priority=priority)).offers["acme"].priority == priority


@pytest.mark.parametrize("priority", [-1001, 1001, True, 1.0])
def test_offer_priority_out_of_range_is_refused(priority: Any) -> None:
    assert refused(pool(), offer(priority=priority)) == ("INVALID_INPUT", "offer.priority")


def test_offer_descendants_are_stored_and_default_to_false() -> None:
    assert after(create(), offer(include_descendants=True)).offers["acme"].include_descendants is True
    assert after(create(), offer()).offers["acme"].include_descendants is False


@pytest.mark.parametrize(("tenant", "code"), [("nobody", "NOT_FOUND"), ("gone", "TENANT_INACTIVE")])
def test_offer_tenant_exists_and_is_active(tenant: str, code: str) -> None:
    assert refused(pool(), offer(tenant)) == (code, "offer.tenant")


def test_a_fact_that_nobody_knows_is_unchecked_and_never_a_silent_pass() -> None:
    blind: Facts = replace(FACTS, tenants=None, sites=None, accounts=None)
    found = [*allowed(pool(), offer(), blind).warnings, *allowed(after(), create(), blind).warnings]
    assert {(p.rule, p.severity) for p in found} == {("offer.tenant", "unchecked"), ("pool.site", "unchecked")}


def test_offer_again_sets_the_named_rows_and_others_stay() -> None:
    state = after(create(), offer("acme", {"gpu": 32, "vcpu": 64}), offer("acme", {"gpu": 16}))
    assert state.limits("acme") == {"gpu": 16, "vcpu": 64}


def test_offer_again_keeps_what_it_does_not_say() -> None:
    state = after(create(), offer(priority=7, include_descendants=True), offer("acme", {"gpu": 1}))
    assert state.terms("acme") == Terms({"gpu": 1}, 7, True)


def test_offer_again_after_an_unoffer_is_a_first_one_and_sets_the_rows_whole() -> None:
    state = using(after(create(), offer("acme", {"gpu": 32, "vcpu": 64})), "acme", "vcpu", 5)
    state = after(unoffer(), offer("acme", {"gpu": 8}), state=state)
    assert state.quotas["acme"] == {"gpu": QuotaRow(8), "vcpu": QuotaRow(0, 5)}


def test_offer_again_with_what_is_there_changes_nothing() -> None:
    state = after(create(), offer("acme", {"gpu": 32}, priority=3))
    assert not allowed(state, offer("acme", {"gpu": 32, "vcpu": 0}, priority=3, include_descendants=False)).changed


def test_an_offer_of_zero_leaves_a_row_that_tells_it_from_none() -> None:
    state = after(create(), offer("acme", {"gpu": 0}))
    assert state.quotas["acme"] == {"gpu": QuotaRow(0)}
    assert state.terms("acme") == Terms({"gpu": 0})


def test_an_offer_to_the_owner_keeps_its_other_rows() -> None:
    state = after(create(owner_quota={"gpu": 8, "vcpu": 4}), offer("root", {"gpu": 9}))
    assert state.limits("root") == {"gpu": 9, "vcpu": 4}
    assert state.pool is not None
    assert state.pool.owner_quota_version == 2


def test_an_offer_says_before_and_after() -> None:
    state = after(create(), offer("acme", {"gpu": 32}))
    event = allowed(state, offer("acme", {"gpu": 16}, priority=5)).event
    assert isinstance(event, PoolOffered)
    assert (event.before, event.after) == (Terms({"gpu": 32}), Terms({"gpu": 16}, 5))


def test_the_offers_of_a_tenant_chain_those_with_rows_of_zero_too() -> None:
    first, second = offer(quota={"gpu": 8, "vcpu": 0}), offer(quota={"gpu": 9})
    state = after(create(), first)
    told, then = (allowed(*pair).event for pair in ((pool(), first), (state, second)))
    assert isinstance(told, PoolOffered)
    assert isinstance(then, PoolOffered)
    assert told.after == then.before == Terms({"gpu": 8, "vcpu": 0})
    assert then.after == Terms({"gpu": 9, "vcpu": 0})


def test_each_write_of_offers_raises_the_offers_version_by_one_and_leaves_it_on_the_offer() -> None:
    state = after(create(), offer("acme"), offer("globex"), set_quota("acme", {"gpu": 1}))
    assert state.pool is not None
    assert (state.pool.version, state.pool.offers_version, state.pool.owner_quota_version) == (1, 4, 1)
    assert {t: o.version for t, o in state.offers.items()} == {"acme": 4, "globex": 3}


def test_an_offer_expects_its_own_version_and_zero_for_none() -> None:
    state = after(create(), offer("acme"))
    assert refused(state, offer("acme", {"gpu": 1}, expected_version=0)) == ("VERSION_CONFLICT", "version")
    assert allowed(state, offer("acme", {"gpu": 1}, expected_version=2)).changed
    assert allowed(state, offer("globex", expected_version=0)).changed
    assert refused(state, offer("globex", expected_version=2)) == ("VERSION_CONFLICT", "version")


def test_unoffer_owner_is_invalid() -> None:
    assert refused(after(create(), offer("root")), unoffer("root")) == ("INVALID_INPUT", "unoffer.owner")


def test_unoffer_quota_becomes_what_is_in_use() -> None:
    state = using(after(create(), offer("acme", {"gpu": 32, "vcpu": 8})), "acme", "gpu", 20)
    decision = allowed(state, unoffer())
    state.apply(decision.delta)
    assert state.quotas["acme"] == {"gpu": QuotaRow(20, 20), "vcpu": QuotaRow(0)}
    assert isinstance(decision.event, PoolUnoffered)
    assert decision.event.kept == {"gpu": 20}
    assert (state.others, "acme" in state.offers) == (0, False)


def test_unoffer_quota_below_use_stays_below_use() -> None:
    state = using(after(create(), offer("acme", {"gpu": 8})), "acme", "gpu", 20)
    assert after(unoffer(), state=state).quotas["acme"]["gpu"] == QuotaRow(8, 20)


def test_unoffer_of_no_offer_changes_nothing_whatever_version_is_given() -> None:
    assert not allowed(pool(), unoffer(expected_version=9)).changed


@pytest.mark.parametrize("limit", [-1, UNLIMITED + 1, 10**20, True, 1.0, "1", None])
def test_quota_value_is_a_whole_number_up_to_the_largest(limit: Any) -> None:
    assert refused(pool(), offer("acme", {"gpu": limit})) == ("INVALID_INPUT", "quota.value")
    assert refused(pool(), set_quota("root", {"gpu": limit})) == ("INVALID_INPUT", "quota.value")


@pytest.mark.parametrize("limit", [0, 1, UNLIMITED])
def test_quota_value_takes_the_borders(limit: int) -> None:
    assert after(create(), offer("acme", {"gpu": limit})).limits("acme") == {"gpu": limit}


@pytest.mark.parametrize(
    ("resource", "near"),
    [
        ("cpu", '"gpu" or "vcpu"'),
        ("VCPU", "vcpu"),
        ("memoryGib", "memoryGiB"),
        ("diskGB", "diskGiB"),
        ("gpu.slots", "gpu.slot"),
    ],
)
def test_quota_value_refuses_a_resource_that_is_nearly_a_known_one(resource: str, near: str) -> None:
    problem = problems(pool(), offer("acme", {resource: 1}))[0]
    assert (problem.code, problem.rule, problem.path) == ("INVALID_INPUT", "quota.value", f"quota.{resource}")
    assert near in problem.hint


@pytest.mark.parametrize("resource", ["", "Licences", "a b", "gpu.mig.1g", "x" * 65])
def test_quota_value_refuses_what_is_no_name(resource: str) -> None:
    assert refused(pool(), offer("acme", {resource: 1})) == ("INVALID_INPUT", "quota.value")


def test_quota_value_warns_of_an_unknown_scalar() -> None:
    assert ("quota.value", "quota.licences") in warned(pool(), offer("acme", {"gpu": 1, "licences": 3}))


@pytest.mark.parametrize(
    ("sharing", "quota", "paths"),
    [
        ("exclusive", {"gpu": 4}, set()),
        ("exclusive", {"vcpu": 4}, {"quota"}),
        ("mig", {"gpu": 8, "gpu.mig": 0}, {"quota.gpu"}),
        ("exclusive", {"gpu.slot": 16}, {"quota", "quota.gpu.slot"}),
    ],
)
def test_quota_value_warns_of_rows_that_grant_nothing(sharing: str, quota: dict[str, int], paths: set[str]) -> None:
    found = warned(pool(sharing=sharing), offer("acme", quota))
    assert {path for rule, path in found if rule == "quota.value"} == paths


@pytest.mark.parametrize("named", [MOST_ROWS + 1, 25_000])
def test_quota_value_refuses_a_command_of_too_many_rows_with_one_problem(named: int) -> None:
    quota = {f"Nonsense {n}": -1 for n in range(named)}
    for state, command, path in (
        (pool(), offer("acme", quota), "quota"),
        (pool(), set_quota("root", quota), "quota"),
        (PoolState(), create(owner_quota=quota), "ownerQuota"),
    ):
        [problem] = problems(state, command)
        assert (problem.code, problem.rule, problem.path) == ("INVALID_INPUT", "quota.value", path)
        assert str(MOST_ROWS) in problem.message


def test_quota_value_takes_as_many_rows_as_a_tenant_may_have() -> None:
    most = scalars(MOST_ROWS)
    state = after(create(owner_quota=most), offer("acme", most), offer("acme", most, priority=1))
    assert set(state.quotas["acme"]) == set(state.quotas["root"]) == set(most)


@pytest.mark.parametrize("tenant_id", ["root", "acme"])
def test_quota_value_counts_the_rows_that_are_there_those_of_zero_too(tenant_id: str) -> None:
    zeros = scalars(MOST_ROWS, 0)
    state = after(create(owner_quota=zeros), offer("acme", zeros))
    for command in (offer(tenant_id, {"other": 1}), set_quota(tenant_id, {"other": 1})):
        [problem] = problems(state, command)
        assert (problem.code, problem.rule, problem.path) == ("INVALID_INPUT", "quota.value", "quota")
        assert "those of 0 included" in problem.message
    named = dict.fromkeys(zeros, 1)
    assert allowed(state, offer(tenant_id, named)).changed
    assert allowed(state, set_quota(tenant_id, named)).changed


def test_quota_value_counts_the_rows_that_a_withdrawn_offer_left() -> None:
    state = after(create(), offer("acme", scalars(MOST_ROWS)), unoffer())
    assert refused(state, offer("acme", {"other": 1})) == ("INVALID_INPUT", "quota.value")


def test_quota_value_lets_rows_be_lowered_where_there_are_too_many_already() -> None:
    state = after(create(), offer("acme", scalars(MOST_ROWS)))
    state.quotas["acme"]["other"] = QuotaRow(1)
    assert allowed(state, set_quota("acme", {"other": 0})).changed
    assert refused(state, set_quota("acme", {"other": 0, "another": 0})) == ("INVALID_INPUT", "quota.value")


def test_quota_exact_max_may_fall_below_use_and_then_nothing_is_available() -> None:
    state = using(after(create(), offer("acme", {"gpu": 32})), "acme", "gpu", 20)
    state = after(set_quota("acme", {"gpu": 8}), state=state)
    row = state.quotas["acme"]["gpu"]
    assert (row.max, row.used, row.available) == (8, 20, 0)


def test_quota_missing_and_zero_are_equal() -> None:
    state = after(create(), offer("acme", {"gpu": 1}))
    assert not allowed(state, set_quota("acme", {"vcpu": 0})).changed


def test_setting_a_quota_touches_the_named_rows_only() -> None:
    state = after(create(owner_quota={"gpu": 8, "vcpu": 4}))
    decision = allowed(state, set_quota("root", {"vcpu": 5, "diskGiB": 1, "gpu": 8}))
    state.apply(decision.delta)
    assert state.limits("root") == {"gpu": 8, "vcpu": 5, "diskGiB": 1}
    assert isinstance(decision.event, QuotaUpdated)
    assert (decision.event.before, decision.event.after) == ({"vcpu": 4, "diskGiB": 0}, {"vcpu": 5, "diskGiB": 1})
    assert state.pool is not None
    assert (state.pool.offers_version, state.pool.owner_quota_version) == (2, 2)


def test_quota_value_warns_of_rows_that_grant_nothing_when_they_are_set_too() -> None:
    state = pool(sharing="mig", owner_quota={"gpu.mig": 4})
    assert warned(state, set_quota("root", {"gpu": 8})) == {("quota.value", "quota.gpu")}
    assert warned(state, set_quota("root", {"gpu.mig": 8})) == set()
    assert warned(pool(sharing="mig"), set_quota("root", {"gpu": 0, "gpu.mig": 8})) == set()


def test_a_quota_of_a_tenant_without_an_offer_is_not_found() -> None:
    assert refused(pool(), set_quota("acme", {"gpu": 1})) == ("NOT_FOUND", "quota.set")
    state = after(create(), offer("acme"), unoffer("acme"))
    assert refused(state, set_quota("acme", {"gpu": 1})) == ("NOT_FOUND", "quota.set")


def test_a_quota_expects_the_version_of_the_owners_rows_or_of_the_offer() -> None:
    state = after(create(), offer("acme"))
    assert refused(state, set_quota("root", {"gpu": 1}, expected_version=2)) == ("VERSION_CONFLICT", "version")
    assert allowed(state, set_quota("root", {"gpu": 1}, expected_version=1)).changed
    assert refused(state, set_quota("acme", {"gpu": 1}, expected_version=1)) == ("VERSION_CONFLICT", "version")
    assert allowed(state, set_quota("acme", {"gpu": 1}, expected_version=2)).changed


def test_the_quotas_of_an_archived_pool_stay_as_they_are() -> None:
    state = after(create(), archive())
    assert refused(state, set_quota("root", {"gpu": 1})) == ("INVALID_STATE", "offer.archived")


def test_leaving_single_tenancy_opens_the_pool_to_a_second_tenant() -> None:
    state = after(create(**SINGLE), offer("acme"), update(policy={}), offer("globex"))
    assert sorted(state.offers) == ["acme", "globex"]


@pytest.mark.parametrize(
    ("resource", "meant"),
    [("memory", "memoryGiB"), ("mem", "memoryGiB"), ("disk", "diskGiB"), ("me", ""), ("licences", "")],
)
def test_a_known_resource_without_its_unit_is_named(resource: str, meant: str) -> None:
    [problem] = check_quota({resource: 4096})
    assert problem.severity == "warning"
    assert problem.hint == (f'did you mean "{meant}"?' if meant else "")
