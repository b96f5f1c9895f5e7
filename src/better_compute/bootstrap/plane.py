"""A control plane on its database, ready to be asked: the same whether it is embedded or served."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote

from better_compute.api.handle import handler
from better_compute.bootstrap.arrivals import arriving, join_all, join_created, tell
from better_compute.bootstrap.outside import NOBODY, Outside
from better_compute.bootstrap.place import is_there, url_of
from better_compute.bootstrap.runtime import Runtime
from better_compute.domain.ids import KEY_SAYS, is_key
from better_compute.domain.policy.urls import mask_database
from better_compute.domain.problems import INVALID_INPUT, UNAUTHENTICATED, ComputeError, Problem, did_you_mean
from better_compute.iam import OwnTenant, Tokens, Trusted
from better_compute.reconcilers import rounds
from better_compute.reconcilers.rounds import Round
from better_compute.service.actions import ROOT
from better_compute.service.core import Service, attempt
from better_compute.service.ports import Store, Tenant, Tx
from better_compute.storage import open_store
from better_compute.wire.message import Handle


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was done: why machines of a world that wait do not join their pools, for operators alone; and the round."""

    refusals: Sequence[str]
    round: Round


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """An open database and the service on it. `bare` is the service as the control plane asks it itself: what it lets
    go on there, it goes on with by itself. `new`: this opening made root, and the world around it."""

    store: Store
    bare: Service
    service: Service
    new: bool
    sleep: Callable[[float], None]

    def by_token(self, tell: Callable[[str], object]) -> Handle:
        """For the network: callers are the bearers of tokens. `tell` is for the operator, who is not the caller."""
        return handler(self.service, Tokens(self.store, self.service.clock), tell)

    def by_name(self) -> Handle:
        """For this process alone: callers are believed."""
        return handler(self.service, Trusted(self.store))

    def check_identity(self, identity_id: str, tenant_id: str, database: str, world: Path | None) -> None:
        """Raises ComputeError, with the line to write into the world file, when there is no such identity."""
        if not is_key(identity_id):
            message = "the embedded control plane is asked as an identity, and this is the id of none"
            raise ComputeError(Problem(UNAUTHENTICATED, "world.identity", message, "caller", KEY_SAYS))
        if self.store.view(lambda tx: tx.identity(identity_id)) is not None:
            return
        line = f"- {{id: {identity_id}, tenantId: {tenant_id}, kind: service}}"
        file = world or "FILE"
        where = str(world) if world else "a world file"
        near = did_you_mean(identity_id, self.store.view(lambda tx: _identities(tx, tenant_id)))
        command = f"better-compute world {quote(str(file))} --database {quote(mask_database(database))}"
        to_add = f"write `{line}` under `identities` in {where}, and run `{command}`"
        hint = f"{near} If not, {to_add}" if near else to_add
        message = f"the embedded control plane knows no identity {identity_id}"
        raise ComputeError(Problem(UNAUTHENTICATED, "world.identity", message, "caller", hint))

    def add_world(self, path: Path) -> int:
        """Add what of a world file is not there; how many entries that were. Which machines do not join their pools is
        logged. Raises ComputeError."""
        from better_compute.bootstrap.world import add
        from better_compute.bootstrap.world_file import read_world

        world, service = read_world(path), self.service
        count = self.store.transact(lambda tx: add(tx, world, service.clock, service.entropy))
        tell(join_all(self.bare, self.sleep))
        rounds.everywhere(self.bare)
        return count

    def let_in(self) -> Sequence[str]:
        """Let in the machines of worlds whose pool is there; why others wait. What goes wrong is logged."""
        return attempt(lambda: join_all(self.bare, self.sleep), "machines of the world wait on") or []

    def reconcile(self) -> Reconciled:
        """Do what is due: let machines of worlds in, and do a round. What goes wrong with one is logged, and keeps no
        other waiting: the next round makes up for it."""
        return Reconciled(self.let_in(), rounds.everywhere(self.bare))

    def close(self) -> None:
        self.store.close()


def open_plane(
    database: str,
    runtime: Runtime,
    world: Path | None = None,
    *,
    create: bool = True,
    outside: Outside = NOBODY,
) -> ControlPlane:
    """Open a database, by its URL or the path of an SQLite file. A new one starts with `world`. What is due is
    done by `reconcile`.

    Raises ComputeError; also, with `create` false, for an SQLite file that is not there.
    """
    store = opened_store(database, runtime, create=create)
    try:
        return _ready(store, runtime, world, outside)
    except BaseException:
        store.close()
        raise


def opened_store(database: str, runtime: Runtime, *, create: bool = True) -> Store:
    """The database alone, with today's schema: a new one is still nobody's world. Raises ComputeError, as above."""
    if not create and not is_there(database):
        served = "`better-compute bootstrap --world FILE --token-file FILE` makes one to serve"
        hint = f"a fleet's embedded one is made by `fleetctl plan`; {served}"
        raise ComputeError(Problem(INVALID_INPUT, "storage.url", f"there is no database at {database}", hint=hint))
    return open_store(url_of(database), clock=runtime.clock, sleep=runtime.sleep, entropy=runtime.entropy)


@contextmanager
def opened(
    database: str,
    runtime: Runtime,
    world: Path | None = None,
    *,
    create: bool = True,
    outside: Outside = NOBODY,
) -> Iterator[ControlPlane]:
    """`open_plane` for the length of a block."""
    plane = open_plane(database, runtime, world, create=create, outside=outside)
    try:
        yield plane
    finally:
        plane.close()


def _ready(store: Store, runtime: Runtime, world: Path | None, outside: Outside) -> ControlPlane:
    new = store.view(_is_new)
    if new:
        store.transact(_start(runtime, world))
    bare = Service(
        store=store,
        authorizer=OwnTenant(),
        clock=runtime.clock,
        stopwatch=runtime.stopwatch,
        entropy=runtime.entropy,
        attestors=outside.attestors,
        billing=outside.billing,
    )
    service = replace(
        bare,
        created=partial(join_created, bare, runtime.sleep),
        freed=lambda pool_id: rounds.in_pools(bare, [pool_id]),
        placed=lambda pool_id: rounds.in_pools(bare, (), [pool_id]),
        changed=lambda pool_id: rounds.in_pools(bare, (), (), [pool_id]),
        arriving=arriving,
    )
    return ControlPlane(store, bare, service, new, runtime.sleep)


def _identities(tx: Tx, tenant_id: str) -> list[str]:
    """The ids of a tenant's identities, the first thousand: for the one that a slip means."""
    return [identity.id for identity in tx.identities(tenant_id, 1000, None)]


def _is_new(tx: Tx) -> bool:
    """Whether nothing was ever done with the database but making its tables."""
    return tx.tenant(ROOT) is None


def _start(runtime: Runtime, path: Path | None) -> Callable[[Tx], None]:
    """Makes root, and the world of a file around it, unless another process was first. Raises ComputeError."""
    now, key = runtime.clock(), runtime.entropy(32)
    root = Tenant(id=ROOT, parent_id=None, status="active", digest_key=key, created_at=now)
    if path is None:
        return lambda tx: tx.add_tenant(root) if _is_new(tx) else None
    from better_compute.bootstrap.world import add
    from better_compute.bootstrap.world_file import read_world

    world = read_world(path)

    def start(tx: Tx) -> None:
        if _is_new(tx):
            tx.add_tenant(root)
            if world.content.instance is not None:
                tx.put_instance_id(world.content.instance)
            add(tx, world, runtime.clock, runtime.entropy)

    return start
