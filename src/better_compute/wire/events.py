"""The JSON spelling of what an event tells: its data, with what was before and what is after."""

from __future__ import annotations

from typing import Any

from better_compute.domain.events import (
    Event,
    NodeJoined,
    NodeQuarantined,
    PoolArchived,
    PoolCreated,
    PoolOffered,
    PoolUnoffered,
    PoolUpdated,
    QuotaUpdated,
)
from better_compute.domain.state import Pool, Terms


def event_data(event: Event) -> dict[str, Any]:
    """`before` and `after` of what changed, null where there was or is none; what else the event tells beside them."""
    match event:
        case PoolCreated():
            return _change(None, {**_pool(event.after), "ownerQuota": dict(event.owner_quota)})
        case PoolUpdated():
            return _change(_pool(event.before), _pool(event.after))
        case PoolArchived():
            return _archived(event)
        case PoolOffered():
            return _change(None if event.before is None else _terms(event.before), _terms(event.after))
        case PoolUnoffered():
            return _change(_terms(event.before), None) | {"keptQuota": dict(event.kept)}
        case QuotaUpdated():
            return _change({"quota": dict(event.before)}, {"quota": dict(event.after)})
        case NodeJoined():
            return _change(None, {"nodeId": event.node_id, "gpuModel": event.gpu_model, "gpus": event.gpus})
        case NodeQuarantined():
            return _change(None, {"nodeId": event.node_id, "name": event.name})
    raise TypeError(f"nothing spells {type(event).__name__}")


def _change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    return {"before": before, "after": after}


def _archived(event: PoolArchived) -> dict[str, Any]:
    """The offers that went with the pool are told here, and in no pool.unoffered."""
    offers = {tenant_id: _terms(terms) for tenant_id, terms in sorted(event.unoffered.items())}
    data = _change({**_pool(event.before), "offers": offers}, {**_pool(event.after), "offers": {}})
    reason = {} if event.reason is None else {"reason": event.reason}
    return {**data, "unofferedTenants": list(offers), **reason}


def _pool(pool: Pool) -> dict[str, Any]:
    """A pool's own row as its owner sees it, without what it has not."""
    row = {
        "siteId": pool.site_id,
        "class": pool.class_,
        "gpuModel": pool.gpu_model,
        "sharing": pool.sharing,
        "agent": pool.agent,
        "providerAccountId": pool.provider_account_id,
        "policy": pool.policy,
        "idempotencyKey": pool.idempotency_key,
        "createdBy": pool.created_by,
        "createdAt": pool.created_at,
        "archivedAt": pool.archived_at,
        "version": pool.version,
        "offersVersion": pool.offers_version,
        "ownerQuotaVersion": pool.owner_quota_version,
    }
    return {name: value for name, value in row.items() if value is not None}


def _terms(terms: Terms) -> dict[str, Any]:
    return {
        "quota": dict(terms.quota),
        "priority": terms.priority,
        "includeDescendants": terms.include_descendants,
    }
