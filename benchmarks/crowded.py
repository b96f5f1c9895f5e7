"""A control plane with as many pools as a large platform has, each with a host and with quota rows of several tenants.

One pool is made by the API; the others are copies of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Table, insert, select, text

from better_compute.bootstrap.plane import ControlPlane
from better_compute.client import Client
from better_compute.storage import tables as t

TENANTS = ("acme", "globex", "initech")
QUOTA = {"gpu": 8, "vcpu": 64, "memoryGiB": 512}
WORLD = """\
tenants: [{id: acme}, {id: globex}, {id: initech}]
sites: [{id: site_fra1, tenantId: root, kind: shared, region: eu}]
identities:
  - {id: sa_fleet, tenantId: root}
  - {id: sa_acme, tenantId: acme}
machines:
  - {pool: crowded, count: 400, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192, memoryGiB: 2048}
  - {pool: one, count: 1, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192, memoryGiB: 2048}
"""
AT_ONCE = 500


def fill(plane: ControlPlane, root: Client, pools: int) -> list[str]:
    """So many pools with ten quota rows each; their ids. What copies have no events tell of is nobody's to ask."""
    made = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"}
    one = root.call("pools/create", {**made, "idempotencyKey": "one"})["id"]
    for tenant in TENANTS:
        root.call("pools/offer", {"poolId": one, "toTenantId": tenant, "quota": QUOTA})
    ids = [one, *(f"pool_{number:026d}" for number in range(1, pools))]
    plane.store._database.write(lambda connection: _copy(connection, ids))  # type: ignore[attr-defined]
    plane.store._database.write(_analyze)  # type: ignore[attr-defined]
    return ids


def _copy(connection: Connection, ids: list[str]) -> None:
    one, *others = ids
    tables = (t.pools, t.pool_offers, t.pool_quotas, t.authz, t.nodes)
    for table in tables:
        key = table.c.id if table is t.pools else table.c.pool_id
        rows = [dict(row) for row in connection.execute(select(table).where(key == one)).mappings()]
        _insert(connection, table, (_named(table, row, pool_id) for pool_id in others for row in rows))
    for table in (t.node_devices, t.node_resources):
        rows = [dict(row) for row in connection.execute(select(table)).mappings()]
        _insert(connection, table, ({**row, "node_id": f"node_{i}"} for i in others for row in rows))


def _named(table: Table, row: dict[str, Any], pool_id: str) -> dict[str, Any]:
    if table is t.pools:
        return {**row, "id": pool_id, "idempotency_key": pool_id}
    return {**row, "pool_id": pool_id} | ({"id": f"node_{pool_id}"} if table is t.nodes else {})


def _insert(connection: Connection, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    keys = {column.name: column.key for column in table.c}
    some: list[dict[str, Any]] = []
    for row in rows:
        some.append({keys.get(name, name): value for name, value in row.items()})
        if len(some) == AT_ONCE:
            connection.execute(insert(table), some)
            some = []
    if some:
        connection.execute(insert(table), some)


def _analyze(connection: Connection) -> None:
    """What a database that grew by itself knows of its tables."""
    connection.execute(text("ANALYZE"))
