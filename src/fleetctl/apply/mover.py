"""Who moved an object that is not as an operation found it when it was planned."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from better_compute.domain.problems import ComputeError, Problem
from fleetctl import history
from fleetctl.plan import Operation

if TYPE_CHECKING:
    from better_compute.client import Client


def told(problem: Problem, operation: Operation, client: Client) -> Problem:
    """The problem with the last change of the operation's object, and by whom it was: one request, made once. Just the
    problem where no event tells: an answer that does not come is not waited for."""
    pool_id = operation.pool_id
    try:
        last = history.read(client.once(), {pool_id})
    except ComputeError:
        return problem
    # An archive stands on the pool's offers and rows too, which are other objects.
    every = last.of_pools({pool_id}) if operation.action == "archive" else [last.of(operation.subject)]
    event = max((one for one in every if one is not None), key=attrgetter("sequence"), default=None)
    if event is None or event.via.get("operation") == operation.digest:
        return problem
    return replace(problem, message=f"{problem.message}; {event.told}")
