"""A typed client of the control plane: one method per operation, the same over a network and in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from better_compute.client import groups, pools
from better_compute.client.calls import Attempt, Calls
from better_compute.client.pools import Created, Granted
from better_compute.client.preflight import Verdict
from better_compute.client.retry import Retry
from better_compute.wire import decode
from better_compute.wire.views import EventView, SystemInfoView, WhoamiView

__all__ = [
    "Attempt",
    "Calls",
    "Client",
    "Created",
    "EventView",
    "Granted",
    "Retry",
    "SystemInfoView",
    "Verdict",
    "WhoamiView",
]


class Client:
    """Acts as one tenant at one server. It may be used by many threads at once."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.pools = pools.Pools(calls)
        self.quotas = pools.Quotas(calls)
        self.preflight = groups.Preflight(calls)
        self.sites = groups.Sites(calls)
        self.provider_accounts = groups.ProviderAccounts(calls)
        self.nodes = groups.Nodes(calls)
        self.reservations = groups.Reservations(calls)
        self.tenants = groups.Tenants(calls)
        self.identities = groups.Identities(calls)
        self.credentials = groups.Credentials(calls)
        self.events = groups.Events(calls)
        self.usage = groups.Usage(calls)
        self.system = groups.System(calls)

    def under(self, change: Mapping[str, Any]) -> Client:
        """The same client for calls that belong to `change` (at most 2 KiB of JSON), which events keep as `via`."""
        return Client(self.calls.under(change))

    def acting_as(self, tenant_id: str | None) -> Client:
        return Client(replace(self.calls, tenant_id=tenant_id))

    def pausing(self, pause: Callable[[Attempt], bool], *, made: int = 0) -> Client:
        """The same client; `pause` is told of every attempt that failed and waits before the next one. True: there is
        to be none, and whoever makes the call again later says how many were `made` by then."""
        return Client(replace(self.calls, pause=pause, made=made))

    def once(self) -> Client:
        """The same client for questions that are not worth a second attempt."""
        return Client(replace(self.calls, retry=replace(self.calls.retry, attempts=1)))

    def call(self, operation: str, body: Mapping[str, Any]) -> Any:
        """Any operation (`pools/list`) by its wire names; the answer's data as JSON values. Raises ComputeError."""
        return self.calls.decoded(operation, body, decode.answer(Any, decode.as_it_is))
