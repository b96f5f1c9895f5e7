"""Reservations: what a tenant books in a pool, from the wish to the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from better_compute.domain.atoms import ATOMS, CLASSES, UNLIMITED
from better_compute.domain.policy.values import seconds
from better_compute.domain.problems import CONFLICT, INVALID_INPUT, LIMIT_EXCEEDED, Problem, did_you_mean
from better_compute.domain.quotas import RESOURCES
from better_compute.domain.state import PoolState, QuotaRow

State = Literal["pending", "placed", "active", "ended", "failed"]

LIVE: tuple[State, ...] = ("pending", "placed", "active")
"""Those that are not over. A pending one holds nothing."""

BOOKED: tuple[State, ...] = ("placed", "active")
"""Those that hold quota, devices and host resources."""

MOST_ATTRIBUTES = 16
MOST_VALUES = 64
"""So many attributes may a reservation select by, and so many values of each."""

MOST_PENDING = 10_000
MOST_PENDING_OF_ONE = 1_000
"""So many may be pending in a pool, and so many of them may be one tenant's."""

NO_CAPACITY = "no-capacity"
QUOTA = "quota"
ARCHIVED = "the pool is archived"
POOL_GONE = "PoolGone"
MAX_PENDING = "maxPending"
STRANDED = "its host does not provide it now"
"""Reasons. A placed one that its host cannot serve is not active, and costs nothing. A pending one waits for a host,
for quota, or for its end in a pool that was archived; it fails when its tenant has no offer of the pool any more, or
when the policy lets none wait so long."""

Resources = Mapping[str, int]
"""Resource -> how much: atoms of the pool's sharing mode, and scalars."""

Selectors = Mapping[str, Sequence[str | int]]
"""Attribute -> the values of which a device must have one: `gpuProduct`, `vramGiB`, `migProfile`, or any attribute of
its host's inventory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A tenant's booking in one pool, placed on one host. Times are epoch milliseconds, and none is before the step
    that it followed: where the clock was set back, a step is at the time of the one before.

    `atoms` is how many of the pool's own atoms it asks for, as `resources` say too. `reason` says what a pending one
    waits for, why a placed one is not active yet, or what a failed one failed with. `ended_at` is when it ended or
    failed.
    """

    id: str
    pool_id: str
    tenant_id: str
    state: State
    resources: Resources
    atoms: int
    created_by: str
    created_at: int
    selectors: Selectors = field(default_factory=dict)
    idempotency_key: str | None = None
    reason: str | None = None
    node_id: str | None = None
    placed_at: int | None = None
    activated_at: int | None = None
    ended_at: int | None = None

    @property
    def since(self) -> int:
        """When it came to its state."""
        times = (self.created_at, self.placed_at, self.activated_at, self.ended_at)
        return max(time for time in times if time is not None)

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def is_booked(self) -> bool:
        return self.state in BOOKED

    @property
    def scalars(self) -> Resources:
        """What it asks for beside its atoms."""
        return {resource: amount for resource, amount in self.resources.items() if resource not in _ATOMS}


def atoms_of(resources: Resources) -> int:
    """How many atoms are asked for, of whichever sharing mode."""
    return sum(amount for resource, amount in resources.items() if resource in _ATOMS)


def canonical(selectors: Mapping[str, str | int | Sequence[str | int]]) -> Selectors:
    """Selectors as they are kept and compared: sets of values, one value being a set of one."""
    sets = {name: {given} if isinstance(given, str | int) else set(given) for name, given in selectors.items()}
    return {
        name: tuple(sorted(sets[name], key=lambda value: (isinstance(value, str), str(value)))) for name in sorted(sets)
    }


def check_wish(resources: Mapping[str, object]) -> list[Problem]:
    """Every rule about what is asked for that needs no pool: rule reservation.resources."""
    if len(resources) > len(RESOURCES):
        return [
            _refuse(
                "reservation.resources", f"there are {len(RESOURCES)} resources: {', '.join(RESOURCES)}", "resources"
            )
        ]
    problems = []
    for resource, amount in resources.items():
        path = f"resources.{resource}"
        if resource not in RESOURCES:
            message = f"no such resource; known resources: {', '.join(RESOURCES)}"
            problems.append(_refuse("reservation.resources", message, path, did_you_mean(resource, RESOURCES)))
        elif type(amount) is not int or not 1 <= amount <= UNLIMITED:
            problems.append(_refuse("reservation.resources", f"it is a whole number from 1 to {UNLIMITED}", path))
    return problems


def check_class(class_: str) -> list[Problem]:
    """Rule reservation.class: a pool of this class may get hosts. Without one a reservation would wait for ever."""
    if CLASSES[class_] == "host":
        return []
    hint = f"name a pool of class {' or '.join(name for name, role in CLASSES.items() if role == 'host')}"
    return [_refuse("reservation.class", f"pools of class {class_} have no hosts", "poolId", hint)]


def check_atoms(resources: Resources, sharing: str) -> list[Problem]:
    """Rule reservation.atoms: atoms of the pool's own sharing mode and of no other, one at least. How many there are
    is not judged: what no host has today waits, since a larger one may come."""
    atom = ATOMS[sharing]
    problems = [
        _refuse("reservation.atoms", f"a {sharing} pool has no {resource}", f"resources.{resource}", f"use {atom}")
        for resource in resources
        if resource in _ATOMS and resource != atom
    ]
    if atom not in resources and not problems:
        problems.append(
            _refuse("reservation.atoms", f"a reservation asks for one {atom} of this pool at least", "resources")
        )
    return problems


def check_again(held: Reservation, pool_id: str, resources: Resources, selectors: Selectors) -> list[Problem]:
    """Rule reservation.key: what is asked for again with a key is what was asked for first."""
    pairs = {
        "poolId": (held.pool_id, pool_id),
        "resources": (dict(held.resources), dict(resources)),
        "selectors": (dict(held.selectors), dict(selectors)),
    }
    return [
        Problem(CONFLICT, "reservation.key", f"this key made a reservation with other {name}", name)
        for name, (had, wants) in pairs.items()
        if had != wants
    ]


def check_room(rows: Mapping[str, QuotaRow], resources: Resources) -> list[Problem]:
    """Rules quota.exact and quota.missing: each resource fits into the tenant's row of it."""
    problems = []
    for resource, amount in resources.items():
        row = rows.get(resource)
        if row is None:
            message = f"there is no {resource} quota in this pool, and a missing row grants 0"
            problems.append(Problem(LIMIT_EXCEEDED, "quota.missing", message, f"resources.{resource}"))
        elif amount > row.available:
            message = f"{row.available} {resource} of {row.max} are available, and {amount} are asked for"
            problems.append(Problem(LIMIT_EXCEEDED, "quota.exact", message, f"resources.{resource}"))
    return problems


def check_pending(in_pool: int, of_tenant: int) -> list[Problem]:
    """Rule reservation.waiting: so many wait in the pool already, and so many of the tenant's."""
    for held, most, whose in ((of_tenant, MOST_PENDING_OF_ONE, "a tenant"), (in_pool, MOST_PENDING, "a pool")):
        if held >= most:
            message = f"no host has room now, and {whose} has at most {most} reservations that wait for one"
            return [Problem(LIMIT_EXCEEDED, "reservation.waiting", message)]
    return []


def add_use(rows: Mapping[str, QuotaRow], resources: Resources) -> dict[str, QuotaRow]:
    """The rows after a booking of resources that fit."""
    return {**rows, **{r: replace(rows[r], used=rows[r].used + amount) for r, amount in resources.items()}}


def why_failed(state: PoolState, reservation: Reservation, now: int) -> str | None:
    """What a pending reservation fails with now; None while it may wait. The pool's current policy counts."""
    pool = state.pool
    if pool is None or pool.archived or not state.is_seen_by(reservation.tenant_id):
        return POOL_GONE
    longest = seconds(pool.policy.get("maxPending"))
    return MAX_PENDING if longest is not None and now - reservation.created_at > longest * 1000 else None


def shown_reason(reservation: Reservation, *, archived: bool) -> str | None:
    """The reason as it is told, of a reservation in a pool that is archived by now or not."""
    return ARCHIVED if archived and reservation.state == "pending" else reservation.reason


def wait(reservation: Reservation, reason: str) -> Reservation:
    """It stays as it is, for this reason: pending, or placed and not active yet."""
    return replace(reservation, reason=reason)


def place(reservation: Reservation, node_id: str, now: int) -> Reservation:
    return _step(reservation, "placed", "placed_at", now, node_id=node_id)


def activate(reservation: Reservation, now: int) -> Reservation:
    return _step(reservation, "active", "activated_at", now)


def end(reservation: Reservation, now: int) -> Reservation:
    return _step(reservation, "ended", "ended_at", now)


def fail(reservation: Reservation, reason: str, now: int) -> Reservation:
    return _step(reservation, "failed", "ended_at", now, reason=reason)


_ATOMS = frozenset(ATOMS.values())
_STEPS: Mapping[State, tuple[State, ...]] = {
    "pending": ("placed", "ended", "failed"),
    "placed": ("active", "ended", "failed"),
    "active": ("ended",),
    "ended": (),
    "failed": (),
}


def _step(reservation: Reservation, state: State, at: str, now: int, **fields: Any) -> Reservation:
    """The reservation in a state that may follow its own, and when (`at`) it came to it; a reason lasts as long as its
    state."""
    if state not in _STEPS[reservation.state]:
        raise ValueError(f"a reservation that is {reservation.state} does not become {state}")
    return replace(reservation, state=state, **{"reason": None, at: max(now, reservation.since), **fields})


def _refuse(rule: str, message: str, path: str, hint: str = "") -> Problem:
    return Problem(INVALID_INPUT, rule, message, path, hint)
