"""The rules of rules.md under Pools, each by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from better_compute.domain.atoms import CLASSES, UNLIMITED
from better_compute.domain.decide import check_command, decide
from better_compute.domain.events import PoolArchived, PoolCreated, PoolUpdated
from better_compute.domain.problems import Refused
from better_compute.domain.state import PoolState, QuotaRow
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

PROVIDER = {"class_": "provider", "provider_account_id": "pa_north", "agent": "none"}
TIMESLICED = {"sharing": "timeslice", "policy": {"gpu": {"slots": 4}}, "owner_quota": {"gpu.slot": 8}}


@pytest.mark.parametrize("class_", sorted(CLASSES))
def test_pool_class_takes_each_of_the_table(class_: str) -> None:
    command = create(**PROVIDER) if class_ == "provider" else create(class_=class_)
    assert after(command).pool is not None


@pytest.mark.parametrize("class_", ["Metal-Host", "metal", "", "host"])
def test_pool_class_refuses_others(class_: str) -> None:
    assert refused(PoolState(), create(class_=class_)) == ("INVALID_INPUT", "pool.class")


def test_pool_class_names_the_nearest() -> None:
    assert problems(PoolState(), create(class_="Metal-Host"))[0].hint == 'did you mean "metal-host"?'


def test_a_model_that_is_none_leaves_nothing_unchecked() -> None:
    devices = {"gpu": {"mig": {"devices": {"3g.40gb": 2}}}}
    command = create(gpu_model="h100", sharing="mig", policy=devices, owner_quota={"gpu.mig": 1})
    assert [p.rule for p in check_command(command, None)] == ["pool.model"]


def test_pool_provider_needs_an_account_and_agent_none_said_outright() -> None:
    assert after(create(**PROVIDER)).pool is not None
    for missing in ("provider_account_id", "agent"):
        fields = {k: v for k, v in PROVIDER.items() if k != missing}
        assert refused(PoolState(), create(**fields)) == ("INVALID_INPUT", "pool.provider")
    assert refused(PoolState(), create(**PROVIDER | {"agent": "bcd"})) == ("INVALID_INPUT", "pool.provider")


def test_pool_provider_other_classes_refuse_an_account() -> None:
    command = create(provider_account_id="pa_north")
    assert refused(PoolState(), command) == ("INVALID_INPUT", "pool.provider")


@pytest.mark.parametrize("account", ["pa_acme", "pa_nowhere"])
def test_pool_provider_account_of_a_stranger_and_none_look_the_same(account: str) -> None:
    answer = problems(PoolState(), create(**PROVIDER | {"provider_account_id": account}))
    assert [(p.code, p.rule, p.message) for p in answer] == [
        ("NOT_FOUND", "pool.provider", "no such provider account of this tenant")
    ]


@pytest.mark.parametrize(("agent", "kept"), [(None, "bcd"), ("bcd", "bcd"), ("none", "none")])
def test_pool_agent_is_bcd_unless_said(agent: str | None, kept: str) -> None:
    state = after(create(agent=agent))
    assert state.pool is not None
    assert state.pool.agent == kept


def test_pool_agent_refuses_others() -> None:
    assert refused(PoolState(), create(agent="bdc")) == ("INVALID_INPUT", "pool.agent")


@pytest.mark.parametrize("sharing", ["Exclusive", "time-slice", ""])
def test_pool_sharing_refuses_others(sharing: str) -> None:
    assert refused(PoolState(), create(sharing=sharing)) == ("INVALID_INPUT", "pool.sharing")


@pytest.mark.parametrize("model", ["h100", "NVIDIA H100 80GB HBM3", "", "A" * 33])
def test_pool_model_is_one_family_name(model: str) -> None:
    assert refused(PoolState(), create(gpu_model=model)) == ("INVALID_INPUT", "pool.model")


def test_pool_model_out_of_the_family_table_is_a_warning() -> None:
    assert ("pool.model", "gpuModel") in warned(PoolState(), create(gpu_model="H10O"))


@pytest.mark.parametrize("site", ["site_acme", "site_nowhere"])
def test_pool_site_of_a_stranger_and_none_look_the_same(site: str) -> None:
    answer = problems(PoolState(), create(site_id=site))
    assert [(p.code, p.rule, p.message) for p in answer] == [("NOT_FOUND", "pool.site", "no such site of this tenant")]


def test_pool_site_gives_the_pool_its_region() -> None:
    state = pool()
    assert state.pool is not None
    assert state.pool.region == "eu-central"


def test_pool_key_again_answers_the_same_pool_and_nothing_happens() -> None:
    state = after(create(), offer())
    again = create(gpu_model="H200", policy={"maxPending": "1h"}, owner_quota={"gpu": 1})
    assert not allowed(state, again).changed


@pytest.mark.parametrize(
    "fields", [{"policy": {"maxPending": 17}}, {"gpu_model": "h100"}, {"owner_quota": {"gpu": -1}}]
)
def test_pool_key_again_is_not_judged_by_what_a_new_pool_may_be(fields: dict[str, Any]) -> None:
    """A stricter release: what it accepts no more has made this pool, and asking again changes nothing."""
    assert refused(PoolState(), create(**fields))[0] == "INVALID_INPUT"
    assert not allowed(pool(), create(**fields)).changed


def test_pool_key_again_with_a_site_or_an_account_that_is_gone_answers_the_pool() -> None:
    state = after(create(**PROVIDER))
    nowhere = replace(FACTS, sites={}, accounts={})
    assert not allowed(state, create(**PROVIDER), nowhere).changed


def test_pool_key_of_an_archived_pool_answers_it_and_does_not_revive_it() -> None:
    state = after(create(), archive())
    assert not allowed(state, create()).changed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("site_id", "site_ams1"),
        ("class_", "infra"),
        ("class_", "Metal-Host"),
        ("sharing", "mig"),
        ("sharing", ""),
        ("agent", "none"),
        ("agent", ""),
    ],
)
def test_pool_key_with_another_identity_is_a_conflict(field: str, value: str) -> None:
    command = create(**{field: value})
    assert refused(pool(), command) == ("CONFLICT", "pool.key")


def test_pool_key_says_of_an_account_that_is_missing_that_it_is_not_set() -> None:
    without, of_account = after(create()), after(create(**PROVIDER))
    assert problems(without, create(**PROVIDER))[-1].message == (
        "this key made a pool whose providerAccountId is not set, not pa_north"
    )
    assert problems(of_account, create())[-1].message == (
        "this key made a pool whose providerAccountId is pa_north, not unset"
    )


def test_pool_key_repeats_no_word_of_any_length() -> None:
    said = [problems(pool(), create(class_=word))[0].message for word in ("infra", "m" * 1_000_000, "\x1b[2J")]
    assert said[0] == "this key made a pool whose class is metal-host, not infra"
    assert said[1] == said[2] == "this key made a pool whose class is metal-host"


def test_pool_key_with_another_account_is_a_conflict() -> None:
    state = after(create(**PROVIDER))
    assert refused(state, create(**PROVIDER | {"provider_account_id": "pa_acme"})) == ("CONFLICT", "pool.key")


def test_pool_owner_quota_defaults_to_unlimited_gpus() -> None:
    assert pool().quotas == {"root": {"gpu": QuotaRow(UNLIMITED)}}


def test_pool_owner_quota_is_taken_as_stated() -> None:
    assert pool(owner_quota={"gpu": 8, "vcpu": 64}).limits("root") == {"gpu": 8, "vcpu": 64}


@pytest.mark.parametrize("fields", [{"sharing": "mig"}, {**TIMESLICED, "owner_quota": None}])
def test_pool_owner_quota_warns_where_the_default_grants_no_atom(fields: dict[str, Any]) -> None:
    assert [pair for pair in warned(PoolState(), create(**fields)) if pair[0] == "pool.ownerQuota"] == [
        ("pool.ownerQuota", "ownerQuota")
    ]


def test_pool_owner_quota_is_silent_where_the_atom_has_a_row() -> None:
    assert not [p for p in warned(PoolState(), create(**TIMESLICED)) if p[0] == "pool.ownerQuota"]
    assert not [p for p in warned(PoolState(), create()) if p[0] == "pool.ownerQuota"]


def test_pool_owner_quota_is_judged_like_any_quota() -> None:
    answer = problems(PoolState(), create(owner_quota={"gpu": UNLIMITED + 1}))
    assert [(p.code, p.rule, p.path) for p in answer] == [("INVALID_INPUT", "quota.value", "ownerQuota.gpu")]


def test_a_created_pool_starts_at_version_one_and_says_so() -> None:
    decision = allowed(PoolState(), create())
    assert isinstance(decision.event, PoolCreated)
    created = decision.event.after
    assert (created.version, created.offers_version, created.owner_quota_version) == (1, 1, 1)
    assert (created.created_by, created.created_at) == (FACTS.actor_id, FACTS.now)


def test_a_create_alone_makes_a_pool() -> None:
    state = after(create(), offer())
    assert allowed(PoolState(), create()).delta.created
    for command in (create(), offer("acme", {"gpu": 1}), unoffer(), set_quota("root", {"gpu": 1}), archive()):
        assert not allowed(state, command).delta.created


def test_pool_update_replaces_the_policy_whole() -> None:
    state = after(create(policy={"maxPending": "6h", "note": "x"}), update(policy={"maxPending": "7h"}))
    assert state.pool is not None
    assert state.pool.policy == {"maxPending": "7h"}
    assert (state.pool.version, state.pool.offers_version) == (2, 1)


def test_pool_update_of_neither_is_invalid() -> None:
    assert refused(pool(), update()) == ("INVALID_INPUT", "pool.update")


def test_pool_update_to_what_is_there_changes_nothing() -> None:
    state = pool(policy={"maxPending": "6h", "n": 1})
    assert not allowed(state, update(policy={"n": 1.0, "maxPending": "6h"}, gpu_model="H100")).changed


@pytest.mark.parametrize("policy", [{"n": True}, {"n": "1"}, {"n": None}, {}])
def test_pool_update_tells_true_from_one_and_null_from_missing(policy: dict[str, Any]) -> None:
    assert allowed(pool(policy={"n": 1}), update(policy=policy)).changed


def test_pool_update_of_an_archived_pool_is_refused() -> None:
    state = after(create(), archive())
    assert refused(state, update(gpu_model="H200")) == ("INVALID_STATE", "pool.update")


def test_pool_update_to_another_model_than_that_of_the_hosts_is_refused() -> None:
    state = holding(pool(), host_nodes=1, models={"H100": 1})
    assert refused(state, update(gpu_model="H200")) == ("INVALID_STATE", "pool.update")
    assert allowed(holding(pool(), nodes=1), update(gpu_model="H200")).changed


def test_pool_update_validates_a_policy_that_changes() -> None:
    assert problems(pool(), update(policy={"maxPending": 17}))[0].code == "INVALID_INPUT"


def test_pool_update_does_not_validate_a_policy_that_stays() -> None:
    state = pool()
    assert state.pool is not None
    held = PoolState.whole(replace(state.pool, policy={"maxPending": 17}), {}, {}, state.rollup)
    assert allowed(held, update(policy={"maxPending": 17}, gpu_model="H200")).changed


def test_pool_update_to_single_tenant_with_two_tenants_is_refused() -> None:
    state = after(create(), offer("acme"), offer("globex"))
    assert refused(state, update(policy={"singleTenant": True})) == ("INVALID_STATE", "offer.single")


def test_pool_update_to_single_tenant_with_descendants_is_refused() -> None:
    state = after(create(), offer("acme", include_descendants=True))
    assert refused(state, update(policy={"singleTenant": True})) == ("INVALID_STATE", "offer.single")
    narrowed = after(offer("acme", include_descendants=False), state=state)
    assert allowed(narrowed, update(policy={"singleTenant": True})).changed


def test_pool_update_to_single_tenant_does_not_count_the_owner() -> None:
    state = after(create(), offer("root"), offer("acme"))
    assert allowed(state, update(policy={"singleTenant": True})).changed


def test_pool_update_says_before_and_after() -> None:
    event = allowed(pool(), update(gpu_model="H200")).event
    assert isinstance(event, PoolUpdated)
    assert (event.before.gpu_model, event.after.gpu_model) == ("H100", "H200")


def test_pool_archive_removes_every_offer_and_freezes_what_is_in_use() -> None:
    state = using(after(create(), offer("acme", {"gpu": 32, "vcpu": 8}), offer("globex")), "acme", "gpu", 20)
    decision = allowed(state, archive())
    archived = after(archive(), state=state)
    assert archived.offers == {}
    assert archived.others == 0
    assert archived.quotas["acme"] == {"gpu": QuotaRow(20, 20), "vcpu": QuotaRow(0)}
    assert archived.quotas["globex"] == {"gpu": QuotaRow(0)}
    assert archived.quotas["root"] == {"gpu": QuotaRow(UNLIMITED)}
    assert isinstance(decision.event, PoolArchived)
    assert sorted(decision.event.unoffered) == ["acme", "globex"]
    assert archived.pool is not None
    assert (archived.pool.archived_at, archived.pool.version) == (FACTS.now, 2)


def test_pool_archive_again_changes_nothing_whatever_versions_are_given() -> None:
    state = after(create(), archive())
    assert not allowed(state, archive(expected_version=77, expected_offers_version=88)).changed


@pytest.mark.parametrize(
    "command", [update(gpu_model="H200"), archive(), offer(), unoffer(), set_quota("root", {"gpu": 1})]
)
def test_pool_owner_a_stranger_gets_for_a_hidden_pool_what_it_gets_for_none(command: Any) -> None:
    stranger = replace(command, tenant_id="globex")
    hidden, absent = decide(pool(), stranger, FACTS), decide(PoolState(), stranger, FACTS)
    assert isinstance(hidden, Refused)
    assert hidden == absent
    assert hidden.code == "NOT_FOUND"


@pytest.mark.parametrize("command", [update(gpu_model="H200", expected_version=2), archive(expected_version=2)])
def test_a_version_that_does_not_hold_is_a_conflict(command: Any) -> None:
    assert refused(pool(), command) == ("VERSION_CONFLICT", "version")


def test_archive_holds_the_offers_version_too() -> None:
    state = after(create(), offer())
    assert refused(state, archive(expected_offers_version=1)) == ("VERSION_CONFLICT", "version")
    assert allowed(state, archive(expected_version=1, expected_offers_version=2)).changed


def test_the_version_is_judged_before_the_rules() -> None:
    state = after(create(), offer("acme"), offer("globex"))
    command = update(policy={"singleTenant": True}, expected_version=9)
    assert refused(state, command) == ("VERSION_CONFLICT", "version")
