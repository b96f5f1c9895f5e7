"""What checks see of a plan: the pools and offers that there will be after it, operations, capacity and tenants; see
`fleetctl.desired.variables`. What is missing is left out. Secrets are in clear: nothing of a value is ever shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from better_compute.domain.commands import CreatePool
from fleetctl.checks.after import Standing, standing
from fleetctl.consequences import Consequences
from fleetctl.consequences.ledger import Holdings, Stock
from fleetctl.desired import Place
from fleetctl.desired.inputs import spec_json, terms_json
from fleetctl.desired.model import Each
from fleetctl.plan import Operation

Json = Any


@dataclass(frozen=True, slots=True)
class Object:
    """One thing that a check looks at: what it sees of it, what people call it, where it is written, and whose it is
    where it is written nowhere."""

    value: dict[str, Json]
    name: str
    place: Place | None
    whose: str = ""


class Objects:
    """All that the checks of one plan see, each kind made when the first check asks for it. `foreign`: with the pools
    that are no business of the fleet, and what is of them alone."""

    def __init__(self, of: Consequences, *, foreign: bool = False) -> None:
        self._of, self._plan, self._live, self._foreign = of, of.plan, of.live, foreign

    def of(self, kind: Each) -> list[Object]:
        match kind:
            case "pool":
                return self.pools
            case "offer":
                return self.offers
            case "operation":
                return self.operations
            case "tenant":
                return self.tenants

    def lists(self) -> dict[str, list[dict[str, Json]]]:
        """The variables of a check that sees all."""
        return {
            "pools": [each.value for each in self.pools],
            "offers": [each.value for each in self.offers],
            "operations": [each.value for each in self.operations],
            "capacity": [_capacity(*key, stock) for key, stock in self._of.stock.items()],
        }

    @cached_property
    def pools(self) -> list[Object]:
        return [_pool(each, [offer.value for offer in self._offers[each.id]]) for each in self._standing]

    @cached_property
    def offers(self) -> list[Object]:
        return [offer for each in self._standing for offer in self._offers[each.id]]

    @cached_property
    def operations(self) -> list[Object]:
        return [
            Object(self._operation(operation), f"{operation.action} {_named(operation)}", operation.place)
            for operation in self._plan.operations
        ]

    @cached_property
    def tenants(self) -> list[Object]:
        """Those that hold an offer of the owner before the plan or after it; unless foreign pools are seen, none that
        holds offers of those alone."""
        offers: dict[str, list[Object]] = {}
        for offer in self.offers:
            offers.setdefault(offer.value["toTenantId"], []).append(offer)
        holdings = self._of.holdings
        return [
            Object(
                {"id": tenant_id, "atoms": _atoms(holdings.get(tenant_id, {})), "offers": [o.value for o in held]},
                tenant_id,
                held[0].place if held else None,
            )
            for tenant_id in sorted((holdings.keys() - self._others(holdings)) | offers.keys())
            for held in (offers.get(tenant_id, []),)
        ]

    def _others(self, holdings: Mapping[str, Holdings]) -> set[str]:
        """Tenants of foreign pools, for which the plan does nothing."""
        if self._foreign:
            return set()
        held = {tenant_id for each in self._all if each.foreign for tenant_id in each.offers}
        return {t for t in held if all(one.before == one.after for one in holdings.get(t, {}).values())}

    @cached_property
    def _standing(self) -> list[Standing]:
        return [each for each in self._all if self._foreign or not each.foreign]

    @cached_property
    def _all(self) -> list[Standing]:
        return [*standing(self._plan, self._live)]

    @cached_property
    def _offers(self) -> dict[str, list[Object]]:
        """By pool."""
        return {each.id: [_offer(each, tenant_id) for tenant_id in each.offers] for each in self._standing}

    def _operation(self, operation: Operation) -> dict[str, Json]:
        facts = self._of.pools.of(operation.pool_id)
        return _there(
            {
                "n": operation.n,
                "action": operation.action,
                "key": operation.key,
                "poolId": operation.pool_id,
                "toTenantId": operation.to_tenant_id,
                "siteId": facts.site_id,
                "gpuModel": facts.gpu_model,
                "atom": facts.atom,
                "severity": operation.severity,
                "before": operation.before,
                "after": operation.after,
            }
        )


def _pool(each: Standing, offers: list[dict[str, Json]]) -> Object:
    spec = spec_json(each.pool)
    policy = spec.pop("policy")
    value = _there({"id": each.id, "idempotencyKey": each.key, **spec, "ownerQuota": dict(each.owner_quota)})
    value |= {
        "policy": policy,
        "protect": each.entry is not None and each.entry.protect,
        "managed": each.entry is not None,
        "foreign": each.foreign,
        "offers": offers,
    }
    return Object(value, each.name, each.entry.place if each.entry else None, _whose(each))


def _offer(each: Standing, tenant_id: str) -> Object:
    value = {
        "pool": each.name,
        "poolId": each.id,
        "toTenantId": tenant_id,
        **terms_json(each.offers[tenant_id]),
        "siteId": each.pool.site_id,
        "gpuModel": each.pool.gpu_model,
        "sharing": each.pool.sharing,
        "managed": each.states_offers,
        "foreign": each.foreign,
    }
    entry = each.entry
    place = entry.offer_places.get(tenant_id, entry.place) if entry else None
    return Object(value, f"{tenant_id} in {each.name}", place, _whose(each))


def _whose(each: Standing) -> str:
    """Of a pool that no entry stands for; an empty text for any other."""
    if each.entry is not None or isinstance(each.pool, CreatePool):
        return ""
    of = "not of this fleet" if each.foreign else "no entry stands for it"
    return f"{of}, made by {each.pool.created_by}" if each.pool.created_by else of


def _capacity(model: str, atom: str, site_id: str, stock: Stock) -> dict[str, Json]:
    before, after = stock.oversell
    return _there(
        {
            "gpuModel": model,
            "atom": atom,
            "siteId": site_id,
            "schedulable": stock.schedulable,
            "schedulableAfter": stock.schedulable_after,
            "before": stock.before.atoms,
            "after": stock.after.atoms,
            "inUse": stock.in_use,
            "oversellBefore": before,
            "oversellAfter": after,
        }
    )


def _atoms(holdings: Holdings) -> list[dict[str, Json]]:
    return [
        {"gpuModel": model, "atom": atom, "before": held.before.atoms, "after": held.after.atoms}
        for (model, atom), held in sorted(holdings.items())
    ]


def _there(row: Mapping[str, Json]) -> dict[str, Json]:
    """Without what is missing, so that `has` tells."""
    return {name: value for name, value in row.items() if value is not None}


def _named(operation: Operation) -> str:
    return f"{operation.to_tenant_id} in {operation.name}" if operation.to_tenant_id else operation.name
