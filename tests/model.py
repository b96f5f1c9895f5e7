"""A control plane in memory: the rules without storage or network, for laws over many states."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from better_compute.domain.commands import Command
from better_compute.domain.decide import decide
from better_compute.domain.decision import Decision
from better_compute.domain.facts import Facts, Site
from better_compute.domain.ids import DERIVATION
from better_compute.domain.problems import Refused
from better_compute.domain.state import PoolState
from fleetctl import preflight
from fleetctl.desired import Desired
from fleetctl.desired.load import assemble
from fleetctl.files import read_text
from fleetctl.live import ORIGIN, Instance, Live
from fleetctl.plan import Plan, make
from tests.fleets import CALLER, OWNER, SITES, TENANTS, Fleet

FACTS = Facts(
    actor_id=CALLER,
    now=1_700_000_000_000,
    sites={site: Site(site, OWNER, "shared", "eu") for site in SITES},
    tenants=dict.fromkeys((OWNER, *TENANTS), "active"),
    accounts={"pa_north": OWNER},
    attestors=frozenset({"join-token"}),
)


class ControlPlane:
    """Pools by id, changed by commands as the server would."""

    def __init__(self, pools: dict[str, PoolState] | None = None) -> None:
        self.pools = {pool_id: state.copy() for pool_id, state in (pools or {}).items()}

    def do(self, command: Command) -> Decision | Refused:
        """Decide and, when allowed, change."""
        state = self.pools.get(command.pool_id, PoolState())
        decision = decide(state, command, FACTS)
        if isinstance(decision, Decision) and decision.changed:
            state.apply(decision.delta)
            self.pools[command.pool_id] = state
        return decision

    def live(self) -> Live:
        return Live(
            instance=Instance(
                url="memory",
                id="memory",
                derivation=DERIVATION,
                capabilities=frozenset({ORIGIN}),
                digest_key=bytes(32),
                now=FACTS.now,
            ),
            reader_id=CALLER,
            tenant_id=OWNER,
            sequence=0,
            pools={pool_id: state.copy() for pool_id, state in sorted(self.pools.items())},
            sites=FACTS.sites or {},
        )

    def plan(self, desired: Desired) -> Plan:
        return make(desired, self.live())

    def allows(self, plan: Plan) -> bool:
        """Whether the rules allow every operation in the plan's order."""
        judged = preflight.fold(plan.operations, self.live(), CALLER)
        return not any(problem.severity == "error" for problems in judged for problem in problems)

    def run(self, plan: Plan, numbers: Iterable[int] | None = None) -> None:
        """Do a plan's operations, all or those of the numbers, in order; each must be allowed and change something."""
        chosen = set(numbers) if numbers is not None else {operation.n for operation in plan.operations}
        for operation in plan.operations:
            if operation.n in chosen:
                decision = self.do(operation.command)
                assert isinstance(decision, Decision), (operation, decision)
                assert decision.changed, operation


def desired(fleet: Fleet) -> Desired:
    """The fleet as its files would wish it."""
    text = "\n---\n".join(json.dumps(document) for document in fleet.documents())
    return assemble(read_text(text.encode(), "fleet.yaml"), Path("/fleet"))


def entry(key: str, **fields: Any) -> dict[str, Any]:
    """A pool's entry with what is required."""
    usual = {"siteId": SITES[0], "class": "metal-host", "gpuModel": "H100"}
    return {"idempotencyKey": key, **usual, **fields}


def fleet(*pools: dict[str, Any], **root: Any) -> Fleet:
    return Fleet({"apiVersion": "fleet/v1", "tenantId": OWNER, "caller": CALLER, **root}, list(pools))
