"""A stale change before any of 500 operations of an apply: the operation whose object moved fails, or is found done,
what waits for one that failed is blocked, and all else is done."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from threading import Lock
from typing import Any

import httpx
import pytest

from better_compute.client import Client
from fleetctl import history
from fleetctl.apply.journal import Outcome
from fleetctl.plan import Operation, Plan
from tests.e2e.edge import Asked, apply_over, edged, planned, straight
from tests.e2e.homes import H100, Home, entry
from tests.e2e.partly import copied

SITES = 25
"""Each asks for twenty operations."""
A_SITE = 20
SHARE = 4
"""No more than one operation of so many is hit in one run: it is the rest that shows what else is done."""


def before(n: int) -> list[dict[str, Any]]:
    return [
        *(entry(f"change-{n}-{i}", {"acme": 8, "globex": 8}, policy={"maxPending": "6h"}) for i in range(2)),
        entry(f"close-{n}", {"umbrella": 8}),
        entry(f"from-{n}", {"initech": 32}),
        entry(f"to-{n}", {"initech": 8}),
        entry(f"single-{n}", {"acme": 4}, policy={"singleTenant": True}),
        entry(f"rows-{n}", "unmanaged"),
    ]


def after(n: int) -> list[dict[str, Any]]:
    """A quota that moves, a singleTenant pool that changes tenants, a pool that is replaced, and what stands alone."""
    return [
        *(entry(f"change-{n}-{i}", {"acme": 6 + 4 * i, "initech": 1}, policy={"maxPending": "7d"}) for i in range(2)),
        {"idempotencyKey": f"close-{n}", "archived": True},
        entry(f"from-{n}", {"initech": 8}),
        entry(f"to-{n}", {"initech": 32}),
        entry(f"single-{n}", {"globex": 4}, policy={"singleTenant": True}),
        entry(f"rows-{n}", "unmanaged", ownerQuota={"gpu": 64}, policy={"maxPending": "7d"}),
        entry(f"new-{n}", {"umbrella": 8, "acme": 2, "globex": 2, "no": 1}),
    ]


def started(directory: Path, sites: int) -> Home:
    home = Home(directory)
    home.wish(*(pool for n in range(sites) for pool in before(n)))
    home.apply()
    home.wish(*(pool for n in range(sites) for pool in after(n)))
    return home


# What somebody does to the object of an operation, at the moment that its call arrives.

Way = Callable[[Client, Operation], None]


def call(client: Client, name: str, operation: Operation, **fields: Any) -> None:
    to = {"toTenantId": operation.to_tenant_id} if operation.to_tenant_id else {}
    client.call(name, {"poolId": operation.pool_id, **to, **fields})


def as_wished(client: Client, operation: Operation) -> None:
    """The call itself, without its precondition: what the operation would make of the object."""
    match operation.action:
        case "create":
            wish = operation.command
            again = {**H100, "idempotencyKey": operation.key, "policy": getattr(wish, "policy", {})}
            client.call("pools/create", again)
        case "update":
            call(client, "pools/update", operation, **as_dict(operation.after))
        case "offer":
            call(client, "pools/offer", operation, **as_dict(operation.after))
        case "setQuota":
            call(client, "quotas/set", operation, **as_dict(operation.after))
        case "unoffer":
            call(client, "pools/unoffer", operation)
        case "archive":
            call(client, "pools/archive", operation)


def otherwise(client: Client, operation: Operation) -> None:
    """Something else than what it was, and than what it is to be."""
    match operation.action:
        case "create":
            client.call("pools/create", {**H100, "idempotencyKey": operation.key, "policy": {"maxPending": "1h"}})
        case "update":
            call(client, "pools/update", operation, policy={"maxPending": "1h"})
        case "offer" | "unoffer":
            call(client, "pools/offer", operation, quota={"gpu": 3})
        case "setQuota":
            call(client, "quotas/set", operation, quota={"gpu": 3})
        case "archive":
            client.call("quotas/set", {"poolId": operation.pool_id, "toTenantId": "root", "quota": {"gpu": 3}})


def there_and_back(client: Client, operation: Operation) -> None:
    """As it was before, by way of something else. What is not there cannot come and go: it is something else."""
    otherwise(client, operation)
    was = as_dict(operation.before)
    match operation.action:
        case "update":
            call(client, "pools/update", operation, **was)
        case "offer" | "unoffer" if was:
            call(client, "pools/offer", operation, **was)
        case "setQuota":
            call(client, "quotas/set", operation, **was)
        case "archive":
            client.call("quotas/set", {"poolId": operation.pool_id, "toTenantId": "root", "quota": {"gpu": 2**31 - 1}})


def as_dict(value: Any) -> dict[str, Any]:
    return dict(value) if value else {}


FAILS: dict[Way, bool] = {otherwise: True, there_and_back: True, as_wished: False}


# Which operations are hit in one run.


def waiting(plan: Plan) -> dict[int, set[int]]:
    """Each operation with all that it waits for, by way of others too."""
    waits: dict[int, set[int]] = {}
    for o in plan.operations:
        waits[o.n] = {*o.depends_on}.union(*(waits[n] for n in o.depends_on))
    return waits


def rounds(plan: Plan) -> Iterator[set[int]]:
    """Every operation in one of them; none waits for another of its own, so that each is reached and hit."""
    waits = waiting(plan)
    left = [o.n for o in plan.operations]
    most = max(1, len(left) // SHARE)
    while left:
        hit: set[int] = set()
        for n in left:
            if len(hit) < most and not hit & waits[n] and not any(n in waits[other] for other in hit):
                hit.add(n)
        yield hit
        left = [n for n in left if n not in hit]


def hit(home: Home, plan: Plan, ways: dict[int, Way]) -> tuple[Outcome, ...]:
    """Apply the plan, and before each of these operations somebody does something to its object."""
    by_digest = {o.digest: o for o in plan.operations}
    open_, lock = dict(ways), Lock()
    with edged(home, straight, "sa_hand") as hand, edged(home, straight) as twin:

        def bend(asked: Asked) -> httpx.Response:
            change = json.loads(asked.headers.get("x-better-compute-change", "{}"))
            operation = by_digest.get(change.get("operation"))
            if operation is not None:
                with lock:
                    way = open_.pop(operation.n, None)
                if way is not None:
                    # Under its key a pool is made by the files' caller alone.
                    way(twin if operation.action == "create" else hand, operation)
            return asked.forward()

        outcomes = apply_over(home, bend, plan)
    assert not open_, "each of them is reached"
    return outcomes


def check(home: Home, plan: Plan, ways: dict[int, Way], made: Plan | None = None) -> None:
    """`made` is what runs in the place of the plan, where a fault is planted."""
    outcomes = hit(home, made or plan, ways)
    failed = {n for n, way in ways.items() if FAILS[way]}
    blocked = {n for n, waits in waiting(plan).items() if waits & failed}
    expected = {o.n: "failed" if o.n in failed else "blocked" if o.n in blocked else "done" for o in plan.operations}
    found = {o.operation.n: o.status for o in outcomes}
    wrong = [f"{found.get(n)}, not {status}: {n}" for n, status in expected.items() if found.get(n) != status]
    assert found == expected, f"ended otherwise: {wrong}"
    assert {o.operation.n for o in outcomes if o.found} <= ways.keys() - failed
    check_left(home, plan, ways, failed, blocked)


def check_left(home: Home, plan: Plan, ways: dict[int, Way], failed: set[int], blocked: set[int]) -> None:
    """What is not done is all that is left to do; each that was done by this run was done once; and whatever somebody
    did in its place is the last that happened to its object."""
    undone = {o.subject for o in plan.operations if o.n in failed | blocked}
    assert {o.subject for o in planned(home).operations} == undone
    with home.hand() as client:
        events = history.every(client, {o.pool_id for o in plan.operations}, after=plan.sequence)
    own = Counter(event.via["operation"] for event in events if event.via)
    assert own == {o.digest: 1 for o in plan.operations if o.n not in failed | blocked | ways.keys()}
    last = {event.subject: event for event in events}
    hers = {o.subject for o in plan.operations if o.n in ways and o.action != "archive"}
    assert [last[subject] for subject in hers if last[subject].via] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return started(tmp_path_factory.mktemp("midway"), SITES)


@pytest.mark.parametrize("first", [pytest.param(0), *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2))])
def test_each_of_500_operations_is_refused_where_its_object_moved_and_nothing_else(
    site: Home, tmp_path: Path, first: int
) -> None:
    """In three ways, by turns; in the long run each operation in each of them."""
    plan = planned(site)
    assert len(plan.operations) == SITES * A_SITE == 500
    assert len({o.action for o in plan.operations}) == 6
    ways = cycle([*FAILS][first:] + [*FAILS][:first])
    was_hit: Counter[int] = Counter()
    for number, some in enumerate(rounds(plan)):
        check(copied(site, tmp_path / str(number)), plan, dict(zip(sorted(some), ways, strict=False)))
        was_hit.update(some)
    assert was_hit == {o.n: 1 for o in plan.operations}


# Planted faults.


def first_round(home: Home) -> tuple[Plan, dict[int, Way]]:
    plan = planned(home)
    return plan, dict.fromkeys(next(rounds(plan)), otherwise)


def without_precondition(command: Any) -> Any:
    return replace(command, expected_version=None) if hasattr(command, "expected_version") else command


def test_writes_without_preconditions_break_the_law(tmp_path: Path) -> None:
    home = started(tmp_path, 1)
    plan, ways = first_round(home)
    loose = tuple(replace(o, command=without_precondition(o.command)) for o in plan.operations)
    with pytest.raises(AssertionError, match=r"^ended otherwise: .*done, not failed"):
        check(home, plan, ways, replace(plan, operations=loose))


def test_operations_that_wait_for_nothing_break_the_law(tmp_path: Path) -> None:
    home = started(tmp_path, 1)
    plan, ways = first_round(home)
    hasty = tuple(replace(o, depends_on=()) for o in plan.operations)
    with pytest.raises(AssertionError, match=r"^ended otherwise: .*, not blocked"):
        check(home, plan, ways, replace(plan, operations=hasty))


def test_a_conflict_taken_for_done_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = started(tmp_path, 1)
    plan, ways = first_round(home)
    monkeypatch.setattr("fleetctl.apply.answers.is_as_wished", lambda *_: True)
    with pytest.raises(AssertionError, match=r"^ended otherwise: .*done, not failed"):
        check(home, plan, ways)
