"""Plans of files against live state and a base, and what is asked of them."""

from __future__ import annotations

from typing import Any

from fleetctl.base.bases import Base
from fleetctl.comparison.compare import Asked, Comparison, compared
from fleetctl.plan import Plan, make
from tests.model import ControlPlane, desired, fleet

PREFIX: Any = {"keyPrefix": "fra1-"}
TOMB = {"archived": True}


def base(*pools: dict[str, Any], **root: Any) -> Base:
    return Base("main", "c0ffee", desired(fleet(*pools, **root)))


def against(live: ControlPlane, *pools: dict[str, Any], of: Base | None = None, **root: Any) -> Comparison:
    return compared(desired(fleet(*pools, **root)), live.live(), Asked(base=of))


def planned(live: ControlPlane, *pools: dict[str, Any], **how: Any) -> Plan:
    names = {"base", "prune", "selected", "renames"}
    given = {name: how.pop(name) for name in names & how.keys()}
    return make(desired(fleet(*pools, **how)), live.live(), Asked(**given))


def told(made: Plan) -> list[str]:
    return [f"{o.action} {o.name}" + (f" to {o.to_tenant_id}" if o.to_tenant_id else "") for o in made.operations]


def findings(made: Plan) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in made.findings]


def removed(found: Comparison) -> dict[str | None, bool]:
    """Removed pools by key, and whether the base names them."""
    return {one.pool.idempotency_key: one.entry is not None for one in found.diff.removed}
