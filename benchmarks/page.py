"""A list page of 1,000 pools with offers and quotas, against the standard library's JSON encoding of that page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.measure import cpu_of_call
from better_compute.bootstrap.plane import open_plane
from better_compute.bootstrap.runtime import SYSTEM
from better_compute.wire.message import Request

BODY = {"tenantId": "root", "owned": True, "limit": 1000, "include": ["offers", "rollup"]}


def ratio(database: Path, runs: int = 15) -> float:
    """How often the encoding of the page goes into the whole of its handling: SQL, domain, views and bytes."""
    plane = open_plane(str(database), SYSTEM, None, create=False)
    handle = plane.by_name()
    request = Request(
        method="POST",
        path="/api/compute/pools/list",
        headers={
            "authorization": "Bearer sa_fleet",
            "content-type": "application/json",
            "x-better-compute": "1",
        },
        body=json.dumps(BODY).encode(),
    )
    answer = handle(request)
    page = json.loads(answer.body)
    assert answer.status == 200, answer.body[:500]
    assert len(page["data"]["items"]) == 1000
    ours = cpu_of_call(lambda: handle(request), runs=runs)
    floor = cpu_of_call(lambda: json.dumps(page), runs=runs)
    plane.close()
    return ours / floor


if __name__ == "__main__":
    sys.stdout.write(f"{ratio(Path(sys.argv[1])):.3f}\n")
