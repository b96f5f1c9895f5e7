"""What `decide` needs to know from outside the pool, and how it says that something is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from better_compute.domain.problems import NOT_FOUND, TENANT_INACTIVE, UNCHECKED, Problem

TenantStatus = Literal["active", "inactive"]


@dataclass(frozen=True, slots=True)
class Site:
    """A site and the tenant it belongs to."""

    id: str
    tenant_id: str
    kind: str
    region: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The actor, the time (epoch milliseconds) and what exists around the pool.

    In a mapping or set, what is missing does not exist; None in its place says that nobody knows, and the rule that
    asks gives a problem of severity `unchecked`.
    """

    actor_id: str
    now: int
    sites: Mapping[str, Site] | None
    tenants: Mapping[str, TenantStatus] | None
    accounts: Mapping[str, str] | None
    """Provider account -> the tenant it belongs to."""
    attestors: frozenset[str] | None
    """What this server's join service runs, `join-token` among them."""


def unchecked(rule: str, path: str, what: str) -> Problem:
    """A fact that could not be read here: the server judges it when it is asked."""
    return Problem(
        UNCHECKED, rule, f"{what} is not known here, so this rule was not judged", path, severity="unchecked"
    )


def check_tenant(tenant_id: str, facts: Facts) -> list[Problem]:
    """Rule offer.tenant: the tenant exists and is active."""
    if facts.tenants is None:
        return [unchecked("offer.tenant", "toTenantId", f"whether tenant {tenant_id} exists")]
    match facts.tenants.get(tenant_id):
        case None:
            return [Problem(NOT_FOUND, "offer.tenant", "no such tenant", "toTenantId")]
        case "inactive":
            return [Problem(TENANT_INACTIVE, "offer.tenant", f"tenant {tenant_id} is not active", "toTenantId")]
        case "active":
            return []


def check_site(site_id: str, tenant_id: str, facts: Facts) -> list[Problem]:
    """Rule pool.site: the site exists and belongs to the tenant; a stranger's site and none look the same."""
    if facts.sites is None:
        return [unchecked("pool.site", "siteId", f"whether site {site_id} exists")]
    site = facts.sites.get(site_id)
    if site is None or site.tenant_id != tenant_id:
        return [Problem(NOT_FOUND, "pool.site", "no such site of this tenant", "siteId")]
    return []


def check_account(account_id: str, tenant_id: str, facts: Facts) -> list[Problem]:
    """Rule pool.provider: the provider account exists and belongs to the tenant."""
    if facts.accounts is None:
        return [unchecked("pool.provider", "providerAccountId", f"whether provider account {account_id} exists")]
    if facts.accounts.get(account_id) != tenant_id:
        return [Problem(NOT_FOUND, "pool.provider", "no such provider account of this tenant", "providerAccountId")]
    return []
