"""Which devices of a host a reservation takes, and what devices can be selected by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from better_compute.domain.devices import Device
from better_compute.domain.hosts import Host
from better_compute.domain.inventory import Inventory
from better_compute.domain.placement import OF_DEVICE, Kind, Place, check_selectors, choose
from better_compute.domain.problems import Problem
from better_compute.domain.reservations import canonical
from tests.builders import a_node, a_reservation

HBM3, NVL = "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL"


def device(position: int, **fields: Any) -> Device:
    return Device(**{"position": position, "product": HBM3, "vram_gib": 80, **fields})


def host(node_id: str, *devices: Device, **attributes: str | int) -> Host:
    return Host(node=a_node(node_id, inventory=Inventory(attributes=attributes)), devices=devices)


def wish(gpus: int = 1, selectors: Mapping[str, Any] | None = None) -> Any:
    return a_reservation(resources={"gpu": gpus}, selectors=canonical(selectors or {}))


def test_a_host_gives_its_lowest_free_devices() -> None:
    roomy = host("node_2", device(5), device(3), device(2, reservation_id="rsv_0"), device(4))
    assert choose(roomy, wish(1)) == Place("node_2", [3])
    assert choose(roomy, wish(2)) == Place("node_2", [3, 4])


def test_a_device_that_is_leaving_is_not_taken() -> None:
    assert choose(host("node_1", device(0, leaving=True), device(1)), wish(1)) == Place("node_1", [1])


@pytest.mark.parametrize(
    ("selectors", "positions"),
    [
        ({}, [0, 1, 2]),
        ({"gpuProduct": NVL}, [1]),
        ({"vramGiB": 94}, [1]),
        ({"vramGiB": [80, 94]}, [0, 1]),
        ({"migProfile": "3g.40gb"}, [2]),
        ({"rack": "r1"}, [0, 1, 2]),
        ({"rack": "r1", "gpuProduct": NVL}, [1]),
        ({"row": 4}, [0, 1, 2]),
        ({"row": "4"}, []),
        ({"vramGiB": "94"}, []),
        ({"rack": "r2"}, []),
        ({"rack": "r1", "cooling": "air"}, []),
        ({"migProfile": "3g.40gb", "gpuProduct": NVL}, []),
    ],
    ids=str,
)
def test_a_device_has_all_that_is_selected_by(selectors: dict[str, Any], positions: list[int]) -> None:
    one = host(
        "node_1",
        device(0),
        device(1, product=NVL, vram_gib=94),
        device(2, profile="3g.40gb", vram_gib=40),
        rack="r1",
        row=4,
        gpuProduct="what the machine says",
    )
    assert choose(one, wish(3, selectors)) == Place("node_1", positions)


def check(selectors: Mapping[str, Any], *hosts: Host) -> list[Problem]:
    """What is said where no device of the hosts has all of it."""
    wanted = canonical(selectors)
    kinds = {Kind(d.product, d.profile, d.vram_gib) for h in hosts for d in h.devices}
    said = [h.node.inventory.attributes for h in hosts if h.devices]
    unsaid = [n for n, values in wanted.items() if n not in OF_DEVICE and not any(s.get(n) in values for s in said)]
    return check_selectors(kinds, wanted, unsaid)


def test_a_device_of_unknown_memory_has_none_that_could_be_selected() -> None:
    [problem] = check({"vramGiB": 80}, host("node_1", device(0, vram_gib=None)))
    assert problem.hint == ""


def test_where_there_is_nothing_yet_anything_may_come() -> None:
    assert check({"gpuProduct": HBM3, "rack": "r1"}) == []


def test_the_attributes_that_no_device_has_are_named_with_the_nearest_product_and_memory_alone() -> None:
    hosts = host("node_1", device(0), rack="r1"), host("node_2", device(0, product=NVL, vram_gib=94), rack="r2")
    problems = check({"gpuProduct": "NVIDIA H100NVL", "vramGiB": 90, "rack": "r3"}, *hosts)
    assert [(p.path, p.hint) for p in problems] == [
        ("selectors.gpuProduct", f'did you mean "{NVL}"?'),
        ("selectors.rack", ""),
        ("selectors.vramGiB", "the nearest is 94"),
    ]
    assert {p.code for p in problems} == {"INVALID_INPUT"}


def test_what_each_has_some_of_and_none_all_is_told_as_a_whole() -> None:
    hosts = host("node_1", device(0), rack="r1"), host("node_2", device(0, vram_gib=94), rack="r2")
    [problem] = check({"vramGiB": 94, "rack": "r1"}, *hosts)
    assert (problem.path, problem.message) == ("selectors", "no device of this pool has all of these at once")
