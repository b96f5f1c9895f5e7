"""What events tell, as JSON."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from better_compute.domain.events import (
    Event,
    NodeJoined,
    NodeQuarantined,
    NodeRemoved,
    NodeUpdated,
    PoolUpdated,
)
from better_compute.domain.inventory import Inventory
from better_compute.domain.state import PoolState
from better_compute.wire.events import event_data
from tests.better_compute.plane import CARD
from tests.builders import a_node, a_pool
from tests.decisions import after, allowed, archive, create, offer, pool, set_quota, unoffer, update, using

OF_POOL: dict[str, Any] = {"owner_id": "root", "pool_id": "pool_1"}


def told(state: PoolState, command: Any) -> dict[str, Any]:
    """The data of the event that a command leads to; it is JSON as it is."""
    event = allowed(state, command).event
    assert event is not None
    data = event_data(event)
    assert json.loads(json.dumps(data)) == data
    return data


def test_a_created_pool_is_told_whole_with_its_owners_quota() -> None:
    data = told(PoolState(), create(policy={"maxPending": "6h"}, owner_quota={"gpu": 5}))
    assert data == {
        "before": None,
        "after": {
            "siteId": "site_fra1",
            "class": "metal-host",
            "gpuModel": "H100",
            "sharing": "exclusive",
            "agent": "bcd",
            "policy": {"maxPending": "6h"},
            "idempotencyKey": "k",
            "createdBy": "sa_fleet",
            "createdAt": 1_700_000_000_000,
            "version": 1,
            "offersVersion": 1,
            "ownerQuotaVersion": 1,
            "ownerQuota": {"gpu": 5},
        },
    }


def test_an_update_tells_the_pool_before_and_after() -> None:
    data = told(pool(policy={"maxPending": "6h"}), update(policy={}, gpu_model="H200"))
    assert (data["before"]["policy"], data["after"]["policy"]) == ({"maxPending": "6h"}, {})
    assert (data["before"]["gpuModel"], data["after"]["gpuModel"]) == ("H100", "H200")
    assert (data["before"]["version"], data["after"]["version"]) == (1, 2)


def test_offers_and_quotas_are_told_before_and_after() -> None:
    offered = after(create(), offer(quota={"gpu": 32}, priority=10))
    first = {"quota": {"gpu": 32}, "priority": 10, "includeDescendants": False}
    assert told(pool(), offer(quota={"gpu": 32}, priority=10)) == {"before": None, "after": first}
    again = told(offered, offer(quota={"gpu": 8}, include_descendants=True))
    assert again == {"before": first, "after": {"quota": {"gpu": 8}, "priority": 10, "includeDescendants": True}}
    limited = told(offered, set_quota("acme", {"gpu": 4, "vcpu": 1}))
    assert limited == {"before": {"quota": {"gpu": 32, "vcpu": 0}}, "after": {"quota": {"gpu": 4, "vcpu": 1}}}
    gone = told(using(offered, "acme", "gpu", 3), unoffer())
    assert gone == {"before": first, "after": None, "keptQuota": {"gpu": 3}}


def test_an_archive_tells_who_lost_what() -> None:
    state = after(create(), offer("globex", {"gpu": 1}), offer("acme", {"gpu": 2}))
    data = told(state, archive())
    assert data["unofferedTenants"] == ["acme", "globex"]
    assert {tenant: terms["quota"] for tenant, terms in data["before"]["offers"].items()} == {
        "acme": {"gpu": 2},
        "globex": {"gpu": 1},
    }
    assert data["after"]["offers"] == {}
    assert "archivedAt" not in data["before"]
    assert data["after"]["archivedAt"] == 1_700_000_000_000


def test_an_account_is_told_where_there_is_one() -> None:
    before = a_pool(provider_account_id="pa_north")
    event = PoolUpdated(owner_id="root", pool_id="pool_1", before=before, after=replace(before, version=2))
    assert event_data(event)["before"]["providerAccountId"] == "pa_north"


def machine(event: Event) -> tuple[Any, Any]:
    """What an event tells of a machine before and after; it is JSON as it is."""
    data = event_data(event)
    assert json.loads(json.dumps(data)) == data
    return data["before"], data["after"]


JOINED = {
    "nodeId": "node_1",
    "gpuModel": "H100",
    "gpus": 8,
    "inventory": {
        "gpus": [{"name": CARD, "count": 8}],
        "vcpu": 192,
        "memoryGiB": 2048,
        "diskGiB": 0,
        "hugepages2Mi": 0,
        "hugepages1Gi": 0,
        "attributes": {},
    },
    "control": "platform",
}


def test_a_machine_that_joined_is_told_whole() -> None:
    before, after = machine(NodeJoined(**OF_POOL, after=a_node()))
    assert (before, after) == (None, JOINED)
    _, owned = machine(NodeJoined(**OF_POOL, after=a_node(owner_tenant_id="acme", control="tenant")))
    assert owned == {**JOINED, "ownerTenantId": "acme", "control": "tenant"}


def test_a_quarantined_machine_is_told_with_the_name_and_as_it_was() -> None:
    strange = a_node(gpu_model=None, quarantined="NVIDIA Q9")
    after = {name: value for name, value in JOINED.items() if name != "gpuModel"}
    after |= {"quarantined": "NVIDIA Q9", "name": "NVIDIA Q9"}
    assert machine(NodeQuarantined(**OF_POOL, after=strange)) == (None, after)
    assert machine(NodeQuarantined(**OF_POOL, before=a_node(), after=strange)) == (JOINED, after)


CHANGES: list[dict[str, Any]] = [
    {"gpus": (CARD,) * 7},
    {"gpus": ("NVIDIA H100 NVL", *(CARD,) * 7)},
    {"gpus": (*(CARD,) * 7, "NVIDIA H100 NVL")},
    {"vcpu": 191},
    {"memory_gib": 0},
    {"disk_gib": 1},
    {"hugepages_2mi": 1},
    {"hugepages_1gi": 1},
    {"attributes": {"rack": 1}},
    {"attributes": {"rack": "1"}},
]


def test_each_field_of_an_inventory_is_changed_here() -> None:
    assert {name for change in CHANGES for name in change} == {field.name for field in fields(Inventory)}


@pytest.mark.parametrize("changed", CHANGES, ids=str)
def test_whatever_changes_in_an_inventory_is_told(changed: dict[str, Any]) -> None:
    node = a_node()
    other = replace(node, inventory=replace(node.inventory, **changed))
    before, after = machine(NodeUpdated(**OF_POOL, before=node, after=other))
    assert before == JOINED
    assert after != before
    assert machine(NodeRemoved(**OF_POOL, before=other)) == (after, None)


def test_each_inventory_is_told_in_its_own_way() -> None:
    inventories = [Inventory(gpus=gpus) for gpus in (("a", "b", "a"), ("a", "a", "b"), ("b", "a", "a"), ("a", "b"), ())]
    inventories += [Inventory(attributes={"rack": value}) for value in (1, "1")]
    told = [json.dumps(machine(NodeJoined(**OF_POOL, after=a_node(inventory=i)))) for i in inventories]
    assert len(set(told)) == len(inventories)
