"""A round: what is due, in the order in which one thing lets the next go on. It may be done at any time, as often as
one likes, in several processes at once: a kill leaves whole steps, and the next round goes on from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from better_compute.reconcilers import admission, placer
from better_compute.reconcilers.hosts import Keeper
from better_compute.service.core import Service, attempt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Round:
    """What a round did: how many hosts changed, and how many reservations came to which state."""

    hosts: int
    reservations: Counter[str]


def everywhere(service: Service) -> Round:
    """What is due in all pools. What goes wrong in one pool, or with one step, is logged, and keeps no other waiting:
    the next round makes up for it."""
    return Round(keep_hosts(Keeper(service)), _go_on(service, None, None))


def keep_hosts(keeper: Keeper) -> int:
    """What hosts provide, in all pools; how many changed."""
    # In this order: whether a machine may be booked at all is judged with its devices.
    return (_step(keeper.capacity_hosts) or 0) + (_step(keeper.vps_hosts) or 0)


def in_pools(
    service: Service, freed: Collection[str], placed: Collection[str] = (), changed: Collection[str] = ()
) -> Counter[str]:
    """What waits in some pools goes on, as `everywhere`: all of it in those where a commit may have freed something,
    also where a policy changed and hosts may provide more, and what is placed alone in the others. How many
    reservations came to which state."""
    if changed:
        _step(Keeper(service).in_pools, changed)
    freed = {*freed, *changed}
    return _go_on(service, freed, {*freed, *placed})


def _go_on(service: Service, freed: Collection[str] | None, all_: Collection[str] | None) -> Counter[str]:
    """All pools are placed before one waits for what billing says of another."""
    done = _step(placer.place_all, service, freed) or Counter()
    admitted = _step(admission.admit_all, service, all_) or Counter()
    if admitted["failed"]:  # what they held came free
        done += _step(placer.place_all, service, all_) or Counter()
    return done + admitted


def _step(work: Callable[..., T], *given: object) -> T | None:
    return attempt(lambda: work(*given), f"{work.__name__} waits for the next round")
