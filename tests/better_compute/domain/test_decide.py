"""Over any sequence of commands the invariants of rules.md hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from better_compute.domain import offers
from better_compute.domain.commands import Command
from better_compute.domain.decide import decide
from better_compute.domain.decision import Decision
from better_compute.domain.state import Pool, PoolState
from tests.decisions import FACTS, archive, create, offer, set_quota, unoffer, update

TENANTS = st.sampled_from(["root", "acme", "globex", "initech", "gone"])
QUOTAS = st.dictionaries(st.sampled_from(["gpu", "vcpu"]), st.sampled_from([0, 1, 32]))
POLICIES = st.sampled_from([{}, {"singleTenant": True}, {"maxPending": "6h"}])
COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(lambda p: create(policy=p), POLICIES),
    st.builds(lambda t, q, d: offer(t, q, include_descendants=d), TENANTS, QUOTAS, st.booleans()),
    st.builds(unoffer, TENANTS),
    st.builds(set_quota, TENANTS, QUOTAS),
    st.builds(lambda p: update(policy=p), POLICIES),
    st.just(archive()),
)
SHARING = st.sampled_from([{}, {"sharing": "timeslice", "policy": {"gpu": {"slots": 2}}}])


def run(first: dict[str, Any], commands: list[Command]) -> PoolState:
    """The state after the commands that are allowed, every step judged."""
    state = PoolState()
    for command in [create(**first), *commands]:
        before = state.copy()
        decision = decide(state, command, FACTS)
        assert state == before, "decide changes nothing"
        if isinstance(decision, Decision):
            state.apply(decision.delta)
            check(before, decision, state)
    return state


def check(before: PoolState, decision: Decision, state: PoolState) -> None:
    pool = state.pool
    assert pool is not None
    others = [o for t, o in state.offers.items() if t != pool.owner_id]
    assert (state.others, state.wide) == (len(others), sum(o.include_descendants for o in others))
    if pool.archived:
        assert not state.offers, "4: an archived pool has no offers"
    if pool.sharing == "timeslice":
        assert not others, "5: a shared pool has no offer but the owner's"
    if pool.policy.get("singleTenant") is True:
        assert len(others) <= 1, "6: one other tenant"
        assert state.wide == 0, "6: no descendants"
    assert all(pool.owner_id == tenant or tenant in state.quotas for tenant in state.offers), "3: rows for each offer"
    check_versions(before.pool, pool, decision.changed)


def check_versions(before: Pool | None, after: Pool, changed: bool) -> None:
    """7: one event per change, and each change raises one of the two versions by exactly 1."""
    if before is None:
        assert (after.version, after.offers_version) == (1, 1)
        return
    steps = (after.version - before.version, after.offers_version - before.offers_version)
    assert steps in ([(1, 0), (0, 1)] if changed else [(0, 0)])
    assert changed == (before != after)


@given(SHARING, st.lists(COMMANDS, max_size=12))
@settings(max_examples=300)
def test_the_invariants_hold_over_any_sequence(first: dict[str, Any], commands: list[Command]) -> None:
    run(first, commands)


def test_without_the_rule_of_single_tenancy_the_law_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "check_offerable", lambda *_: [])
    with pytest.raises(AssertionError, match="6: one other tenant"):
        run({"policy": {"singleTenant": True}}, [offer("acme"), offer("globex")])


@given(st.lists(COMMANDS, max_size=8))
def test_a_command_repeated_at_once_changes_nothing(commands: list[Command]) -> None:
    state = run({}, commands)
    for command in commands:
        if isinstance(decision := decide(state, command, FACTS), Decision):
            state.apply(decision.delta)
            again = decide(state, command, FACTS)
            assert isinstance(again, Decision)
            assert not again.changed
