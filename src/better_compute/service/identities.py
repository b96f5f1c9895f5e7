"""identities/* and credentials/*: who may ask, and with which tokens."""

from __future__ import annotations

from dataclasses import replace

from msgspec import UNSET

from better_compute.domain.problems import CONFLICT, UNAUTHENTICATED, ComputeError, Problem
from better_compute.service import tokens
from better_compute.service.actions import NAMES, ROOT, ROOT_ADMIN
from better_compute.service.core import Service, absent
from better_compute.service.pages import first, page
from better_compute.service.ports import Caller, Credential, Identity, Tx
from better_compute.wire.body import refuse
from better_compute.wire.inputs import (
    CredentialsCreate,
    CredentialsList,
    CredentialsRevoke,
    IdentitiesCreate,
    ListInput,
    Self,
)
from better_compute.wire.views import CredentialView, IdentityView, Page, WhoamiView

ANOTHER_ID = "give it another id"


def reserved(identity_id: str, tenant_id: str) -> str:
    """Why the tenant has no identity of this id; blank where it may. The control plane goes by names of its own:
    whoever else had them would get root's first token, or be taken for who let machines in."""
    if identity_id in NAMES:
        return f"{identity_id} is who {NAMES[identity_id]}, and no identity of a tenant"
    if identity_id == ROOT_ADMIN and tenant_id != ROOT:
        return f"{ROOT_ADMIN} is an identity of root: it holds root's first token"
    return ""


def create(service: Service, caller: Caller, body: IdentitiesCreate) -> IdentityView:
    """A new identity of the acting tenant. With an id that is there already, tenant and kind alike: that identity."""
    service.allow(caller, "identities/create", body.tenant_id)
    if isinstance(body.id, str) and (why := reserved(body.id, body.tenant_id)):
        refuse(why, "id", ANOTHER_ID)
    identity = Identity(
        id=body.id if isinstance(body.id, str) else service.new_id("idn"),
        tenant_id=body.tenant_id,
        kind=body.kind,
        created_at=service.clock(),
    )

    def work(tx: Tx) -> Identity:
        if there := tx.identity(identity.id):
            if (there.tenant_id, there.kind) != (identity.tenant_id, identity.kind):
                message = "this identity has another tenant or kind"
                raise ComputeError(Problem(CONFLICT, "", message, "id"))
            return there
        tx.add_identity(identity)
        return identity

    return _view(service.store.transact(work))


def list_(service: Service, caller: Caller, body: ListInput) -> Page[IdentityView]:
    """The identities of the acting tenant."""
    return page(
        service,
        caller,
        "identities/list",
        body,
        lambda tx, after, limit: tx.identities(body.tenant_id, limit, first(after)),
        lambda identity: (identity.id,),
        _view,
    )


def whoami(service: Service, caller: Caller, body: Self) -> WhoamiView:
    """The caller, and what it may do as the tenant that it asks about: nothing where there is no such tenant."""
    tenant_id = body.tenant_id if isinstance(body.tenant_id, str) else caller.tenant_id
    identity, tenant = service.store.view(lambda tx: (tx.identity(caller.identity_id), tx.tenant(tenant_id)))
    if identity is None:
        raise ComputeError(Problem(UNAUTHENTICATED, "", "no identity that is known here"))
    return WhoamiView(
        identity_id=identity.id,
        kind=identity.kind,
        tenant_id=identity.tenant_id,
        rights=sorted(service.authorizer.rights(caller, tenant_id)) if tenant else [],
        credential_expires_at=UNSET if caller.credential_expires_at is None else caller.credential_expires_at,
    )


def create_credential(service: Service, caller: Caller, body: CredentialsCreate) -> CredentialView:
    """A new token of an identity of the acting tenant. It is shown in this answer alone."""
    service.allow(caller, "credentials/create", body.tenant_id)
    now = service.clock()
    expires_at = body.expires_at if isinstance(body.expires_at, int) else None
    if expires_at is not None and expires_at <= now:
        refuse("this time has passed", "expiresAt")
    credential, token = issue(service, body.identity_id, expires_at)

    def work(tx: Tx) -> None:
        _identity_of(tx, body.identity_id, body.tenant_id)
        tx.put_credential(credential)

    service.store.transact(work)
    view = _credential_view(credential)
    view.token = token
    return view


def issue(service: Service, identity_id: str, expires_at: int | None) -> tuple[Credential, str]:
    """A credential that is still to be stored, and its token, which is not."""
    token = tokens.mint(tokens.ACCESS, service.entropy)
    credential = Credential(
        id=service.new_id("cred"),
        identity_id=identity_id,
        token_hash=tokens.digest(token),
        created_at=service.clock(),
        expires_at=expires_at,
    )
    return credential, token


def list_credentials(service: Service, caller: Caller, body: CredentialsList) -> Page[CredentialView]:
    """The credentials of an identity of the acting tenant, revoked and expired ones included."""

    def read(tx: Tx, after: tuple[str, ...], limit: int) -> list[Credential]:
        _identity_of(tx, body.identity_id, body.tenant_id)
        return tx.credentials(body.identity_id, limit, first(after))

    return page(service, caller, "credentials/list", body, read, lambda held: (held.id,), _credential_view)


def revoke(service: Service, caller: Caller, body: CredentialsRevoke) -> CredentialView:
    """From now on the token counts no more. Revoking again changes nothing."""
    service.allow(caller, "credentials/revoke", body.tenant_id)

    def work(tx: Tx) -> Credential:
        held = tx.credential(body.credential_id)
        identity = tx.identity(held.identity_id) if held else None
        if held is None or identity is None or identity.tenant_id != body.tenant_id:
            raise absent("credential", "credentialId")
        if held.revoked_at is None:
            held = replace(held, revoked_at=service.clock())
            tx.put_credential(held)
        return held

    return _credential_view(service.store.transact(work))


def _identity_of(tx: Tx, identity_id: str, tenant_id: str) -> Identity:
    identity = tx.identity(identity_id)
    if identity is None or identity.tenant_id != tenant_id:
        raise absent("identity", "identityId")
    return identity


def _view(identity: Identity) -> IdentityView:
    return IdentityView(identity.id, identity.tenant_id, identity.kind, identity.created_at)


def _credential_view(held: Credential) -> CredentialView:
    return CredentialView(
        id=held.id,
        identity_id=held.identity_id,
        created_at=held.created_at,
        expires_at=UNSET if held.expires_at is None else held.expires_at,
        revoked_at=UNSET if held.revoked_at is None else held.revoked_at,
    )
