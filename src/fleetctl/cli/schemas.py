"""Every JSON Schema there is, by the name of its file below `schemas/`: `fleetctl schema NAME` writes it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from better_compute.bootstrap import world_schema
from better_compute.domain.policy import schemas as of_policy
from better_compute.domain.policy.fields import MODULES
from fleetctl import snapshot
from fleetctl.desired import schema as of_fleet
from fleetctl.fleet_tests import shape as of_tests
from fleetctl.report import schemas as of_reports

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "fleet.v1": of_fleet.schema,
    "world.v1": world_schema.schema,
    "snapshot.v1": snapshot.schema,
    "fleet-test.v1": of_tests.schema,
    **{name: partial(of_reports.schema, name) for name in of_reports.FORMS},
    **{f"policy/{module}.v1": partial(of_policy.schema, module) for module in MODULES},
}
NAMES = tuple(_SCHEMAS)


def text(name: str) -> str:
    """The schema as its file holds it. Raises KeyError."""
    return json.dumps({"$schema": _DIALECT, **_SCHEMAS[name]()}, indent=2, ensure_ascii=False) + "\n"
