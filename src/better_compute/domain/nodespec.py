"""What every host of a pool is configured with: the config units of its NodeSpec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from better_compute.domain.atoms import ISOLATING
from better_compute.domain.nodes import slots_of
from better_compute.domain.state import Pool

HOST_FIELDS = ("hugepages", "kernelModules", "cpu", "iommu", "gpu", "kubernetes")
"""The fields of a policy that configure hosts, in the order of their units."""


@dataclass(frozen=True, slots=True)
class ConfigUnit:
    """One thing to configure: a field of the policy as it is written there, or `sharing`."""

    name: str
    value: Any


def config_units(pool: Pool) -> list[ConfigUnit]:
    """The units of each host, in a fixed order: one for each host field that the policy has, whatever it holds, and for
    a sharing mode that the hosts must set up (timeslice and mps) `{mode, slots}`. A policy of an older release may say
    nothing of slots, or nonsense: then the unit has none."""
    units = [ConfigUnit(name, pool.policy[name]) for name in HOST_FIELDS if name in pool.policy]
    if pool.sharing not in ISOLATING:
        slots = slots_of(pool.policy)
        known = {} if slots is None else {"slots": slots}
        units.append(ConfigUnit("sharing", {"mode": pool.sharing, **known}))
    return units
