"""A pool and what one does to it: short words for tests of the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.decide import decide
from better_compute.domain.decision import Decision
from better_compute.domain.facts import Facts, Site
from better_compute.domain.problems import Problem, Refused
from better_compute.domain.state import PoolState, QuotaRow

FACTS = Facts(
    actor_id="sa_fleet",
    now=1_700_000_000_000,
    sites={
        "site_fra1": Site("site_fra1", "root", "shared", "eu-central"),
        "site_acme": Site("site_acme", "acme", "custom", "eu-west"),
    },
    tenants={"root": "active", "acme": "active", "globex": "active", "initech": "active", "gone": "inactive"},
    accounts={"pa_north": "root", "pa_acme": "acme"},
    attestors=frozenset({"join-token"}),
)

BASE: dict[str, Any] = {"tenant_id": "root", "pool_id": "pool_1"}


def create(**fields: Any) -> CreatePool:
    return CreatePool(
        **{
            **BASE,
            "site_id": "site_fra1",
            "class_": "metal-host",
            "gpu_model": "H100",
            "idempotency_key": "k",
            **fields,
        }
    )


def update(**fields: Any) -> UpdatePool:
    return UpdatePool(**{**BASE, **fields})


def offer(to: str = "acme", quota: dict[str, Any] | None = None, **fields: Any) -> OfferPool:
    return OfferPool(**{**BASE, "to_tenant_id": to, "quota": {"gpu": 32} if quota is None else quota, **fields})


def unoffer(to: str = "acme", **fields: Any) -> UnofferPool:
    return UnofferPool(**{**BASE, "to_tenant_id": to, **fields})


def set_quota(to: str, quota: dict[str, Any], **fields: Any) -> SetQuota:
    return SetQuota(**{**BASE, "to_tenant_id": to, "quota": quota, **fields})


def archive(**fields: Any) -> ArchivePool:
    return ArchivePool(**{**BASE, **fields})


def after(*commands: Command, state: PoolState | None = None, facts: Facts = FACTS) -> PoolState:
    """The state after commands that must all be allowed."""
    now = PoolState() if state is None else state.copy()
    for command in commands:
        now.apply(allowed(now, command, facts).delta)
    return now


def pool(**fields: Any) -> PoolState:
    """A pool just created."""
    return after(create(**fields))


def allowed(state: PoolState, command: Command, facts: Facts = FACTS) -> Decision:
    decision = decide(state, command, facts)
    assert isinstance(decision, Decision), decision
    return decision


def refused(state: PoolState, command: Command, facts: Facts = FACTS) -> tuple[str, str]:
    """The code and the rule that refuse."""
    return (problem := problems(state, command, facts)[0]).code, problem.rule


def problems(state: PoolState, command: Command, facts: Facts = FACTS) -> tuple[Problem, ...]:
    decision = decide(state, command, facts)
    assert isinstance(decision, Refused), decision
    return decision.problems


def warned(state: PoolState, command: Command, facts: Facts = FACTS) -> set[tuple[str, str]]:
    """The warnings of an allowed command: rule and path."""
    return {(problem.rule, problem.path) for problem in allowed(state, command, facts).warnings}


def using(state: PoolState, tenant_id: str, resource: str, used: int) -> PoolState:
    """The same with so much booked."""
    now = state.copy()
    row = now.quotas[tenant_id][resource]
    now.quotas[tenant_id][resource] = QuotaRow(row.max, used)
    return now


def holding(state: PoolState, **machines: Any) -> PoolState:
    """The same with other machines."""
    return replace(state, rollup=replace(state.rollup, **machines))
