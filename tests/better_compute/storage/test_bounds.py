"""How small the hosts of a pool are: what the database reads from the inventories is what the domain counts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from better_compute.domain.bounds import NO_HOSTS, HostBounds
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Node
from better_compute.storage import SqlStore
from tests.better_compute.storage.changes import carry_out, join
from tests.builders import a_node
from tests.decisions import create
from tests.statements import counted

LARGEST = 2_147_483_647


def bounds(store: SqlStore, *pool_ids: str) -> dict[str, HostBounds]:
    with counted() as statements:
        found = store.view(lambda tx: tx.host_bounds(set(pool_ids)))
    assert len([statement for statement in statements if "FROM nodes" in statement]) == 1
    return found


def host(number: int, **fields: Any) -> Node:
    inventory = {name: fields.pop(name) for name in list(fields) if name in Inventory.__dataclass_fields__}
    return a_node(f"node_{number}", inventory=Inventory(**inventory), **fields)


def test_each_number_is_the_least_by_itself(store: SqlStore) -> None:
    carry_out(store, create())
    join(store, host(1, vcpu=64, memory_gib=512, hugepages_1gi=256, attributes={'a"b': "ä", "rack": 7}))
    join(store, host(2, vcpu=128, memory_gib=300, hugepages_2mi=512))
    assert bounds(store, "pool_1") == {
        "pool_1": HostBounds(vcpu=64, memory_mib=300 * 1024, room_mib=256 * 1024),
    }


def test_what_a_machine_does_not_say_counts_for_nothing(store: SqlStore) -> None:
    carry_out(store, create())
    join(store, host(1, vcpu=0, memory_gib=0, hugepages_2mi=512))
    assert bounds(store, "pool_1") == {"pool_1": NO_HOSTS}
    join(store, host(2, vcpu=8))
    assert bounds(store, "pool_1") == {"pool_1": HostBounds(vcpu=8)}


def test_machines_that_cannot_be_booked_do_not_count_and_pools_stand_apart(store: SqlStore) -> None:
    for n in (1, 2, 3):
        carry_out(store, create(pool_id=f"pool_{n}", idempotency_key=f"k{n}"))
    join(store, host(1, vcpu=64))
    join(store, host(2, vcpu=1, quarantined="NVIDIA H100 Ultra", gpu_model=None))
    join(store, host(3, vcpu=1, control="tenant", owner_tenant_id="acme"))
    join(store, host(4, vcpu=1, role="infra"))
    join(store, host(5, vcpu=8, pool_id="pool_2"))
    assert bounds(store, "pool_1", "pool_3") == {"pool_1": HostBounds(vcpu=64)}
    assert bounds(store, "pool_1", "pool_2").keys() == {"pool_1", "pool_2"}


def test_the_domain_counts_the_same_for_any_hosts(store: SqlStore) -> None:
    carry_out(store, create())
    chance, expected = random.Random(7), NO_HOSTS
    for number in range(12):
        counts = {name: chance.choice([0, 1, 4096, LARGEST]) for name in ("vcpu", "hugepages_2mi", "hugepages_1gi")}
        node = host(number, memory_gib=chance.choice([0, 7, LARGEST]), **counts)
        join(store, node)
        expected = replace(expected.beside(node.inventory), cards=frozenset())
        assert bounds(store, "pool_1") == {"pool_1": expected}


def test_the_sizes_of_cards_are_told_by_names_and_attributes(store: SqlStore) -> None:
    for n in (1, 2):
        carry_out(store, create(pool_id=f"pool_{n}", idempotency_key=f"k{n}"))
    join(store, host(1, gpus=("NVIDIA A100-SXM4-40GB",) * 8, attributes={"rack": "ä"}), host(2, gpus=()))
    join(store, host(3, gpus=("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB")))
    join(store, host(4, gpus=("NVIDIA H100 NVL",), attributes={"vramGiB": 94}), host(5, gpus=("NVIDIA H100 NVL",)))
    join(store, host(6, gpus=("NVIDIA A100-PCIE-16GB",), quarantined="x"))
    join(store, host(7, gpus=("NVIDIA H200",), pool_id="pool_2"))
    with counted() as statements:
        found = store.view(lambda tx: tx.card_sizes({"pool_1", "pool_2"}))
    assert found == {"pool_1": frozenset({40, 80, 94}), "pool_2": frozenset()}
    assert len([statement for statement in statements if "FROM nodes" in statement]) == 1


def test_what_a_machine_of_an_older_database_says_of_its_cards_and_is_no_number_says_nothing(store: SqlStore) -> None:
    sizes: dict[str, tuple[str | int, frozenset[int]]] = {
        "a word": ("lots", frozenset({80})),
        "a number as text": ("64", frozenset({80})),
        "a number": (64, frozenset({64})),
        "a quote": ('"', frozenset({80})),
        "null as text": ("null", frozenset({80})),
    }
    for n, (said, _) in enumerate(sizes.values()):
        carry_out(store, create(pool_id=f"pool_{n}", idempotency_key=f"k{n}"))
        join(store, host(n, gpus=("NVIDIA A100-SXM4-80GB",), attributes={"vramGiB": said}, pool_id=f"pool_{n}"))
    found = store.view(lambda tx: tx.card_sizes({f"pool_{n}" for n in range(len(sizes))}))
    assert found == {f"pool_{n}": cards for n, (_, cards) in enumerate(sizes.values())}
