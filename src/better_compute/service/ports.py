"""What the service needs from outside: a store with transactions, a clock, entropy. Adapters stand in `storage`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from better_compute.domain.facts import Site, TenantStatus
from better_compute.domain.nodes import Node
from better_compute.domain.state import Delta, Offer, Pool, PoolState, QuotaRow

T = TypeVar("T")
Clock = Callable[[], int]
"""The time now in epoch milliseconds."""
Entropy = Callable[[int], bytes]
"""So many random bytes."""


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
    """Equal machines that a world file declared, as they are noted: see `bootstrap`."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolQuery:
    """Which pools `tenant_id` sees: owned or offered to it, in order of their ids after `after`, `limit` at most."""

    tenant_id: str
    limit: int
    after: str | None = None
    ids: Collection[str] | None = None
    owned: bool | None = None
    archived: bool | None = None
    offers: bool = False
    """Load every offer with its rows (of pools that the tenant owns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartQuery:
    """Offers or quota rows of the pools that `tenant_id` sees, or of one of them: those after an item's key, which is
    pool, tenant and, of a row, resource; `limit` at most. `of`: the rows of one tenant alone."""

    tenant_id: str
    limit: int
    after: tuple[str, ...] = ()
    pool_id: str | None = None
    of: str | None = None


HeldRow = tuple[str, str, str, QuotaRow]
"""A quota row behind its pool, tenant and resource."""


class HeldOffer(NamedTuple):
    """An offer with the rows of its tenant, by resource."""

    pool_id: str
    offer: Offer
    rows: Mapping[str, QuotaRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """Events of one owner's chain after sequence `after`. `latest`: the newest of each pool and of each pair of pool
    and tenant alone, pool.* and quota.* only."""

    tenant_id: str
    limit: int
    after: int = 0
    newest_first: bool = False
    before: int | None = None
    types: Collection[str] | None = None
    """Exact names, or prefixes that end in `.*`."""
    pool_ids: Collection[str] | None = None
    latest: bool = False


class Tx(Protocol):
    """One transaction. In a read transaction every method sees one state of the database. In a write transaction two
    may see different ones (on PostgreSQL): only a row that is locked stands still, from the read that says it locks to
    the end, and what is decided must stand on such rows, or on what never changes once it is there."""

    room: int | None
    """So much may a list hold, in characters of the JSON that is kept; the first item whatever it holds. None: all."""
    cut: bool
    """Whether a list ended early for want of room."""

    # pools
    def pool_state(self, pool_id: str, tenants: Collection[str] | None) -> PoolState:
        """The aggregate, with the offers and rows of `tenants` and the owner (None: of all). Empty when there is no
        such pool. In a write transaction the pool's row is locked."""

    def pool_states(self, query: PoolQuery) -> list[PoolState]:
        """A page: each with the acting tenant's own rows, and with all offers where the query asks and it owns."""

    def pools_by_key(self, keys: Collection[str]) -> list[Pool]:
        """The pools, of all tenants and callers, that were made with one of these idempotency keys."""

    def save(self, state: PoolState, delta: Delta, event: EventRecord) -> None:
        """Write a delta together with its authz rows and its event. `state` is the aggregate after it, and was loaded
        in this transaction: the lock of its pool's row is what keeps others off its offers and quota rows."""

    def add_nodes(self, state: PoolState, nodes: Sequence[Node], events: Sequence[EventRecord]) -> None:
        """Write machines of one pool with its rollup and an event each. `state` is the aggregate after they joined."""

    def nodes_there(self, ids: Collection[str]) -> set[str]:
        """Which of the machines there are."""

    def node_for(self, tenant_id: str, node_id: str) -> Node | None:
        """A machine of the tenant's own or of a pool that it owns. A hidden one costs what an absent one costs."""

    def nodes(self, pool_id: str, limit: int, after: str | None) -> list[Node]: ...
    def sees(self, tenant_id: str, pool_id: str, *, owned: bool = False) -> bool:
        """Whether the tenant owns the pool or (unless `owned`) holds an offer of it, by the authz projection."""

    def offers(self, query: PartQuery) -> list[HeldOffer]:
        """Offers of pools that the tenant owns, in order of pool and tenant."""

    def quota_rows(self, query: PartQuery) -> list[HeldRow]:
        """Rows in order of pool, tenant and resource: all of pools that the tenant owns, its own of the others."""

    # tenants, identities, credentials, sites, accounts, join tokens: lists in order of id, after a given one
    def tenant(self, tenant_id: str) -> Tenant | None: ...
    def tenants(self, limit: int, after: str | None) -> list[Tenant]: ...
    def tenant_statuses(self, ids: Collection[str]) -> dict[str, TenantStatus]: ...
    def add_tenant(self, tenant: Tenant) -> None: ...
    def identity(self, identity_id: str) -> Identity | None: ...
    def locked_identity(self, identity_id: str) -> Identity | None:
        """The same; in a write transaction its row is locked: of two such the second sees what the first did."""

    def identities(self, tenant_id: str | None, limit: int, after: str | None) -> list[Identity]: ...
    def add_identity(self, identity: Identity) -> None: ...
    def credential_by_hash(self, token_hash: bytes) -> Credential | None: ...
    def credential(self, credential_id: str) -> Credential | None:
        """In a write transaction its row is locked: of two that revoke it the second sees that the first did."""

    def credentials(self, identity_id: str | None, limit: int, after: str | None) -> list[Credential]: ...
    def put_credential(self, credential: Credential) -> None: ...
    def site(self, site_id: str) -> Site | None: ...
    def sites(self, tenant_id: str, limit: int, after: str | None) -> list[Site]: ...
    def sites_by_id(self, ids: Collection[str]) -> dict[str, Site]: ...
    def add_site(self, site: Site) -> None: ...
    def account(self, account_id: str) -> Account | None: ...
    def accounts(self, tenant_id: str, limit: int, after: str | None) -> list[Account]: ...
    def account_owners(self, ids: Collection[str]) -> dict[str, str]: ...
    def add_account(self, account: Account) -> None: ...
    def join_token_by_hash(self, token_hash: bytes) -> JoinToken | None:
        """In a write transaction its row is locked: two machines cannot both find it unused."""

    def put_join_token(self, token: JoinToken) -> None: ...

    # events
    def last_sequence(self, tenant_id: str) -> int:
        """The sequence of the tenant's last numbered event, 0 when there is none."""

    def events(self, query: EventQuery) -> list[EventRecord]: ...

    # the instance
    def instance_id(self) -> str: ...
    def put_instance_id(self, instance_id: str) -> None:
        """For a new database alone: clients tell instances apart by it."""

    # the machines of a world
    def waiting_machines(self) -> list[MachineGroup]:
        """The groups that wait while there are pools with their key."""

    def machines_for(self, pool_keys: Collection[str]) -> list[MachineGroup]:
        """The groups that wait for pools with these keys, also where there are none yet."""

    def machine_groups(self, digests: Collection[str]) -> dict[str, MachineGroup]:
        """Groups by their digest. In a write transaction they are locked, always in the same order."""

    def add_machine_groups(self, groups: Sequence[MachineGroup]) -> None: ...
    def put_machine_groups(self, groups: Sequence[MachineGroup]) -> None: ...


class Store(Protocol):
    """A database. `view` and `transact` may call `work` again, after a conflict or a lost connection: it must have no
    other effect."""

    def view(self, work: Callable[[Tx], T]) -> T:
        """Run in a read transaction with one snapshot."""

    def transact(self, work: Callable[[Tx], T]) -> T:
        """Run in a write transaction: on SQLite it holds the database's write lock from its start, on PostgreSQL the
        locks of single rows (see `Tx`).

        Raises ComputeError with code UNAVAILABLE when the database or a lock was not to be had in time; then nothing
        was written, save where the message says that this is not known.
        """

    def number_events(self, tenant_id: str) -> None:
        """Give sequence and hash to the tenant's committed events that have none (PostgreSQL; on SQLite they are given
        in the transaction): without gaps, the events of one pool in the order of its changes."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: an authenticated identity, its tenant, and the change that its request names (`via` of events)."""

    identity_id: str
    tenant_id: str
    via: Mapping[str, Any] | None = field(default=None)
    credential_expires_at: int | None = None


class Authorizer(Protocol):
    def rights(self, caller: Caller, tenant_id: str) -> frozenset[str]:
        """The actions that `caller` may take as `tenant_id`: none when it may not act as it, whether or not there is
        such a tenant."""


Authenticate = Callable[[str], Caller]
"""Who the bearer of a token is. Raises ComputeError UNAUTHENTICATED, the same for every token that does not count."""
