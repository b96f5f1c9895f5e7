"""Every JSON Schema there is, by the name of its file below `schemas/`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from better_compute.bootstrap import world_schema
from better_compute.domain.policy import schemas as of_policy
from better_compute.domain.policy.fields import MODULES
from fleetctl import snapshot
from fleetctl.desired import schema as of_fleet
from fleetctl.fleet_tests import shape as of_tests
from fleetctl.report import schemas as of_reports

_TEXTS: dict[str, Callable[[], str]] = {
    "fleet.v1": of_fleet.render,
    "world.v1": world_schema.render,
    "snapshot.v1": snapshot.render_schema,
    "fleet-test.v1": of_tests.render,
    **{name: partial(of_reports.render, name) for name in of_reports.FORMS},
    **{f"policy/{module}.v1": partial(of_policy.render, module) for module in MODULES},
}
NAMES = tuple(_TEXTS)


def text(name: str) -> str:
    """The schema as its file holds it. Raises KeyError."""
    return _TEXTS[name]()
