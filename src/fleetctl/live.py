"""Live state: everything of the control plane that a plan stands on, read once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from better_compute.domain.facts import Site
from better_compute.domain.ids import DERIVATION
from better_compute.domain.policy.shown import shown
from better_compute.domain.problems import (
    ACCESS_DENIED,
    INVALID_STATE,
    OTHER_INSTANCE,
    STRANGE_ANSWER,
    UNAVAILABLE,
    ComputeError,
    Problem,
)
from better_compute.domain.state import PoolState

if TYPE_CHECKING:
    from better_compute.client import Client

_MOST = 1000
ORIGIN = "pool.origin"
"""The capability of a server whose owners see a pool's key and creator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A control plane as it introduces itself; `now` is its clock in epoch milliseconds, `digest_key` the acting
    tenant's key under which sensitive values enter digests."""

    url: str
    id: str
    derivation: str
    capabilities: frozenset[str]
    digest_key: bytes
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """One state of the tenant's pools (archived ones too, by id) and sites. `sequence` is the last event in it;
    `reader_id` the identity that read."""

    instance: Instance
    reader_id: str
    tenant_id: str
    sequence: int
    pools: Mapping[str, PoolState]
    sites: Mapping[str, Site]

    def others(self, pool_id: str) -> list[str]:
        """Whom a live pool is offered to, its owner left out."""
        return sorted(tenant_id for tenant_id in self.pools[pool_id].offers if tenant_id != self.tenant_id)


def read(client: Client, url: str, tenant_id: str) -> Live:
    """Read what `tenant_id` owns. Raises ComputeError: a partial read is never planned on."""
    info = client.system.info()
    if info.derivation != DERIVATION:
        message = f"the server derives ids by {shown(info.derivation)}, and this build knows {DERIVATION} alone"
        raise ComputeError(Problem(INVALID_STATE, "server.derivation", message, hint="use the build of that server"))
    if not isinstance(info.digest_key, str):
        message = f"this identity may not read the pools that {tenant_id} owns"
        raise ComputeError(Problem(ACCESS_DENIED, "server.rights", message))
    digest_key = key_of(info.digest_key)
    _check_instance(client, info.instance_id)
    pools, sequence = client.pools.all(owned=True)
    live = Live(
        instance=Instance(
            url=url,
            id=info.instance_id,
            derivation=info.derivation,
            capabilities=frozenset(info.capabilities),
            digest_key=digest_key,
            now=info.time,
        ),
        reader_id=client.identities.whoami().identity_id,
        tenant_id=tenant_id,
        sequence=sequence,
        pools={state.pool.id: state for state in pools if state.pool},
        sites={s.id: Site(s.id, s.tenant_id, s.kind, s.region, s.name) for s in client.sites.list()},
    )
    _check_sites(live)
    return live


def _check_instance(client: Client, told: str) -> None:
    """Who answers is who it says it is: an answer that somebody kept may be another one's."""
    answers = client.calls.peer.name
    if answers not in (None, told):
        message = f"{answers} answers, and what it says of itself is of another control plane, {shown(told)}"
        hint = "find out what stands before the server: answers of a control plane are not kept"
        raise ComputeError(Problem(INVALID_STATE, OTHER_INSTANCE, message, hint=hint))


def _check_sites(live: Live) -> None:
    """A pool is at a site of its owner's, and no site is ever deleted: one that is not listed shows that more may be
    missing. Raises ComputeError."""
    for state in live.pools.values():
        if state.pool is not None and state.pool.site_id not in live.sites:
            place = f"{shown(state.pool.site_id)}, where {state.pool.id} is"
            message = f"sites/list of {live.instance.url} does not have {place}: a part is not taken for all"
            raise ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, message, hint="find out what answers there"))


def tenant_ids(client: Client) -> list[str]:
    """Tenants there are, as far as this identity may list them: one request, for the error path alone."""
    with suppress(ComputeError):
        answer = client.once().call("tenants/list", {"limit": _MOST})
        items = answer.get("items") if isinstance(answer, dict) else None
        ids = [item.get("id") for item in items or () if isinstance(item, dict)] if isinstance(items, list) else []
        return [name for name in ids if isinstance(name, str)]
    return []


def key_of(text: str) -> bytes:
    """The key that `text` spells. Raises ComputeError for what is none: digests under none would give secrets away."""
    if not re.fullmatch("(?:[0-9a-fA-F]{2}){16,}", text):
        message = "the server's digestKey is not 16 bytes or more in hexadecimal digits"
        raise ComputeError(Problem(UNAVAILABLE, "server.digestKey", message))
    return bytes.fromhex(text)
