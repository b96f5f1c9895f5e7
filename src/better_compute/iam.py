"""The embedded identities: whose token it is, and what it allows."""

from __future__ import annotations

from dataclasses import dataclass

from better_compute.domain.problems import UNAUTHENTICATED, ComputeError, Problem
from better_compute.service.actions import ACTIONS, ADMIN, NONE, ROOT
from better_compute.service.ports import Caller, Clock, Identity, Store, Tx
from better_compute.service.tokens import digest

_ALL = frozenset(ACTIONS.values()) - {NONE}
_OWN = _ALL - {ADMIN}


class OwnTenant:
    """An Authorizer: every identity may do everything in its own tenant and nothing in another, except root's."""

    def rights(self, caller: Caller, tenant_id: str) -> frozenset[str]:
        if caller.tenant_id == ROOT:
            return _ALL
        return _OWN if caller.tenant_id == tenant_id else frozenset()


@dataclass(frozen=True, slots=True)
class Tokens:
    """Authenticates the bearer of a token by its hash: a token that is unknown, revoked or expired is the same."""

    store: Store
    clock: Clock

    def __call__(self, token: str) -> Caller:
        now = self.clock()

        def work(tx: Tx) -> Caller:
            held = tx.credential_by_hash(digest(token))
            if held is None or not held.counts(now):
                raise ComputeError(Problem(UNAUTHENTICATED, "", "the token is unknown, revoked or expired"))
            return _caller(tx.identity(held.identity_id), held.expires_at)

        return self.store.view(work)


@dataclass(frozen=True, slots=True)
class Trusted:
    """For a control plane inside the caller's own process: the bearer's name is believed, and must be an identity.
    Whoever can open the database needs no token."""

    store: Store

    def __call__(self, name: str) -> Caller:
        return self.store.view(lambda tx: _caller(tx.identity(name), None))


def _caller(identity: Identity | None, expires_at: int | None) -> Caller:
    if identity is None:
        raise _unauthenticated()
    return Caller(identity_id=identity.id, tenant_id=identity.tenant_id, credential_expires_at=expires_at)


def _unauthenticated() -> ComputeError:
    return ComputeError(Problem(UNAUTHENTICATED, "", "no identity that is known here"))
