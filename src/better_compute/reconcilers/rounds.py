"""A round: what is due, in the order in which one thing lets the next go on. It may be done at any time, as often as
one likes, in several processes at once: a kill leaves whole steps, and the next round goes on from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from better_compute.reconcilers import admission, hosts, placer
from better_compute.reconcilers.admission import Inquiry
from better_compute.service.core import Service, attempt
from better_compute.service.ports import Tx

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Round:
    """What a round did: how many hosts changed, and how many reservations came to which state."""

    hosts: int
    reservations: Counter[str]


def everywhere(service: Service) -> Round:
    """What is due in all pools. What goes wrong in one pool, or with one step, is logged, and keeps no other waiting:
    the next round makes up for it."""
    changed = _step(service, hosts.vps_hosts) or 0
    changed += _step(service, hosts.capacity_hosts) or 0
    done = _step(service, placer.place_all) or Counter()
    admitted = _step(service, admission.admit_all) or Counter()
    if admitted["failed"]:  # what they held came free
        done += _step(service, placer.place_all) or Counter()
    return Round(changed, done + admitted)


def in_pool(service: Service, pool_id: str) -> Counter[str]:
    """What waits in one pool goes on, such as after a commit that may have freed something there; how many reservations
    came to which state."""
    if not service.store.view(lambda tx: _waits(tx, pool_id)):
        return Counter()
    done = placer.place_in(service, pool_id)
    admitted = admission.admit_in(service, pool_id, Inquiry.begin(service))
    if admitted["failed"]:
        done += placer.place_in(service, pool_id)
    return done + admitted


def _step(service: Service, work: Callable[[Service], T]) -> T | None:
    return attempt(partial(work, service), f"{work.__name__} waits for the next round")


def _waits(tx: Tx, pool_id: str) -> bool:
    return any(tx.oldest(pool_id, state, 1, None) for state in ("pending", "placed"))
