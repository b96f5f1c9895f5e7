"""Billing for tests: it says what it is told to say, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from better_compute.api.handle import handler
from better_compute.iam import Tokens
from better_compute.service.billing import unreached
from better_compute.service.ports import Spending, Verdict
from tests.better_compute.plane import Plane

METERED = {"admission": {"budgetCheck": "meter"}}
"""A policy that wants billing's word."""


def yes(_: Spending) -> Verdict:
    return Verdict(True)


def no(_: Spending) -> Verdict:
    return Verdict(False, "over budget")


def down(_: Spending) -> Verdict:
    raise unreached("nobody listens at http://10.0.0.7:8090")


@dataclass
class Bills:
    """A `Billing`."""

    say: Callable[[Spending], Verdict] = yes
    asked: list[Spending] = field(default_factory=list)

    def check(self, spending: Spending) -> Verdict:
        self.asked.append(spending)
        return self.say(spending)


def billed(plane: Plane, bills: Bills) -> Plane:
    """The same plane with billing."""
    plane.service = replace(plane.service, billing=bills)
    plane.handle = handler(plane.service, Tokens(plane.store, plane.time))
    return plane


def metered_pool(plane: Plane, *hosts: int, **more: Any) -> str:
    """A pool of root's whose policy wants billing's word, with hosts of so many GPUs, offered to acme and globex."""
    pool_id = plane.hosts_pool(*hosts, quota={"gpu": 64}, **{"policy": METERED, **more})
    plane.offer(pool_id, "globex", quota={"gpu": 64})
    return pool_id
