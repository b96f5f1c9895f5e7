"""What every operation of the service stands on: its ports, the check of a right, and the way a pool is changed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from better_compute.domain.commands import Command, CreatePool
from better_compute.domain.decide import decide
from better_compute.domain.decision import hidden
from better_compute.domain.events import Event, PoolUpdated
from better_compute.domain.ids import random_id
from better_compute.domain.nodes import Machine
from better_compute.domain.policy.rules import JOIN_TOKEN
from better_compute.domain.problems import ACCESS_DENIED, NOT_FOUND, ComputeError, Problem, Refused, did_you_mean
from better_compute.domain.state import Pool, PoolState
from better_compute.domain.usage import meter
from better_compute.service.actions import ACTIONS, ADMIN, NONE
from better_compute.service.billing import NoBilling
from better_compute.service.facts import load_bounds, load_facts
from better_compute.service.ports import (
    Attestor,
    Authorizer,
    Billing,
    Caller,
    Clock,
    Entropy,
    EventRecord,
    Stopwatch,
    Store,
    Tx,
)
from better_compute.wire.events import event_data

log = logging.getLogger(__name__)

T = TypeVar("T")

Arriving = Callable[[Pool, Mapping[str, PoolState]], Iterable[tuple[Machine, int]]]
"""What joins a pool as soon as it is made, beside other pools as the models have them: one of each kind of machines,
and how many of it there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The ports. `created` is called with a pool after the commit that made it: what waited for the pool joins it.
    `arriving` tells beforehand what that is, for pools that will be made with some keys. `freed` is called with a
    pool's id after a commit that may let what is pending there go on: capacity, quota or an offer came, or came free.
    `changed` is called instead after a pool was updated: what its hosts provide may follow. `placed` is called with a
    pool's id after a call placed a reservation there: it waits to become active."""

    store: Store
    authorizer: Authorizer
    clock: Clock
    stopwatch: Stopwatch
    entropy: Entropy
    attestors: Mapping[str, Attestor] = field(default_factory=dict)
    created: Callable[[Pool], object] = field(default=lambda _: None)
    freed: Callable[[str], object] = field(default=lambda _: None)
    changed: Callable[[str], object] = field(default=lambda _: None)
    placed: Callable[[str], object] = field(default=lambda _: None)
    billing: Billing = field(default_factory=NoBilling)
    arriving: Callable[[Tx, Collection[str]], Arriving] = field(default=lambda _tx, _keys: lambda _pool, _models: ())

    @property
    def attestor_names(self) -> frozenset[str]:
        """Everything that a pool's policy may name as what lets machines in."""
        return frozenset({JOIN_TOKEN, *self.attestors})

    def new_id(self, kind: str) -> str:
        return random_id(kind, self.clock(), self.entropy(10))

    def allow(self, caller: Caller, operation: str, tenant_id: str) -> None:
        """Raises ComputeError ACCESS_DENIED when the caller may not do this as that tenant: the same for a tenant
        that is not the caller's and for one that does not exist; and NOT_FOUND to root's identities, which may act as
        any tenant, for one that does not exist."""
        action = ACTIONS[operation]
        if action == NONE:
            return
        rights = self.authorizer.rights(caller, tenant_id)
        if action not in rights:
            problem = denied()
            raise ComputeError(
                problem if tenant_id == caller.tenant_id else replace(problem, hint=f"it acts as {caller.tenant_id}")
            )
        if tenant_id != caller.tenant_id:
            self.store.view(lambda tx: _check_tenant(tx, tenant_id, named=ADMIN in rights))

    def record(self, caller: Caller, event: Event, now: int) -> EventRecord:
        """The event as it is kept."""
        return EventRecord(
            id=random_id("evt", now, self.entropy(10)),
            type=event.type,
            tenant_id=event.owner_id,
            actor_id=caller.identity_id,
            pool_id=event.pool_id,
            to_tenant_id=event.to_tenant_id,
            time=now,
            data=event_data(event),
            via=caller.via,
        )

    def carry_out(self, caller: Caller, command: Command, tenants: Collection[str] | None) -> CarriedOut:
        """Load the pool with the rows of `tenants`, decide, and save the change with its event, in one transaction.

        Raises ComputeError with every problem when the rules refuse.
        """

        def work(tx: Tx) -> CarriedOut:
            if isinstance(command, CreatePool):
                state = tx.pool_state(command.pool_id, tenants)
            else:
                state = look(tx, command.tenant_id, command.pool_id, tenants)
            now = self.clock()  # with the lock: nothing of others in the pool happened later
            facts = load_facts(tx, [command], actor_id=caller.identity_id, now=now, attestors=self.attestor_names)
            load_bounds(tx, {command.pool_id: state}, [command])
            decision = decide(state, command, facts)
            if isinstance(decision, Refused):
                raise ComputeError(*decision.problems)
            if decision.event is not None:
                state.apply(decision.delta)
                tx.save(state, decision.delta, self.record(caller, decision.event, now))
                _meter_anew(tx, decision.event, now)
            return CarriedOut(state, decision.changed)

        return self.store.transact(work)

    def after_create(self, pool: Pool) -> None:
        attempt(lambda: self.created(pool), "what waited for a new pool did not run")

    def after_freed(self, pool_id: str) -> None:
        attempt(lambda: self.freed(pool_id), "what waits in a pool was not tried again")

    def after_changed(self, pool_id: str) -> None:
        attempt(lambda: self.changed(pool_id), "what follows from a pool's policy was not brought up to date")

    def after_placed(self, pool_id: str) -> None:
        attempt(lambda: self.placed(pool_id), "what is placed in a pool did not become active yet")


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """The pool after a command, and whether the command changed it."""

    state: PoolState
    changed: bool

    @property
    def pool(self) -> Pool:
        return known(self.state)


def _meter_anew(tx: Tx, event: Event, now: int) -> None:
    """What runs in a pool of another model from now on is metered as that model."""
    if isinstance(event, PoolUpdated) and event.before.gpu_model != event.after.gpu_model:
        tx.meter_anew(event.pool_id, meter(event.after.gpu_model), now)


def attempt(work: Callable[[], T], failure: str) -> T | None:
    """Work that nobody waits for, such as what follows a commit and cannot change its answer: a failure is logged, and
    the next run makes up for it."""
    try:
        return work()
    except ComputeError as error:
        log.warning("%s: %s", failure, error)
    except Exception:
        log.exception(failure)
    return None


def look(tx: Tx, tenant_id: str, pool_id: str, tenants: Collection[str] | None) -> PoolState:
    """`Tx.pool_state` of a pool that the tenant sees, empty for any other: so a hidden pool costs what an absent one
    costs, and no stranger locks another's row."""
    return tx.pool_state(pool_id, tenants) if tx.sees(tenant_id, pool_id) else PoolState()


def known(state: PoolState) -> Pool:
    """The pool of a state that holds one. Raises ComputeError NOT_FOUND otherwise."""
    if state.pool is None:
        raise not_found()
    return state.pool


def owned(tx: Tx, tenant_id: str, pool_id: str) -> Pool:
    """`Tx.pool` of a pool that the tenant owns. Raises ComputeError NOT_FOUND for any other (rule pool.owner), which is
    neither read nor locked."""
    return known(tx.pool(pool_id) if tx.sees(tenant_id, pool_id, owned=True) else PoolState())


def not_found() -> ComputeError:
    """No such pool, for absent and hidden ones alike."""
    return ComputeError(*hidden().problems)


def denied() -> Problem:
    return Problem(ACCESS_DENIED, "", "this identity has no such right as this tenant")


def _check_tenant(tx: Tx, tenant_id: str, *, named: bool) -> None:
    """Raises ComputeError NOT_FOUND without such a tenant; `named`: the caller may be told the names of others."""
    if tx.tenant(tenant_id) is None:
        near = did_you_mean(tenant_id, [tenant.id for tenant in tx.tenants(1000, None)]) if named else ""
        raise ComputeError(Problem(NOT_FOUND, "", "no such tenant", "tenantId", near))


def absent(what: str, field: str) -> ComputeError:
    """NOT_FOUND for anything but a pool, the same whether it is absent or another's."""
    return ComputeError(Problem(NOT_FOUND, "", f"no such {what}", field))
