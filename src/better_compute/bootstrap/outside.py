"""Who is asked outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from better_compute.service.billing import NoBilling
from better_compute.service.ports import Attestor, Billing


@dataclass(frozen=True, slots=True)
class Outside:
    """`attestors` speak for machines beside join tokens, by name; `billing` for what tenants may spend."""

    attestors: Mapping[str, Attestor] = field(default_factory=dict)
    billing: Billing = field(default_factory=NoBilling)


NOBODY = Outside()
