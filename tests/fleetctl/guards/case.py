"""Live pools with machines, bookings and work, and what guards say of files against them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from better_compute.domain.atoms import ATOMS, UNLIMITED
from better_compute.domain.ids import derive
from better_compute.domain.problems import Problem
from better_compute.domain.state import PoolState, QuotaRow, Rollup, Work
from fleetctl import guards
from fleetctl.base.bases import Base
from fleetctl.comparison.compare import Asked
from fleetctl.comparison.selection import Selection
from fleetctl.consequences import Consequences
from fleetctl.desired import Desired
from fleetctl.live import Live
from fleetctl.override import Override
from fleetctl.plan import make
from tests.builders import a_pool, an_offer
from tests.fleets import CALLER, OWNER
from tests.model import FACTS, ControlPlane, desired, entry, fleet

NOW = FACTS.now
EVERYTHING = {
    "maxArchives": 999,
    "maxArchivePercent": 100,
    "maxWithdrawals": 9999,
    "maxGpusWithdrawn": 99999,
    "allowBelowUse": True,
    "allowArchiveInUse": True,
    "allowModelChange": True,
}
"""Guards that let everything pass, so that a test looks at one."""

EVERY_POOL = Selection()
Quota = dict[str, int]


def pool_id(key: str) -> str:
    return derive("pool", OWNER, CALLER, key)


def tombstone(key: str) -> dict[str, Any]:
    return {"idempotencyKey": key, "archived": True}


def offers(**tenants: int | Quota) -> list[dict[str, Any]]:
    """Offers of an entry: whole GPUs by tenant, or their rows."""
    rows = {tenant: {"gpu": quota} if isinstance(quota, int) else quota for tenant, quota in tenants.items()}
    return [{"toTenantId": tenant, "quota": quota} for tenant, quota in rows.items()]


def files(*entries: dict[str, Any], **limits: Any) -> Desired:
    """A fleet of these entries with these guards."""
    return desired(fleet(*entries, allowEmpty=True, **({"guards": limits} if limits else {})))


@dataclass
class Case:
    """What root owns at the server."""

    pools: dict[str, PoolState] = field(default_factory=dict)

    def pool(
        self,
        key: str,
        *,
        used: dict[str, Quota] | None = None,
        left: dict[str, Quota] | None = None,
        owner: Quota | None = None,
        gpus: int = 0,
        instances: int = 0,
        work: dict[str, Work] | None = None,
        archived_at: int | None = None,
        sharing: str = "exclusive",
        policy: dict[str, Any] | None = None,
        **tenants: int | Quota,
    ) -> None:
        """A live pool, its offers by tenant. `used` is by tenant and resource, `left` are rows that a withdrawal left,
        `gpus` and `instances` are those of its machines."""
        pool = a_pool(
            pool_id(key),
            owner_id=OWNER,
            created_by=CALLER,
            idempotency_key=key,
            sharing=sharing,
            policy=policy or {},
            archived_at=archived_at,
        )
        granted = {
            tenant: {ATOMS[sharing]: quota} if isinstance(quota, int) else quota for tenant, quota in tenants.items()
        }
        used = used or {}
        rows = {
            tenant: {r: QuotaRow(limit, used.get(tenant, {}).get(r, 0)) for r, limit in quota.items()}
            for tenant, quota in {OWNER: owner or {"gpu": UNLIMITED}, **(left or {}), **granted}.items()
        }
        hosts = {"H100": 1} if gpus or instances else {}
        rollup = Rollup(len(hosts), len(hosts), 0, hosts, gpus, instances, work or {})
        self.pools[pool.id] = PoolState.whole(pool, {tenant: an_offer(tenant) for tenant in granted}, rows, rollup)

    def live(self) -> Live:
        return ControlPlane(self.pools).live()

    def judged(
        self,
        wished: Desired,
        allow: dict[str, int] | None = None,
        base: Desired | None = None,
        now: int = NOW,
        selected: Selection = EVERY_POOL,
    ) -> list[Problem]:
        live = self.live()
        plan = make(wished, live, Asked(base=Base("main", None, base) if base else None, selected=selected))
        override = Override(allow or {}, "meant" if allow else None)
        return [*guards.guarded(Consequences(plan, live), override, now).problems]

    def blocked(self, wished: Desired, *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
        """The rules that block, each with the override that would let exactly this pass."""
        return [
            (problem.rule, problem.hint.partition("--allow ")[2].partition(" --")[0])
            for problem in self.judged(wished, *args, **kwargs)
            if problem.severity == "error"
        ]


__all__ = ["EVERYTHING", "NOW", "Case", "entry", "files", "offers", "pool_id", "tombstone"]
