"""What a page costs, against the standard library's JSON encoder on the same page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from better_compute.wire.message import Request
from tests.better_compute.plane import Plane, headers_of

POLICY = {"acceptance": [{"kind": "diag.nvml"}], "maxPending": "6h", "overcommit": {"vcpu": 2, "memoryGiB": 1.2}}


def fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of ten runs."""
    times = []
    for _ in range(10):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.long
def test_a_page_of_1000_pools_costs_at_most_three_times_its_json(plane: Plane) -> None:
    """Each pool with 3 offers of 3 rows; the database included."""
    for n in range(1000):
        pool_id = plane.pool(policy=POLICY, idempotencyKey=f"k{n}")
        for tenant in ("acme", "globex", "umbrella"):
            plane.offer(pool_id, tenant, quota={"gpu": 8, "vcpu": 64, "memoryGiB": 512})
    body = json.dumps({"tenantId": "root", "limit": 1000, "include": ["offers", "rollup"]}).encode()
    request = Request("POST", "/api/compute/pools/list", headers_of("sa_fleet"), body)
    page = plane.send(request).data
    assert [len(pool["offers"]) for pool in page["items"]] == [3] * 1000
    assert fastest(lambda: plane.handle(request)) <= 3 * fastest(lambda: json.dumps(page))
