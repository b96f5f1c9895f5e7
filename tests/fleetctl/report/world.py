"""Live pools, and reports of plans that files make against them: real parts from files to report."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from better_compute.domain.atoms import ATOMS, UNLIMITED
from better_compute.domain.ids import DERIVATION, derive
from better_compute.domain.state import PoolState, QuotaRow, Rollup
from fleetctl import guards, plan, preflight
from fleetctl.consequences import Consequences
from fleetctl.desired import Desired
from fleetctl.desired.load import assemble
from fleetctl.files import read_text
from fleetctl.live import ORIGIN, Instance, Live
from fleetctl.override import Override
from fleetctl.plan import Plan
from fleetctl.report.forms import PlanReport
from fleetctl.report.of_plan import of_plan
from fleetctl.report.parts import Header
from tests.builders import NOW, a_pool, a_site, an_offer

NO_OVERRIDE = Override({})
ROOT = """\
apiVersion: fleet/v1
fleet: platform
tenantId: root
caller: sa_fleet
keyPrefix: fra1-
defaults: {pool: {siteId: site_fra1, class: metal-host, gpuModel: H100, sharing: exclusive}}
pools:
"""
"""Line 8 is the first entry's."""


def pool_id(key: str) -> str:
    return derive("pool", "root", "sa_fleet", key)


def wished(entries: str) -> Desired:
    """The fleet of root whose entries these are, from `fleet.yaml`."""
    return assemble(read_text((ROOT + entries).encode(), "fleet.yaml"), Path())


def a_header(**fields: Any) -> Header:
    common: dict[str, Any] = {
        "fleet": "platform",
        "tenant_id": "root",
        "caller": "sa_fleet",
        "reader": "sa_fleet",
        "server_url": "https://compute.example.com",
        "instance_id": "inst_1",
        "derivation": DERIVATION,
        "server_overridden": False,
        "created_at": NOW,
        "digest_key": b"k" * 32,
    }
    return Header(**{**common, **fields})


@dataclass
class World:
    """What root owns at the server; a site in Frankfurt."""

    pools: dict[str, PoolState] = field(default_factory=dict)

    def pool(
        self,
        key: str,
        offers: dict[str, dict[str, int]] | None = None,
        used: dict[str, int] | None = None,
        owner_quota: dict[str, int] | None = None,
        **fields: Any,
    ) -> None:
        """A live pool: quotas by tenant, and what each tenant has in use of the pool's atom."""
        pool = a_pool(pool_id(key), **{"idempotency_key": key, "version": 3, "offers_version": 5, **fields})
        offers, used = offers or {}, used or {}
        atom = ATOMS[pool.sharing]
        rows = {
            tenant: {r: QuotaRow(limit, used.get(tenant, 0) if r == atom else 0) for r, limit in quota.items()}
            for tenant, quota in {"root": owner_quota or {"gpu": UNLIMITED}, **offers}.items()
        }
        self.pools[pool.id] = PoolState.whole(pool, {t: an_offer(t) for t in offers}, rows, Rollup())

    def live(self) -> Live:
        instance = Instance(
            url="https://compute.example.com",
            id="inst_1",
            derivation=DERIVATION,
            capabilities=frozenset({ORIGIN}),
            digest_key=b"k" * 32,
            now=NOW,
        )
        sites = {"site_fra1": a_site()}
        return Live(
            instance=instance, reader_id="sa_fleet", tenant_id="root", sequence=412, pools=self.pools, sites=sites
        )

    def plan(self, entries: str, override: Override = NO_OVERRIDE) -> Plan:
        """Judged as if the server knew every tenant."""
        live, fleet = self.live(), wished(entries)
        made = plan.make(fleet, live)
        known = [problem for problem in preflight.problems(made, live, None) if problem.severity != "unchecked"]
        return made.with_findings([*known, *self.guarded(made, override).problems])

    def guarded(self, made: Plan, override: Override) -> guards.Guarded:
        live = self.live()
        return guards.guarded(Consequences(made, live), override, live.instance.now)

    def report(self, entries: str, override: Override = NO_OVERRIDE, **header: Any) -> PlanReport:
        header = {"allow": override.numbers, "reason": override.reason, **header}
        made = self.plan(entries, override)
        taken = self.guarded(made, override).taken
        return of_plan(made, a_header(**header), Consequences(made, self.live()), taken)
