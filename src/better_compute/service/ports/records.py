"""What is kept beside pools: tenants, identities, credentials, accounts, join tokens, a world's machines, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from better_compute.domain.facts import TenantStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    id: str
    parent_id: str | None
    status: TenantStatus
    digest_key: bytes
    """32 random bytes, never changed: sensitive values enter digests as HMAC under it."""
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    id: str
    tenant_id: str
    kind: str
    """`service` or `user`."""
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A token's record. The token itself is nowhere: `token_hash` is its SHA-256."""

    id: str
    identity_id: str
    token_hash: bytes
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def counts(self, now: int) -> bool:
        """Whether the token lets its bearer in."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A provider account, whose capacity pools of class provider sell."""

    id: str
    tenant_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinToken:
    """A single-use token with which one machine joins one pool."""

    id: str
    pool_id: str
    token_hash: bytes
    created_at: int
    expires_at: int
    used_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineGroup:
    """Equal machines that a world file declared, as they are noted: see `bootstrap.arrivals`."""

    digest: str
    """What tells them from others: the SHA-256 of `data`, in hex digits."""
    pool_key: str
    """The idempotency key of the pool that they are for."""
    data: str
    """What they are, as JSON; neither their number nor whether they joined."""
    count: int
    joined: str | None = None
    """The pool that they are in; None while they wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """An event as it is kept. `sequence` (from 1, without gaps in its tenant's chain) is None until it is numbered."""

    id: str
    type: str
    tenant_id: str
    actor_id: str
    pool_id: str
    to_tenant_id: str | None
    time: int
    data: Mapping[str, Any]
    via: Mapping[str, Any] | None = None
    sequence: int | None = None
    hash: str | None = None
