"""The config units of a pool's hosts."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.nodespec import HOST_FIELDS, ConfigUnit, config_units
from better_compute.domain.policy.fields import FIELDS
from tests.builders import a_pool


def names(**fields: Any) -> list[str]:
    return [unit.name for unit in config_units(a_pool(**fields))]


def test_every_host_field_that_the_policy_has_is_a_unit_as_it_is_written() -> None:
    policy = {"hugepages": {"1Gi": 64}, "iommu": "pt", "cpu": {}, "maxPending": "6h", "note": 1}
    assert config_units(a_pool(policy=policy)) == [
        ConfigUnit("hugepages", {"1Gi": 64}),
        ConfigUnit("cpu", {}),
        ConfigUnit("iommu", "pt"),
    ]


def test_units_stand_in_the_same_order_however_the_policy_is_written() -> None:
    assert names(policy={name: {} for name in reversed(HOST_FIELDS)}) == list(HOST_FIELDS)
    assert names(policy={name: {} for name in sorted(HOST_FIELDS)}) == list(HOST_FIELDS)


def test_the_host_fields_are_those_of_the_provision_module() -> None:
    assert {path for path, field in FIELDS.items() if field.module == "provision" and "." not in path} - {
        "kernelModules[]"
    } == set(HOST_FIELDS)


@pytest.mark.parametrize("sharing", ["timeslice", "mps"])
def test_a_sharing_mode_that_hosts_set_up_is_the_last_unit(sharing: str) -> None:
    policy = {"gpu": {"slots": 4}}
    assert config_units(a_pool(sharing=sharing, policy=policy)) == [
        ConfigUnit("gpu", {"slots": 4}),
        ConfigUnit("sharing", {"mode": sharing, "slots": 4}),
    ]


@pytest.mark.parametrize("sharing", ["exclusive", "mig"])
def test_other_modes_are_no_unit(sharing: str) -> None:
    assert names(sharing=sharing, policy={"gpu": {}}) == ["gpu"]


@pytest.mark.parametrize("policy", [{}, {"gpu": None}, {"gpu": []}, {"gpu": {"slots": True}}, {"gpu": {"slots": "4"}}])
def test_slots_that_an_old_policy_does_not_say_are_left_out(policy: dict[str, Any]) -> None:
    assert config_units(a_pool(sharing="mps", policy=policy))[-1] == ConfigUnit("sharing", {"mode": "mps"})
