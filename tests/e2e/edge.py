"""The network's edge inside one process: a client of a real control plane whose requests a test may bend."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import httpx

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from better_compute.client import Calls, Client, Retry
from better_compute.http import Http, InProcess
from better_compute.wire.message import INSTANCE_HEADER
from fleetctl.apply.journal import Journal, Outcome
from fleetctl.apply.writer import Writer, run
from fleetctl.desired.load import load
from fleetctl.live import read
from fleetctl.plan import Plan, make
from tests.e2e.homes import Home


@dataclass(frozen=True)
class Asked:
    """A request, and how to have it answered by the control plane."""

    operation: str
    body: dict[str, Any]
    headers: httpx.Headers
    forward: Callable[[], httpx.Response]


Bend = Callable[[Asked], httpx.Response]


def refusal(status: int, code: str, message: str = "not now") -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": message}})


def bent(asked: Asked, **fields: Any) -> httpx.Response:
    """The control plane's answer with other fields in it; one of `...` is left out."""
    answer = asked.forward()
    data = {**json.loads(answer.content)["data"], **fields}
    return said(answer, {"data": {name: value for name, value in data.items() if value is not ...}})


def said(answer: httpx.Response, body: Any) -> httpx.Response:
    """Another body in the name of whoever answered."""
    return httpx.Response(200, json=body, headers={INSTANCE_HEADER: answer.headers[INSTANCE_HEADER]})


class _Edge(httpx.BaseTransport):
    def __init__(self, inner: InProcess, bend: Bend) -> None:
        self._inner, self._bend = inner, bend

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.read())
        operation = request.url.path.removeprefix("/api/compute/")
        return self._bend(Asked(operation, body, request.headers, lambda: self._inner.handle_request(request)))


@contextmanager
def edged(home: Home, bend: Bend, identity: str = "sa_fleet") -> Iterator[Client]:
    """A client at the home's control plane. Waits between attempts take no time."""
    with (
        opened(str(home.database), SYSTEM) as plane,
        closing(Http("edge", token=identity, transport=_Edge(InProcess(plane.by_name()), bend))) as http,
    ):
        yield Client(Calls(http, "root", Retry(lambda _: None, lambda: 0.0, SYSTEM.clock)))


def straight(asked: Asked) -> httpx.Response:
    return asked.forward()


def planned(home: Home) -> Plan:
    """What an apply would do now."""
    with home.hand("sa_fleet") as client:
        return make(load(home.directory), read(client, "", "root"))


def apply_by(
    plan: Plan,
    client: Client,
    executor: Executor,
    *,
    clock: Callable[[], int] = lambda: 1,
    parallelism: int = 4,
    digest: str | None = None,
    journal: IO[bytes] | None = None,
    **settings: Any,
) -> tuple[Outcome, ...]:
    """Apply a plan; under another digest than its own when one is given. `settings` are the writer's."""
    writer = Writer(
        client=client,
        executor=executor,
        parallelism=parallelism,
        change={"fleet": plan.scope.fleet, "digest": digest or plan.digest},
        journal=Journal(journal, clock, plan.digest),
        **settings,
    )
    return run(plan, writer)


def apply_over(home: Home, bend: Bend, plan: Plan, *, parallelism: int = 4, **settings: Any) -> tuple[Outcome, ...]:
    """Apply a plan over a bent network."""
    with edged(home, bend) as client, ThreadPoolExecutor(parallelism) as executor:
        return apply_by(plan, client, executor, parallelism=parallelism, **settings)
