"""Small fleets that change twice: what is live at first, what is wished then, and what is wished after that.

The first change has all six kinds of operations, and those that wait for others; the second takes much of it back, so
that a request of the first that arrives during the second, or after it, would do harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.e2e.homes import entry

Entries = list[dict[str, Any]]
_TENANTS = ("acme", "globex", "initech", "umbrella")


@dataclass(frozen=True, slots=True)
class Change:
    """The entries of one part of a fleet, at the three times; None: there is none yet."""

    before: dict[str, Any] | None
    wished: dict[str, Any]
    then: dict[str, Any]


def fleet(number: int) -> tuple[Entries, Entries, Entries]:
    """What is live, what is wished, and what is wished then."""
    random = Random(number)
    others = _sometimes(random)
    parts = [*_always(random), others[number % len(others)]]
    changes = [change for part in parts for change in part]
    return ([c.before for c in changes if c.before], [c.wished for c in changes], [c.then for c in changes])


def _always(random: Random) -> list[list[Change]]:
    """Of every kind of operation one at least."""
    one, other, *_ = random.sample(_TENANTS, 4)
    few, more = sorted(random.sample(range(1, 64), 2))
    return [
        [  # offers wait for their pool; then one is taken back, and the other one changes
            Change(
                None,
                entry("new", {one: few, other: few}, ownerQuota={"gpu": 900}),
                entry("new", {one: more}, ownerQuota={"gpu": 900}),
            )
        ],
        [  # one tenant's quota moves between pools of a model: the raise comes first; and moves back
            Change(entry("from", {one: more}), entry("from", {one: few}), entry("from", {one: more})),
            Change(entry("to", {one: few}), entry("to", {one: more}), entry("to", {one: few})),
        ],
        [  # the tenant of a pool for one: one leaves before the other comes; and the other way round
            Change(
                entry("swap", {one: few}, policy={"singleTenant": True}),
                entry("swap", {other: few}, policy={"singleTenant": True}),
                entry("swap", {one: few}, policy={"singleTenant": True}),
            )
        ],
        [
            Change(
                entry("tuned", [], policy={"maxPending": "1h"}, ownerQuota={"gpu": few}),
                entry("tuned", [], policy={"maxPending": "2h"}, ownerQuota={"gpu": more}),
                entry("tuned", [], policy={"maxPending": "1h"}, ownerQuota={"gpu": few}),
            )
        ],
        [Change(entry("gone", {one: few, other: more}), _tombstone("gone"), _tombstone("gone"))],
    ]


def _sometimes(random: Random) -> list[list[Change]]:
    one, other, third, _ = random.sample(_TENANTS, 4)
    few, more = sorted(random.sample(range(1, 64), 2))
    single, open_ = {"singleTenant": True}, {"singleTenant": False}
    return [
        [  # all but one leave before the pool becomes one tenant's; then it is open to others again
            Change(
                entry("narrowed", {one: few, other: few, third: few}, policy=open_),
                entry("narrowed", {one: few}, policy=single),
                entry("narrowed", {one: few}, policy=open_),
            )
        ],
        [  # the pool is opened before the others come; then they leave
            Change(
                entry("opened", {one: few}, policy=single),
                entry("opened", {one: few, other: few, third: few}, policy=open_),
                entry("opened", {one: few}, policy=open_),
            )
        ],
        [  # within one pool the lower comes before the raise; and back
            Change(
                entry("shared", {one: more, other: few}),
                entry("shared", {one: few, other: more}),
                entry("shared", {one: more, other: few}),
            )
        ],
        [  # a pool that is made, and archived again
            Change(None, entry("short", {one: few}), _tombstone("short")),
        ],
        [  # terms besides quota
            Change(
                entry("terms", [_terms(one, few, 1), _terms(other, few, 2)]),
                entry("terms", [_terms(one, few, 3), _terms(other, more, 2)]),
                entry("terms", [_terms(one, few, 1), _terms(other, few, 4)]),
            )
        ],
    ]


def _tombstone(key: str) -> dict[str, Any]:
    return {"idempotencyKey": key, "archived": True}


def _terms(tenant: str, gpus: int, priority: int) -> dict[str, Any]:
    return {"toTenantId": tenant, "quota": {"gpu": gpus}, "priority": priority}
