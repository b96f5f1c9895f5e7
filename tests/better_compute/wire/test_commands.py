from __future__ import annotations

from typing import Any

import pytest

from better_compute.api.routes import ROUTES
from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.service.preflight import INPUTS
from better_compute.wire.commands import OPERATIONS, build, encode
from better_compute.wire.reading import given, read

POOL: dict[str, Any] = {"tenant_id": "root", "pool_id": "pool_x"}
COMMANDS: list[Command] = [
    CreatePool(**POOL, site_id="site_fra1", class_="metal-host", gpu_model="H100"),
    CreatePool(
        **POOL,
        site_id="site_fra1",
        class_="provider",
        gpu_model="H100",
        sharing="mig",
        agent="none",
        policy={"maxPending": "6h"},
        provider_account_id="pa_north",
        owner_quota={"gpu.mig": 0},
        idempotency_key="k",
    ),
    UpdatePool(**POOL, policy={}),
    UpdatePool(**POOL, gpu_model="H200", expected_version=0),
    OfferPool(**POOL, to_tenant_id="acme", quota={}),
    OfferPool(**POOL, to_tenant_id="acme", quota={"gpu": 0}, priority=0, include_descendants=False, expected_version=0),
    UnofferPool(**POOL, to_tenant_id="acme", expected_version=3),
    SetQuota(**POOL, to_tenant_id="acme", quota={"gpu": 1}, expected_version=3),
    ArchivePool(**POOL, expected_version=1, expected_offers_version=2),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_a_command_comes_back_from_the_wire_as_it_was(command: Command) -> None:
    operation, body = encode(command)
    assert build(type(command), given(read(INPUTS[operation], body)), command.pool_id) == command


def test_a_command_is_spelled_as_the_api_says() -> None:
    command = OfferPool(**POOL, to_tenant_id="acme", quota={"gpu": 32}, include_descendants=True)
    assert encode(command) == (
        "pools/offer",
        {
            "tenantId": "root",
            "poolId": "pool_x",
            "toTenantId": "acme",
            "quota": {"gpu": 32},
            "includeDescendants": True,
        },
    )


def test_what_a_command_leaves_open_is_absent_and_a_new_pools_id_is_the_servers() -> None:
    _, body = encode(COMMANDS[0])
    assert set(body) == {"tenantId", "siteId", "class", "gpuModel", "sharing", "policy"}


def test_every_command_has_its_operation() -> None:
    assert {kind.__name__ for kind in OPERATIONS} == {kind.__name__ for kind in Command.__subclasses__()}


def test_preflight_judges_every_command_asked_as_its_operation_is() -> None:
    assert {operation: ROUTES[operation].input for operation in OPERATIONS.values()} == INPUTS
