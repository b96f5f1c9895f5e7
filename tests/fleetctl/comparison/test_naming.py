"""What a pool is called: one key of all that it goes by, wherever it is told."""

from __future__ import annotations

from typing import Any

import pytest

from fleetctl import drift
from fleetctl.checks.objects import Objects
from fleetctl.comparison import naming
from fleetctl.comparison.compare import compared
from fleetctl.consequences import Consequences
from fleetctl.history import History
from tests.builders import a_pool
from tests.fleetctl.test_identity import plane, pool_id
from tests.model import FACTS, ControlPlane, desired, entry, fleet

HELD = entry("fra1-a", offers=[{"toTenantId": "acme", "quota": {"gpu": 8}}])
TOMB = {"archived": True}


def by_id(**fields: Any) -> dict[str, Any]:
    """An entry that names the pool by its id alone."""
    return {**{name: value for name, value in HELD.items() if name != "idempotencyKey"}, "id": POOL, **fields}


POOL = pool_id("fra1-a")
OTHERWISE: dict[str, Any] = {
    "policy": {"maxPending": "6h"},
    "ownerQuota": {"gpu": 5},
    "offers": [{"toTenantId": "globex", "quota": {"gpu": 8}}],
}


@pytest.fixture
def live() -> ControlPlane:
    return plane(HELD)


def test_the_key_of_the_entry_comes_before_the_one_that_a_pool_was_made_under() -> None:
    pool = a_pool(POOL, idempotency_key="fra1-a")
    renamed, nameless = desired(
        fleet({**HELD, "idempotencyKey": "fra1-new", "previously": "fra1-a"}, by_id(id="pool_x"))
    ).entries.values()
    assert (naming.key(pool, renamed), naming.key(pool, nameless)) == ("fra1-new", "fra1-a")
    assert (naming.key(pool, None), naming.key(None, nameless), naming.key(None, None)) == ("fra1-a", None, None)


@pytest.mark.parametrize(
    ("written", "key", "actions"),
    [
        (by_id(**OTHERWISE), "fra1-a", ["offer", "setQuota", "unoffer", "update"]),
        (
            {**HELD, **OTHERWISE, "idempotencyKey": "fra1-new", "previously": "fra1-a"},
            "fra1-new",
            ["offer", "setQuota", "unoffer", "update"],
        ),
        ({"id": POOL, **TOMB}, "fra1-a", ["archive"]),
        ({"idempotencyKey": "fra1-new", "previously": "fra1-a", **TOMB}, "fra1-new", ["archive"]),
    ],
    ids=["by its id", "renamed", "archived by its id", "archived and renamed"],
)
def test_operations_checks_and_drift_call_a_pool_by_one_key(
    live: ControlPlane, written: dict[str, Any], key: str, actions: list[str]
) -> None:
    wished, state = desired(fleet(written)), live.live()
    made = live.plan(wished)
    assert sorted(operation.action for operation in made.operations) == actions
    assert {(operation.pool_id, operation.key, operation.name) for operation in made.operations} == {(POOL, key, key)}
    seen = Objects(Consequences(made, state)).pools
    assert [(each.value["idempotencyKey"], each.name) for each in seen] == (
        [] if actions == ["archive"] else [(key, key)]
    )
    found = drift.find(compared(wished, state), lambda *_: History({}), FACTS.now).found
    assert {one.key for one in found} == {key}


def test_what_a_pool_is_called_is_no_part_of_what_is_approved(live: ControlPlane) -> None:
    plans = [
        live.plan(desired(fleet(each)))
        for each in (
            {**HELD, **OTHERWISE},
            by_id(**OTHERWISE),
            {**HELD, **OTHERWISE, "idempotencyKey": "z", "id": POOL},
        )
    ]
    assert len({made.digest for made in plans}) == 1
