"""The composition root: the one place that knows every part, and puts them together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from better_compute.bootstrap.place import is_there
from better_compute.bootstrap.runtime import SYSTEM, Runtime

if TYPE_CHECKING:
    from better_compute.client import Client
    from better_compute.http import Http

__all__ = ["SYSTEM", "Connection", "Embedded", "Runtime", "connect", "is_there"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A control plane in this process: the path of its SQLite file, or any database's URL, and the world file that a
    new one starts with. Without `create` an SQLite file that is not there is an error. `billing` is the URL where
    billing is asked."""

    database: str
    world: Path | None = None
    create: bool = True
    billing: str | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, and what it talks to: `server` is a URL, or the database of an embedded control plane
    as it may be shown."""

    client: Client
    server: str
    close: Callable[[], None]

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    server: str | Embedded,
    *,
    tenant_id: str | None,
    token: str | None = None,
    caller: str | None = None,
    timeout: float = 30.0,
    runtime: Runtime = SYSTEM,
) -> Connection:
    """A client that acts as `tenant_id`: at the server of a URL, with `token`; or at an embedded control plane, as its
    identity `caller`. A tenant of None serves those few operations that need none.

    `timeout` is in seconds.

    Raises ComputeError before anything is sent: for a URL, token, database or world file that cannot be used, and for
    a caller that the embedded control plane does not know.
    """
    if isinstance(server, Embedded):
        return _embedded(server, tenant_id, caller, runtime)
    from better_compute.http import Http

    http = Http(server, token=token, timeout=timeout)
    return Connection(_client(http, tenant_id, runtime), http.server, http.close)


def _embedded(server: Embedded, tenant_id: str | None, caller: str | None, runtime: Runtime) -> Connection:
    from better_compute.bootstrap.billing import billing_at
    from better_compute.bootstrap.outside import Outside
    from better_compute.bootstrap.plane import open_plane
    from better_compute.domain.policy.urls import mask_database
    from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
    from better_compute.http import Http, InProcess
    from better_compute.service.actions import ROOT

    if caller is None:
        message = "an embedded control plane is asked as one of its identities, and none was named"
        raise ComputeError(Problem(INVALID_INPUT, "world.identity", message, "caller"))
    stack = ExitStack()
    try:
        outside = Outside(billing=stack.enter_context(billing_at(server.billing)))
        plane = open_plane(server.database, runtime, server.world, create=server.create, outside=outside)
        stack.callback(plane.close)
        plane.check_identity(caller, tenant_id or ROOT, server.database, server.world)
        http = Http(mask_database(server.database), token=caller, transport=InProcess(plane.by_name()))
        stack.callback(http.close)
        plane.reconcile()
    except BaseException:
        stack.close()
        raise
    return Connection(_client(http, tenant_id, runtime), http.server, stack.close)


def _client(http: Http, tenant_id: str | None, runtime: Runtime) -> Client:
    from better_compute.client import Calls, Client, Retry

    return Client(Calls(http, tenant_id, Retry(runtime.sleep, runtime.random, runtime.clock)))
