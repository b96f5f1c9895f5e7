"""What waits for what, told change by change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from better_compute.domain.commands import Command, OfferPool, SetQuota
from better_compute.domain.state import PoolState, QuotaRow, Terms
from fleetctl.order import GivenUp, Ordering, arrange
from tests.fleetctl.order.fleets import ROOT, Change, Wanted, change, wide
from tests.fleetctl.order.laws import LAWS, States, broken_rules

_VERBS = {
    "CreatePool": "create",
    "UpdatePool": "update",
    "OfferPool": "offer",
    "SetQuota": "set quota",
    "UnofferPool": "withdraw",
    "ArchivePool": "archive",
}


class Told:
    """An ordering in words, such as `offer p to acme`."""

    def __init__(self, before: Mapping[str, Wanted], after: Mapping[str, Wanted]) -> None:
        found = change(before, after)
        self.ordering: Ordering = arrange(found.commands, found.live)
        self.words = [_words(command) for command in found.commands]
        self.sequence = [self.words[n] for n in self.ordering.sequence]
        assert self.ordering.cycles == ()
        assert [law(States(found, self.ordering)) for law in LAWS] == [[]] * len(LAWS)

    def waits_for(self, operation: str) -> list[str]:
        return [self.words[n] for n in self.ordering.depends_on[self.words.index(operation)]]

    def lost(self, kind: str) -> list[tuple[str, str, str, int]]:
        """Of each wish given up: what should have come first, what does not wait for it, who is short and of what."""
        return [
            (self.words[g.first], self.words[g.then], g.tenant_id, g.amount)
            for g in self.ordering.given_up
            if g.kind == kind
        ]


def _words(command: Command) -> str:
    tenant_id = getattr(command, "to_tenant_id", None)
    to = {"OfferPool": " to ", "UnofferPool": " from ", "SetQuota": " of "}.get(type(command).__name__, "")
    return f"{_VERBS[type(command).__name__]} {command.pool_id}{to}{tenant_id or ''}"


def test_a_pool_is_created_before_it_is_offered() -> None:
    told = Told({}, {"p": Wanted(offers={"acme": 32, "globex": 16})})
    assert told.sequence == ["create p", "offer p to acme", "offer p to globex"]
    assert told.waits_for("offer p to acme") == told.waits_for("offer p to globex") == ["create p"]


def test_operations_that_have_nothing_to_do_with_each_other_do_not_wait() -> None:
    told = Told(
        {"p": Wanted(), "q": Wanted(model="H200", offers={"acme": 8})},
        {"p": Wanted(offers={"acme": 32}), "q": Wanted(model="H200", offers={"acme": 4})},
    )
    assert told.ordering.depends_on == ((), ())
    assert told.ordering.given_up == ()


def test_in_a_single_tenant_pool_that_changes_tenants_the_withdrawal_comes_first_and_the_gap_is_told() -> None:
    told = Told({"p": Wanted(single=True, offers={"acme": 32})}, {"p": Wanted(single=True, offers={"globex": 24})})
    assert told.sequence == ["withdraw p from acme", "offer p to globex"]
    assert told.waits_for("offer p to globex") == ["withdraw p from acme"]
    assert told.lost("gap") == [("offer p to globex", "withdraw p from acme", "acme", 32)]


def test_in_a_pool_that_stops_being_single_tenant_the_next_tenant_comes_without_a_gap() -> None:
    told = Told({"p": Wanted(single=True, offers={"acme": 8})}, {"p": Wanted(offers={"globex": 16})})
    assert "update p" in told.waits_for("offer p to globex")
    assert told.lost("gap") == []


def test_an_offer_to_the_owner_is_no_second_tenant() -> None:
    found = change({"p": Wanted(single=True, offers={"acme": 8})}, {"p": Wanted(single=True)})
    own = OfferPool(tenant_id=ROOT, pool_id="p", to_tenant_id=ROOT, quota={"gpu": 200})
    bound = arrange([own, *found.commands], found.live)
    assert bound.given_up == ()
    assert broken_rules(States(Change([own, *found.commands], found.live))) == []


def test_a_single_tenant_pool_that_two_tenants_hold_against_the_rule_loses_both_before_the_next_comes() -> None:
    told = Told(
        {"p": Wanted(single=True, offers={"acme": 0, "globex": 0})},
        {"p": Wanted(single=True, offers={"initech": 8})},
    )
    assert told.sequence == ["withdraw p from acme", "withdraw p from globex", "offer p to initech"]


def test_two_pools_that_swap_their_tenants_leave_one_tenant_below_and_say_so() -> None:
    told = Told(
        {"p": Wanted(single=True, offers={"acme": 8}), "q": Wanted(single=True, offers={"globex": 8})},
        {"p": Wanted(single=True, offers={"globex": 8}), "q": Wanted(single=True, offers={"acme": 8})},
    )
    assert told.lost("below") == [("offer q to acme", "withdraw p from acme", "acme", 8)]
    assert told.waits_for("withdraw q from globex") == ["offer p to globex"]
    assert len(told.lost("gap")) == 2


def test_three_pools_that_pass_their_tenants_round_leave_one_tenant_below() -> None:
    tenants = ("acme", "globex", "initech")
    told = Told(
        {p: Wanted(single=True, offers={t: 8}) for p, t in zip("pqr", tenants, strict=True)},
        {p: Wanted(single=True, offers={t: 8}) for p, t in zip("pqr", (*tenants[1:], tenants[0]), strict=True)},
    )
    assert told.sequence == [
        "withdraw p from acme",
        "offer p to globex",
        "withdraw q from globex",
        "offer q to initech",
        "withdraw r from initech",
        "offer r to acme",
    ]
    assert told.lost("below") == [("offer r to acme", "withdraw p from acme", "acme", 8)]


@pytest.mark.parametrize("free", [{"r": Wanted()}, {}], ids=["live", "new"])
def test_a_tenant_that_also_gets_a_free_pool_is_not_below_in_a_swap(free: Mapping[str, Wanted]) -> None:
    told = Told(
        {"p": Wanted(single=True, offers={"acme": 8}), "q": Wanted(single=True, offers={"globex": 8}), **free},
        {
            "p": Wanted(single=True, offers={"globex": 8}),
            "q": Wanted(single=True, offers={"acme": 8}),
            "r": Wanted(offers={"acme": 8}),
        },
    )
    assert told.waits_for("withdraw p from acme") == ["offer r to acme"]
    assert told.lost("below") == []


def test_what_a_tenant_loses_for_good_is_first_what_a_rule_binds() -> None:
    told = Told(
        {"o": Wanted(offers={"acme": 8}), "p": Wanted(single=True, offers={"acme": 8}), "q": Wanted()},
        {"o": Wanted(), "p": Wanted(single=True, offers={"globex": 8}), "q": Wanted(offers={"acme": 8})},
    )
    assert told.waits_for("withdraw p from acme") == []
    assert told.waits_for("withdraw o from acme") == ["offer q to acme"]


def test_a_raise_that_also_lowers_is_counted_on_last() -> None:
    told = Told(
        {"o": Wanted(offers={"acme": Terms({"gpu": 1, "vcpu": 8})}), "p": Wanted(offers={"acme": 8}), "q": Wanted()},
        {"o": Wanted(offers={"acme": 9}), "p": Wanted(), "q": Wanted(offers={"acme": 8})},
    )
    assert told.waits_for("withdraw p from acme") == ["offer q to acme"]


def test_a_quota_that_moves_between_pools_is_raised_before_it_is_lowered() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": 32}), "q": Wanted(offers={"acme": 8})},
        {"p": Wanted(offers={"acme": 16}), "q": Wanted(offers={"acme": 24})},
    )
    assert told.sequence == ["offer q to acme", "offer p to acme"]
    assert told.waits_for("offer p to acme") == ["offer q to acme"]


def test_what_is_lowered_beyond_what_is_raised_waits_for_nothing() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": 8}), "q": Wanted(offers={"acme": 32}), "r": Wanted()},
        {"p": Wanted(), "q": Wanted(), "r": Wanted(offers={"acme": 32})},
    )
    assert told.waits_for("withdraw p from acme") == []
    assert told.waits_for("withdraw q from acme") == ["offer r to acme"]


def test_a_tenant_moves_to_a_new_pool_before_the_old_one_is_archived() -> None:
    told = Told(
        {"old": Wanted(offers={"acme": 32})},
        {"old": Wanted(archived=True), "new": Wanted(offers={"acme": 32})},
    )
    assert told.sequence == ["create new", "offer new to acme", "archive old"]
    assert told.waits_for("archive old") == ["offer new to acme"]


def test_between_tenants_of_a_pool_what_one_gives_is_lowered_before_another_gets_it() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": 16, "globex": 32})},
        {"p": Wanted(offers={"acme": 32, "globex": 16})},
    )
    assert told.sequence == ["offer p to globex", "offer p to acme"]
    assert told.ordering.given_up == ()


def test_two_tenants_that_swap_quota_between_pools_stay_whole_and_a_pool_promises_more_for_a_moment() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": 32, "globex": 16}), "q": Wanted(offers={"acme": 16, "globex": 32})},
        {"p": Wanted(offers={"acme": 16, "globex": 32}), "q": Wanted(offers={"acme": 32, "globex": 16})},
    )
    assert told.lost("below") == []
    assert told.lost("above") == [("offer p to acme", "offer p to globex", "globex", 16)]


def test_a_pool_becomes_single_tenant_after_withdrawals_and_narrowing() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": wide(8), "globex": 8, "initech": 8})},
        {"p": Wanted(single=True, offers={"acme": 8})},
    )
    assert told.sequence[-1] == "update p"
    assert len(told.waits_for("update p")) == 3


def test_a_pool_that_becomes_single_tenant_with_another_tenant_withdraws_first() -> None:
    told = Told({"p": Wanted(offers={"acme": 8, "globex": 8})}, {"p": Wanted(single=True, offers={"initech": 8})})
    assert told.waits_for("update p") == ["withdraw p from acme", "withdraw p from globex"]


def test_a_pool_stops_being_single_tenant_before_a_second_offer_and_before_descendants() -> None:
    told = Told(
        {"p": Wanted(single=True, offers={"acme": 8})},
        {"p": Wanted(offers={"acme": wide(8), "globex": 8})},
    )
    assert told.sequence[0] == "update p"
    assert told.waits_for("offer p to acme") == told.waits_for("offer p to globex") == ["update p"]


def test_the_first_offer_of_a_pool_that_stops_being_single_tenant_does_not_wait() -> None:
    told = Told({"p": Wanted(single=True)}, {"p": Wanted(offers={"acme": 8})})
    assert told.ordering.depends_on == ((), ())


def test_a_pool_changes_its_model_between_withdrawals_and_grants() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": 8, "globex": 8})},
        {"p": Wanted(model="H200", offers={"globex": 4, "initech": 4}, owner={"gpu": 50})},
    )
    assert told.waits_for("update p") == ["withdraw p from acme"]
    assert told.sequence[:2] == ["withdraw p from acme", "update p"]
    assert told.waits_for("offer p to globex") == ["update p"]
    assert told.waits_for("offer p to initech") == ["offer p to globex"]


def test_an_offer_narrowed_for_a_single_tenant_policy_precedes_an_update_that_also_changes_the_model() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": wide(8)}), "q": Wanted(model="H200", offers={"acme": 20})},
        {
            "p": Wanted(model="H200", single=True, offers={"acme": 16}),
            "q": Wanted(model="H200", offers={"acme": 4}),
        },
    )
    assert told.waits_for("update p") == ["offer p to acme"]
    assert told.waits_for("offer q to acme") == ["update p"]


def test_a_narrowed_offer_is_still_what_an_update_of_the_model_takes_away() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": wide(8)}), "q": Wanted()},
        {"p": Wanted(model="H200", single=True, offers={"acme": 8}), "q": Wanted(offers={"acme": 8})},
    )
    assert told.waits_for("update p") == ["offer p to acme", "offer q to acme"]


def test_an_offer_narrowed_without_need_follows_an_update_of_the_model() -> None:
    told = Told({"p": Wanted(offers={"acme": wide(8)})}, {"p": Wanted(model="H200", offers={"acme": 8})})
    assert told.waits_for("offer p to acme") == ["update p"]


def test_two_pools_that_swap_their_models_leave_their_holders_without_one_and_say_so() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": 8}), "q": Wanted(model="H200", offers={"acme": 8})},
        {"p": Wanted(model="H200", offers={"acme": 8}), "q": Wanted(offers={"acme": 8})},
    )
    assert told.lost("below") == [
        ("update q", "update p", "acme", 8),
        ("update q", "update p", ROOT, 100),
    ]
    assert {g.gpu_model for g in told.ordering.given_up} == {"H100"}


def test_a_withdrawn_quota_that_stays_frozen_in_use_is_none_to_count_on() -> None:
    found = change({"p": Wanted(offers={"acme": 8}), "q": Wanted()}, {"p": Wanted(), "q": Wanted(offers={"acme": 8})})
    found.live["p"].quotas["acme"]["gpu"] = QuotaRow(8, used=8)
    assert arrange(found.commands, found.live).depends_on == ((1,), ())


def test_a_quota_row_that_is_not_named_is_not_lowered() -> None:
    found = change(
        {"p": Wanted(owner={"gpu": 8, "vcpu": 64}), "q": Wanted(owner={"gpu": 8, "vcpu": 8})},
        {"p": Wanted(owner={"gpu": 8, "vcpu": 64}), "q": Wanted(owner={"gpu": 8, "vcpu": 64})},
    )
    alone = SetQuota(tenant_id=ROOT, pool_id="p", to_tenant_id=ROOT, quota={"gpu": 16})
    assert arrange([alone, *found.commands], found.live).depends_on == ((), ())


def test_resources_are_counted_one_by_one() -> None:
    told = Told(
        {"p": Wanted(offers={"acme": Terms({"gpu": 8, "vcpu": 64})}), "q": Wanted(), "r": Wanted()},
        {"p": Wanted(), "q": Wanted(offers={"acme": 8}), "r": Wanted(offers={"acme": Terms({"vcpu": 64})})},
    )
    assert told.waits_for("withdraw p from acme") == ["offer q to acme", "offer r to acme"]


def test_a_tenant_that_gives_gpus_for_cpus_between_two_pools_can_not_have_both_first() -> None:
    few, many = Terms({"gpu": 1, "vcpu": 8}), Terms({"gpu": 8, "vcpu": 1})
    told = Told(
        {"p": Wanted(offers={"acme": few}), "q": Wanted(offers={"acme": many})},
        {"p": Wanted(offers={"acme": many}), "q": Wanted(offers={"acme": few})},
    )
    assert told.lost("below") == [("offer q to acme", "offer p to acme", "acme", 7)]
    assert told.ordering.given_up[0].resource == "vcpu"


def test_operations_on_an_unknown_pool_are_ordered_without_complaint() -> None:
    found = change({"p": Wanted()}, {"p": Wanted(offers={"acme": 8})})
    assert arrange(found.commands, {}).sequence == (0,)


def test_nothing_to_do_is_an_ordering() -> None:
    assert arrange([], {"p": PoolState()}) == Ordering((), (), (), ())


def test_an_ordering_speaks_of_positions_in_the_commands_as_given() -> None:
    found = change({"p": Wanted(single=True, offers={"b": 8})}, {"p": Wanted(single=True, offers={"a": 8})})
    turned = found.commands[::-1]
    assert [type(c).__name__ for c in turned] == ["UnofferPool", "OfferPool"]
    ordering = arrange(turned, found.live)
    assert ordering.sequence == (0, 1)
    assert ordering.depends_on == ((), (0,))
    assert ordering.given_up == (GivenUp("gap", 1, 0, "b", "H100", "gpu", 8),)


@pytest.mark.parametrize("archived", [True, False])
def test_an_archived_pool_gives_nothing_to_count_on(archived: bool) -> None:
    found = change({"p": Wanted(model="H200"), "q": Wanted()}, {"p": Wanted(), "q": Wanted(archived=True)})
    state = found.live["p"]
    assert state.pool is not None
    state.pool = replace(state.pool, archived_at=1 if archived else None)
    assert arrange(found.commands, found.live).depends_on == ((), () if archived else (0,))
