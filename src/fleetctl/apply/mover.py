"""Who moved an object that is not as an operation found it when it was planned."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from better_compute.domain.problems import ComputeError, Problem
from fleetctl import history
from fleetctl.history import LastEvent
from fleetctl.plan import Operation

if TYPE_CHECKING:
    from better_compute.client import Client


def last_change(operation: Operation, client: Client) -> LastEvent | None:
    """The last change of the operation's object that is not of its own call: one request, made once. None where no
    event tells: an answer that does not come is not waited for."""
    pool_id = operation.pool_id
    try:
        last = history.read(client.once(), {pool_id})
    except ComputeError:
        return None
    every = last.of_pools({pool_id}) if operation.action == "archive" else [last.of(operation.subject)]
    event = max((one for one in every if one is not None), key=attrgetter("sequence"), default=None)
    return None if event is None or event.via.get("operation") == operation.digest else event


def told(problem: Problem, event: LastEvent | None) -> Problem:
    """The problem with what changed the operation's object, and by whom, as far as that is known."""
    return problem if event is None else replace(problem, message=f"{problem.message}; {event.told}")
