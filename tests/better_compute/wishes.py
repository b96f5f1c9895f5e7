"""What sequences are made of: pools, quotas, machines and bookings to ask for, fine ones and some that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.better_compute.bills import METERED
from tests.better_compute.plane import CARD

Body = dict[str, Any]
Bodies = dict[str, Callable[[str], Body]]
"""Operation -> its input about something with an id."""

MODELS = {"H100": CARD, "L40S": "NVIDIA L40S", "H200": "NVIDIA H200"}
"""Model -> the NVML name of a card."""

_METAL = {"class": "metal-host", "gpuModel": "H100"}
_ROWS = {"gpu": 16, "gpu.mig": 16, "gpu.slot": 16, "vcpu": 64, "memoryGiB": 256, "hugepages2Mi": 512}
_CUT = {"gpu": {"mig": {"devices": {"3g.40gb": 2}}}}

POOLS: list[Body] = [
    _METAL,
    {**_METAL, "policy": METERED},
    {**_METAL, "policy": {"maxPending": "1h", "overcommit": 2}, "ownerQuota": _ROWS},
    {**_METAL, "sharing": "mig", "policy": _CUT | METERED, "ownerQuota": _ROWS},
    {"class": "vps-host", "gpuModel": "L40S", "policy": {"overcommit": {"vcpu": 2.5, "diskGiB": 0.5}}},
    {**_METAL, "policy": {"singleTenant": True, "hostReserve": {"vcpu": 4, "memoryGiB": 7.5}}},
    {**_METAL, "sharing": "timeslice", "policy": {"gpu": {"slots": 4}}, "ownerQuota": _ROWS},
    {**_METAL, "sharing": "mps", "policy": {"gpu": {"slots": 3}, **METERED}, "ownerQuota": _ROWS},
]
"""Those that machines join as hosts."""

SHAPES: list[Body] = [
    *POOLS,
    {"class": "infra", "gpuModel": "H100"},
    {"class": "provider", "gpuModel": "H100", "providerAccountId": "pa_north", "agent": "none"},
    {**_METAL, "class": "metal"},
    {**_METAL, "policy": {"gpu": {"slots": 4}}},
]

POLICIES: list[Body] = [
    {"singleTenant": True},
    {"singleTenant": True, "maxPending": "2h"},
    {},
    METERED,
    {"maxPending": "1m"},
    {"overcommit": 0.5},
    {"overcommit": {"vcpu": 3.25, "memoryGiB": 200}},
    {"hostReserve": {"vcpu": 2}},
    {"gpu": {"slots": 2}},
    {"gpu": {"mig": {"devices": {"1g.10gb": 4}}}},
    {"joinAttestors": ["somebody"]},
    {"maxPending": 60},
]

QUOTAS: list[Body] = [
    {"atoms": 8, "vcpu": 64, "memoryGiB": 256, "hugepages2Mi": 512},
    {"atoms": 2},
    {"atoms": 5, "vcpu": 8},
    {"atoms": 0},
    {},
    {"gpu": 3, "gpu.mig": 3},
    {"atoms": -1},
    {"gpus": 3},
]
"""`atoms` stands for the pool's own."""

TERMS: list[Body] = [{}, {}, {}, {"priority": 5}, {"priority": 2000}, {"includeDescendants": True}]

_HOST = {"vcpu": 64, "memoryGiB": 512, "diskGiB": 1000}
INVENTORIES: list[Body] = [
    {"gpus": 4, **_HOST, "attributes": {"rack": "r1"}},
    {"gpus": 2, "vcpu": 7, "memoryGiB": 33, "diskGiB": 3, "hugepages2Mi": 700, "hugepages1Gi": 3},
    {"gpus": 1, **_HOST, "attributes": {"rack": "r2", "vramGiB": 96}},
    {"gpus": [f"{CARD} MIG 3g.40gb", f"{CARD} MIG 1c.3g.40gb", CARD], **_HOST},
    {"gpus": ["NVIDIA Quantum 9", CARD], **_HOST},
    {"gpus": [MODELS["H200"]], **_HOST},
    {**_HOST},
    {"gpus": 1, "attributes": {"vramGiB": "much"}},
]
"""A number of GPUs stands for so many of the pool's model."""

MACHINES: list[Body] = [
    *[{}] * 5,
    {"ownerTenantId": "acme"},
    {"ownerTenantId": "globex"},
    {"ownerTenantId": "nobody"},
    {"control": "tenant"},
]
CONTROLS: list[Body] = [
    {"control": "tenant"},
    {"control": "platform"},
    {"ownerTenantId": None},
    {"ownerTenantId": "acme"},
    {"ownerTenantId": "nobody"},
    {},
]

AMOUNTS = [1, 1, 2, 3, 4, 6]
SCALARS: list[Body] = [
    {},
    {},
    {},
    {},
    {},
    {"vcpu": 8},
    {"memoryGiB": 30, "vcpu": 1},
    {"hugepages2Mi": 256},
    {"vcpus": 1},
]
SELECTORS: list[Body | None] = [
    *[None] * 10,
    {"rack": "r1"},
    {"rack": ["r1", "r2"], "vramGiB": [80, 96]},
    {"gpuProduct": CARD},
    {"migProfile": "3g.40gb"},
    {"rack": "r9"},
]

OF_A_POOL: Bodies = {
    "pools/get": lambda pool: {"poolId": pool, "include": ["offers", "rollup"]},
    "quotas/list": lambda pool: {"poolId": pool},
    "reservations/create": lambda pool: {"poolId": pool, "resources": {"gpu": 1}},
    "reservations/list": lambda pool: {"poolId": pool},
}
"""What a tenant asks of a pool that it sees."""

OF_ITS_OWNER: Bodies = {
    "pools/update": lambda pool: {"poolId": pool, "policy": {"maxPending": "2h"}},
    "pools/archive": lambda pool: {"poolId": pool, "expectedVersion": 1},
    "pools/offer": lambda pool: {"poolId": pool, "toTenantId": "umbrella", "quota": {"gpu": 1}},
    "pools/unoffer": lambda pool: {"poolId": pool, "toTenantId": "umbrella"},
    "pools/listOffers": lambda pool: {"poolId": pool},
    "quotas/set": lambda pool: {"poolId": pool, "toTenantId": "umbrella", "quota": {"gpu": 1}},
    "nodes/createJoinToken": lambda pool: {"poolId": pool},
    "nodes/join": lambda pool: {"poolId": pool, "joinToken": "t", "inventory": {}},
    "nodes/list": lambda pool: {"poolId": pool},
}
"""What the owner of a pool asks of it."""

OF_A_MACHINE: Bodies = {
    "nodes/get": lambda node: {"nodeId": node},
    "nodes/report": lambda node: {"nodeId": node, "inventory": {}},
    "nodes/setControl": lambda node: {"nodeId": node, "control": "tenant"},
    "nodes/remove": lambda node: {"nodeId": node},
}
OF_A_RESERVATION: Bodies = {
    "reservations/get": lambda reservation: {"reservationId": reservation},
    "reservations/end": lambda reservation: {"reservationId": reservation},
}
