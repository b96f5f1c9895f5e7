"""Fleets of any size: one pool and three offers make four objects."""

from __future__ import annotations

from pathlib import Path

MODELS = ("H100", "H200", "B200", "L40S", "A100")
SITES, TENANTS = 97, 501

ROOT = """\
apiVersion: fleet/v1
fleet: bench
tenantId: root
caller: sa_fleet
keyPrefix: bench-
server:
  embedded: .fleet/control-plane.db
  world: world.yaml
"""

POOL = """\
  - idempotencyKey: bench-fra{place}-{low}-{n:06d}
    siteId: site_{site:04d}
    class: metal-host
    gpuModel: {model}
    sharing: exclusive
    policy:
      acceptance:
        - kind: diag.nvml
        - kind: burn.gemm
      maxPending: 6h
      hugepages:
        1Gi: {pages}
      hostReserve:
        vcpu: 4
        memoryGiB: 16
    offers:
"""

OFFER = """\
      - toTenantId: tenant-{tenant:04d}
        priority: {priority}
        quota:
          gpu: {gpu}
          vcpu: {vcpu}
          memoryGiB: {memory}
"""


def make(objects: int, directory: Path, files: int = 10) -> Path:
    """Write a fleet of so many objects, unless it is there, and return its directory."""
    if (directory / "fleet.yaml").exists():
        return directory
    directory.mkdir(parents=True)
    (directory / "fleet.yaml").write_text(ROOT)
    (directory / "world.yaml").write_text(_world())
    pools = objects // 4
    size = -(-pools // files)
    for number in range(0, pools, size):
        entries = "".join(_pool(n) for n in range(number, min(number + size, pools)))
        (directory / f"pools-{number // size:04d}.yaml").write_text(f"pools:\n{entries}")
    return directory


def _world() -> str:
    tenants = "".join(f"  - {{id: tenant-{n:04d}}}\n" for n in range(TENANTS))
    sites = "".join(f"  - {{id: site_{n:04d}, tenantId: root, kind: shared, region: r{n % 7}}}\n" for n in range(SITES))
    return f"tenants:\n{tenants}sites:\n{sites}identities:\n  - {{id: sa_fleet, tenantId: root, kind: service}}\n"


def _pool(n: int) -> str:
    model = MODELS[n % len(MODELS)]
    pool = POOL.format(place=n % 7, low=model.lower(), n=n, site=n % SITES, model=model, pages=n % 64)
    return pool + "".join(
        OFFER.format(
            tenant=(n * 3 + k) % TENANTS, priority=k * 10, gpu=8 * (k + 1), vcpu=128 * (k + 1), memory=1024 * (k + 1)
        )
        for k in range(3)
    )
