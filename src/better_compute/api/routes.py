"""Every operation: the function that carries it out, and the codes that it may fail with besides the common ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from msgspec import Struct

from better_compute.domain.problems import (
    ACCESS_DENIED,
    CONFLICT,
    INTERNAL_ERROR,
    INVALID_INPUT,
    INVALID_STATE,
    LIMIT_EXCEEDED,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    REQUEST_TIMEOUT,
    SPEND_LIMIT_REACHED,
    TENANT_INACTIVE,
    UNAUTHENTICATED,
    UNAVAILABLE,
    VERSION_CONFLICT,
)
from better_compute.service import (
    events,
    identities,
    joining,
    nodes,
    offers,
    pools,
    preflight,
    quotas,
    reservations,
    sites,
    system,
    tenants,
    usage,
)

COMMON = (
    INVALID_INPUT,
    UNAUTHENTICATED,
    ACCESS_DENIED,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    REQUEST_TIMEOUT,
    PAYLOAD_TOO_LARGE,
    UNAVAILABLE,
    INTERNAL_ERROR,
)
"""Codes that every operation may answer with."""


@dataclass(frozen=True)
class Route:
    """`run` is called with the service, the caller and the input; its annotations name the input and the answer."""

    operation: str
    run: Callable[..., Struct]
    codes: tuple[str, ...] = ()

    @cached_property
    def input(self) -> type[Struct]:
        kind: type[Struct] = self._hints["body"]
        return kind

    @cached_property
    def answer(self) -> Any:
        return self._hints["return"]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.run)


_CHANGE = (INVALID_STATE, VERSION_CONFLICT)

ROUTES = {
    route.operation: route
    for route in (
        Route("pools/create", pools.create, (CONFLICT,)),
        Route("pools/list", pools.list_),
        Route("pools/get", pools.get),
        Route("pools/update", pools.update, _CHANGE),
        Route("pools/offer", offers.offer, (*_CHANGE, TENANT_INACTIVE)),
        Route("pools/unoffer", offers.unoffer, (VERSION_CONFLICT,)),
        Route("pools/listOffers", offers.list_),
        Route("pools/archive", pools.archive, (VERSION_CONFLICT,)),
        Route("quotas/list", quotas.list_),
        Route("quotas/set", quotas.set_, _CHANGE),
        Route("preflight/check", preflight.check),
        Route("sites/create", sites.create),
        Route("sites/list", sites.list_),
        Route("sites/get", sites.get),
        Route("providerAccounts/create", sites.create_account),
        Route("providerAccounts/list", sites.list_accounts),
        Route("nodes/createJoinToken", joining.create_join_token, (INVALID_STATE,)),
        Route("nodes/join", joining.join, (INVALID_STATE,)),
        Route("nodes/list", nodes.list_),
        Route("nodes/get", nodes.get),
        Route("nodes/report", nodes.report, (INVALID_STATE,)),
        Route("nodes/setControl", nodes.set_control, (INVALID_STATE,)),
        Route("nodes/remove", nodes.remove, (INVALID_STATE,)),
        Route("tenants/create", tenants.create, (CONFLICT,)),
        Route("tenants/list", tenants.list_),
        Route("tenants/get", tenants.get),
        Route("identities/create", identities.create, (CONFLICT,)),
        Route("identities/list", identities.list_),
        Route("identities/whoami", identities.whoami),
        Route("credentials/create", identities.create_credential),
        Route("credentials/list", identities.list_credentials),
        Route("credentials/revoke", identities.revoke),
        Route("reservations/create", reservations.create, (CONFLICT, LIMIT_EXCEEDED, SPEND_LIMIT_REACHED)),
        Route("reservations/list", reservations.list_),
        Route("reservations/get", reservations.get),
        Route("reservations/end", reservations.end),
        Route("usage/list", usage.list_),
        Route("events/list", events.list_),
        Route("system/info", system.info),
    )
}
