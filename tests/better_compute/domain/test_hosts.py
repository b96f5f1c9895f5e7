"""Host resources: what a host provides by its inventory and the pool's policy, and what stays of what is booked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.hosts import Host, NodeResource, capacity_hosts, fitted, vps_hosts
from better_compute.domain.inventory import Inventory
from tests.builders import a_node, a_pool

MACHINE = Inventory(vcpu=192, memory_gib=2048, disk_gib=7000, hugepages_2mi=1024, hugepages_1gi=16)


def a_host(inventory: Inventory = MACHINE, **node: Any) -> Host:
    return Host(node=a_node(inventory=inventory, **node))


def totals(host: Host) -> dict[str, int]:
    return {resource: row.total for resource, row in host.resources.items()}


def of_metal(policy: dict[str, Any], inventory: Inventory = MACHINE) -> Host:
    return fitted(a_pool(policy=policy), a_host(inventory))


class TestVpsHosts:
    def test_provide_vcpu_memory_less_huge_pages_and_disk(self) -> None:
        host = vps_hosts(a_pool(class_="vps-host"), a_host())
        assert totals(host) == {"vcpu": 192, "memoryGiB": 2030, "diskGiB": 7000}

    def test_provide_them_times_the_ratio(self) -> None:
        host = vps_hosts(a_pool(class_="vps-host", policy={"overcommit": 1.5}), a_host())
        assert totals(host) == {"vcpu": 288, "memoryGiB": 3045, "diskGiB": 10500}

    def test_keep_nothing_back(self) -> None:
        pool = a_pool(class_="vps-host", policy={"hostReserve": {"vcpu": 8, "memoryGiB": 64}})
        assert totals(vps_hosts(pool, a_host()))["vcpu"] == 192

    def test_are_of_vps_host_pools_alone(self) -> None:
        host = a_host()
        assert vps_hosts(a_pool(), host) is host


class TestCapacityHosts:
    def test_provide_vcpu_and_memory_less_what_is_kept_back(self) -> None:
        host = of_metal({"hostReserve": {"vcpu": 8, "memoryGiB": 64}})
        assert totals(host) == {"vcpu": 184, "memoryGiB": 1966, "hugepages2Mi": 1024, "hugepages1Gi": 16}

    def test_reserve_first_and_overcommit_then(self) -> None:
        host = of_metal({"hostReserve": {"vcpu": 8, "memoryGiB": 0.5}, "overcommit": {"vcpu": 2, "memoryGiB": 1.1}})
        assert (host.resources["vcpu"].total, host.resources["memoryGiB"].total) == (368, 2232)

    def test_never_overcommit_huge_pages(self) -> None:
        rows = of_metal({"overcommit": 100}).resources
        assert rows["hugepages2Mi"] == NodeResource(resource="hugepages2Mi", provided=1024, ratio="1")
        assert rows["hugepages1Gi"] == NodeResource(resource="hugepages1Gi", provided=16, ratio="1")

    def test_provide_huge_pages_and_devices_of_every_pool(self) -> None:
        host = capacity_hosts(a_pool(class_="vps-host"), a_host(replace(MACHINE, gpus=("NVIDIA H100",))))
        assert totals(host) == {"hugepages2Mi": 1024, "hugepages1Gi": 16}
        assert len(host.devices) == 1

    def test_provide_no_disk(self) -> None:
        assert "diskGiB" not in of_metal({}).resources


class TestARatio:
    @pytest.mark.parametrize(
        ("stated", "ratio", "total"),
        [
            (0.01, "0.1", 19),
            (0.1, "0.1", 19),
            (1, "1", 192),
            (2.0, "2", 384),
            (1.005, "1.005", 192),
            (100, "100", 19200),
            (101, "100", 19200),
            (10**400, "100", 19200),
            ({"vcpu": 4}, "4", 768),
            ({"memoryGiB": 4}, "1", 192),
            ({}, "1", 192),
            (None, "1", 192),
            ("4", "1", 192),
            (True, "1", 192),
            (0, "1", 192),
            ([4], "1", 192),
        ],
        ids=str,
    )
    def test_is_clamped_and_one_where_there_is_none(self, stated: Any, ratio: str, total: int) -> None:
        row = of_metal({"overcommit": stated}).resources["vcpu"]
        assert (row.ratio, row.total) == (ratio, total)

    def test_is_exact_where_a_double_is_not(self) -> None:
        assert of_metal({"overcommit": 1.1}, Inventory(vcpu=10)).resources["vcpu"].total == 11
        assert of_metal({"overcommit": 2.3}, Inventory(vcpu=100)).resources["vcpu"].total == 230


class TestTotals:
    def test_are_rounded_down(self) -> None:
        assert of_metal({}, Inventory(memory_gib=10, hugepages_2mi=1)).resources["memoryGiB"].total == 9

    @pytest.mark.parametrize("reserve", [{"vcpu": 300, "memoryGiB": 9999}, {"vcpu": 192, "memoryGiB": 2030}])
    def test_are_never_below_zero(self, reserve: dict[str, int]) -> None:
        rows = of_metal({"hostReserve": reserve}).resources
        assert (rows["vcpu"].total, rows["memoryGiB"].total) == (0, 0)

    @pytest.mark.parametrize(
        "reserve", [None, [], {"vcpu": "8"}, {"vcpu": True}, {"vcpu": -8}, {"vcpu": None}], ids=str
    )
    def test_pass_by_a_reserve_that_is_none(self, reserve: Any) -> None:
        assert of_metal({"hostReserve": reserve}).resources["vcpu"].total == 192

    def test_never_shrink_below_what_is_allocated(self) -> None:
        pool = a_pool()
        host = fitted(pool, a_host())
        booked = replace(host, resources={**host.resources, "vcpu": replace(host.resources["vcpu"], allocated=100)})
        smaller = replace(booked, node=replace(booked.node, inventory=Inventory(vcpu=64)))
        after = fitted(pool, smaller)
        assert after.resources["vcpu"] == NodeResource(resource="vcpu", provided=64, ratio="1", allocated=100)
        assert after.resources["vcpu"].total == 100
        freed = replace(after, resources={**after.resources, "vcpu": replace(after.resources["vcpu"], allocated=0)})
        assert freed.resources["vcpu"].total == 64, "before anything keeps it again"
        assert fitted(pool, freed) is freed

    @given(
        st.integers(0, 2**31 - 1),
        st.floats(0.0001, 1000) | st.integers(1, 1000),
        st.integers(0, 2**31 - 1),
        st.integers(0, 10**6),
    )
    def test_hold_whatever_is_stated(self, vcpu: int, ratio: float, reserve: int, allocated: int) -> None:
        pool = a_pool(policy={"overcommit": ratio, "hostReserve": {"vcpu": reserve}})
        before = {"vcpu": NodeResource(resource="vcpu", provided=allocated, ratio="1", allocated=allocated)}
        row = fitted(pool, replace(a_host(Inventory(vcpu=vcpu)), resources=before)).resources["vcpu"]
        assert row.allocated == allocated <= row.total < 2**63
        assert 0.1 <= float(row.ratio) <= 100


@pytest.mark.parametrize(
    "node",
    [{"role": "infra"}, {"inventory": replace(MACHINE, gpus=("Quux",))}, {"control": "tenant"}],
    ids=["infra", "quarantined", "a tenant's"],
)
class TestAMachineThatCannotBeBooked:
    def test_has_no_rows(self, node: dict[str, Any]) -> None:
        assert fitted(a_pool(), a_host(**node)).resources == {}

    def test_keeps_what_is_booked_until_it_is_freed(self, node: dict[str, Any]) -> None:
        rows = {
            "vcpu": NodeResource(resource="vcpu", provided=192, ratio="1", allocated=8),
            "memoryGiB": NodeResource(resource="memoryGiB", provided=64, ratio="1"),
        }
        after = fitted(a_pool(), replace(a_host(**node), resources=rows))
        assert totals(after) == {"vcpu": 8}
        assert after.is_booked


def test_a_host_that_is_as_it_should_be_is_the_same() -> None:
    for class_ in ("metal-host", "vps-host"):
        pool = a_pool(class_=class_, policy={"overcommit": 1.5})
        host = fitted(pool, a_host(replace(MACHINE, gpus=("NVIDIA H100",) * 8)))
        assert vps_hosts(pool, host) is host
        assert capacity_hosts(pool, host) is host
        assert (host.free, host.is_booked) == (8, False)


def test_no_device_of_a_machine_that_cannot_be_booked_is_free() -> None:
    devices = fitted(a_pool(), a_host(replace(MACHINE, gpus=("NVIDIA H100",)))).devices
    assert Host(node=a_node(), devices=devices).free == 1
    assert Host(node=a_node(control="tenant"), devices=devices).free == 0
