"""sites/* and providerAccounts/*: where pools live, and what a provider pool sells."""

from __future__ import annotations

from better_compute.domain.facts import Site
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from better_compute.service.actions import ROOT
from better_compute.service.core import Service, absent
from better_compute.service.pages import first, page
from better_compute.service.ports import Account, Caller, Tx
from better_compute.wire.inputs import ListInput, ProviderAccountsCreate, SitesCreate, SitesGet
from better_compute.wire.views import AccountView, Page, SiteView


def kinds_of(tenant_id: str) -> tuple[str, ...]:
    """Rule site.kind: what the sites of a tenant may be."""
    return ("shared", "dedicated") if tenant_id == ROOT else ("custom",)


def create(service: Service, caller: Caller, body: SitesCreate) -> SiteView:
    """A new site of the acting tenant: shared or dedicated for root, custom for others."""
    service.allow(caller, "sites/create", body.tenant_id)
    kinds = kinds_of(body.tenant_id)
    if body.kind not in kinds:
        message = f"a site of {body.tenant_id} is {' or '.join(kinds)}"
        raise ComputeError(Problem(INVALID_INPUT, "site.kind", message, "kind"))
    site = Site(service.new_id("site"), body.tenant_id, body.kind, body.region, body.name)

    def work(tx: Tx) -> None:
        tx.add_site(site)

    service.store.transact(work)
    return _view(site)


def get(service: Service, caller: Caller, body: SitesGet) -> SiteView:
    """A site of the acting tenant."""
    service.allow(caller, "sites/get", body.tenant_id)
    site = service.store.view(lambda tx: tx.site(body.site_id))
    if site is None or site.tenant_id != body.tenant_id:
        raise absent("site", "siteId")
    return _view(site)


def list_(service: Service, caller: Caller, body: ListInput) -> Page[SiteView]:
    """The sites of the acting tenant."""
    return page(
        service,
        caller,
        "sites/list",
        body,
        lambda tx, after, limit: tx.sites(body.tenant_id, limit, first(after)),
        lambda site: (site.id,),
        _view,
    )


def create_account(service: Service, caller: Caller, body: ProviderAccountsCreate) -> AccountView:
    """A new provider account of the acting tenant."""
    service.allow(caller, "providerAccounts/create", body.tenant_id)
    account = Account(id=service.new_id("pa"), tenant_id=body.tenant_id, name=body.name)

    def work(tx: Tx) -> None:
        tx.add_account(account)

    service.store.transact(work)
    return _account_view(account)


def list_accounts(service: Service, caller: Caller, body: ListInput) -> Page[AccountView]:
    """The provider accounts of the acting tenant."""
    return page(
        service,
        caller,
        "providerAccounts/list",
        body,
        lambda tx, after, limit: tx.accounts(body.tenant_id, limit, first(after)),
        lambda account: (account.id,),
        _account_view,
    )


def _view(site: Site) -> SiteView:
    return SiteView(site.id, site.tenant_id, site.name, site.kind, site.region)


def _account_view(account: Account) -> AccountView:
    return AccountView(account.id, account.tenant_id, account.name)
